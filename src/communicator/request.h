// What a request handle names: a run, and the schedule to which it returns after use.
//
// Requests are made for a schedule and reused; `CachedSchedule` keeps them with their schedule. A
// request is active from its start until its outcome has been reported. A nonblocking request is
// then given back; a persistent one stays, inactive, until it is freed. Thread safety: none; the
// progress engine's lock covers everything here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/handles.h"
#include "communicator/call/agreement.h"
#include "communicator/call/collectives.h"
#include "run/run.h"
#include "run/tagged_message.h"

namespace weft {

struct CachedSchedule;
class Communicator;

// "send to rank 1 with tag 5", "receive from any rank with tag 5"
std::string name_of_message(bool sends, Rank peer, int tag);

// "rank 1", "ranks 1, 2, 3, 4, ..."
std::string listed(const std::vector<Rank>& ranks);
// The same of numbers of processes, in ascending order, of which those behind the job's ranks are
// known to this process alone: "ranks 1, 2 of the job and 3 processes of other jobs".
std::string listed_processes(std::vector<Rank> numbers, Rank job_ranks);

struct Request : Run {
    explicit Request(CachedSchedule& prepared);

    // Every run of a process is part of a request.
    static const Request& of(const Run& run) { return static_cast<const Request&>(run); }

    // What every start of a persistent request uses: its own stream, and the buffers. A message has
    // neither (see TaggedMessage).
    struct Persistent {
        std::optional<Stream> stream;
        Binding binding;
    };

    bool is_persistent() const { return persistent != nullptr; }
    // "allreduce", "persistent allreduce", "send to rank 1 with tag 5"; "schedule" if the program
    // built it.
    std::string name() const;
    // "waits for messages from ranks 1, 2 and has messages for rank 3 to take"; "" if it only waits
    // for earlier operations.
    std::string awaited() const;

    CachedSchedule& home;
    Communicator* communicator = nullptr;
    std::unique_ptr<Persistent> persistent;  // null: nonblocking
    std::unique_ptr<Agreement> agreement;    // made for the first start that is checked
    bool active = false;
    std::uint32_t place = 0;  // in the process's table of requests
    Request* next_free = nullptr;
};

// A schedule and its requests, idle and started.
struct CachedSchedule {
    CachedSchedule(const Signature& made_for, BufferUses needed, Schedule made,
                   HandleTable<Request>& handle_table)
        : signature(made_for),
          arrays(copy_arrays(signature)),
          buffers(std::move(needed)),
          schedule(std::move(made)),
          table(handle_table) {}
    // A schedule that the program built.
    CachedSchedule(Schedule made, std::vector<UserCall> made_calls,
                   HandleTable<Request>& handle_table)
        : is_own(true),
          schedule(std::move(made)),
          calls(std::move(made_calls)),
          table(handle_table) {}
    ~CachedSchedule();
    CachedSchedule(const CachedSchedule&) = delete;
    CachedSchedule& operator=(const CachedSchedule&) = delete;

    // An idle request; makes one if all are in use.
    Request& take();
    // Memory of the schedule, of what it was made for, and of all its requests.
    std::int64_t memory_bytes() const;
    // Makes a request idle; its handles become invalid.
    void give_back(Request& request);

    bool is_own = false;
    bool is_of_messages = false;       // a join, which stands for any send or receive
    Signature signature;               // unless is_own
    std::vector<std::int64_t> arrays;  // of the signature
    BufferUses buffers;                // unless is_own
    // Of the last call; only compared.
    const std::byte* last_send = nullptr;
    const std::byte* last_recv = nullptr;
    Schedule schedule;
    std::vector<UserCall> calls;
    OffloadPlan plan{schedule};
    HandleTable<Request>& table;
    std::vector<std::unique_ptr<Request>> requests;
    std::int64_t saved_bytes = 0;  // of each run, by its wire format
    Request* free = nullptr;
    std::uint32_t taken = 0;  // requests, and the program's handle of its own schedule
    std::uint64_t last_used = 0;
    // No longer in the cache, or never was; lives until `taken` is 0.
    bool dropped = false;
};

}  // namespace weft
