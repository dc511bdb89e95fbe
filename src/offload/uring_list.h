// One task list of one run, as entries for the operating system's ring.
//
// The entries are made once and hold no addresses; every start binds them to the buffers of its
// call. A message is a header and bytes: its first entry moves the header and up to a segment of
// the bytes, further entries a segment each. Small packets wake a longer entry so often that the
// kernel moves it to a worker thread. A message that waits for its CTS has its header in an entry
// of its own, before that wait: so its receiver finds out that it expects another size.
//
// Entries name descriptors by their numbers. A list owns its own and shares the others, so that
// they stay open if the kernel does not give its entries back.
//
// Thread safety: none; the progress engine's lock covers it.
#pragma once

#include <liburing.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/fifo.h"
#include "offload/offload.h"
#include "offload/task_lists.h"
#include "transport/dedicated.h"

namespace weft::kernel {

inline constexpr std::int64_t segment_bytes = 128 * 1024;

struct Entry {
    enum class Kind : std::uint8_t {
        first,   // header and first segment of message `number`
        more,    // a segment of it
        take,    // a token of semaphore `number`
        give,    // one to semaphore `number`
        go,      // waits for a token from the rest of the schedule
        report,  // a completion for the rest
    };
    Kind kind = Kind::first;
    Buffer buffer = Buffer::send;
    std::uint32_t number = 0;
    std::uint32_t bytes = 0;
    std::int64_t offset = 0;
};

// What io_uring reads while a message is moved: it must stay in place.
struct MessageVector {
    MessageHeader::Encoded header;
    iovec pieces[2];
    msghdr vector;
    std::uint64_t bytes = 0;
};

class RunLists;
class TaskRing;
struct List;

// Keeps the chains of one direction of a dedicated connection in order: each gives a token of its
// own when it ends, which the next one takes before it begins. (Of several chains that wait for one
// semaphore the kernel wakes any.)
struct ChainOrder {
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};

    Fifo<List*> lists;       // with entries to be submitted, in the order of their places
    std::vector<Fd> tokens;  // two at least
    std::vector<std::uint32_t> unused;  // of them
    std::uint32_t last = nothing;       // the token that the last submitted chain gives
};

struct List {
    // Chains in flight; with two, the next one begins by itself when one ends.
    static constexpr std::uint32_t batches_max = 2;

    enum class State : std::uint8_t {
        idle,
        waiting,  // for its place on the connection
        granted,  // it has its place: to be submitted
        going,    // entries are submitted
        ended,    // well
        failed,
        given_up,  // called off, but not all of its chains have reported
    };

    List(const TaskList& list, RunLists& run_lists, std::uint32_t number);

    const TaskList& tasks;
    RunLists& home;
    const std::uint32_t id;  // in the ring's table
    std::vector<Entry> entries;
    std::vector<MessageVector> messages;
    Fd go;  // tokens from the rest; none: the list does not wait for it

    State state = State::idle;
    bool is_called_off = false;  // completions of its entries are ignored from now on
    bool is_cut = false;  // the kernel took a part of a chain, which may end without a report
    Completion failure;   // why it has failed, unless the transport says it
    ListPlace hold;
    std::shared_ptr<ChainOrder> direction;
    std::shared_ptr<const std::vector<Fd>> semaphores;  // of the run
    Rank peer = -1;                                     // rank of the job
    std::uint32_t submitted = 0;                        // of the entries
    std::uint32_t batches = 0;                          // chains in flight
    std::uint32_t batches_ended = 0;
    std::uint32_t taken[batches_max] = {};  // tokens of the direction, by chain
    std::uint32_t checked = 0;              // messages whose header was checked
    MessageHeader::Encoded doubted{};   // what the next one's was when it spoke against the peer,
    std::int64_t doubted_since_ns = 0;  // and since when; 0: it did not
    std::uint32_t reached = 0;          // reports
    std::vector<Token> awaited;         // by report; run == null: nobody awaits it

    StreamId stream() const;  // of its connection
    bool is_busy() const {
        return state == State::waiting || state == State::granted || state == State::going;
    }
    bool is_receiving() const { return state == State::going && !tasks.sends; }
    // Binds addresses and headers; the place is granted.
    void bind(const Offload::Call& call);
    void add_message(const Task& message);
    // What the header of message `number` says about it.
    enum class HeaderState : std::uint8_t { not_come, right, other_size, foreign };
    HeaderState verdict_on(std::uint32_t number, std::uint64_t stream) const;
    // The header of message `checked` speaks against the peer, but the kernel may still be storing
    // it: not all of its bytes need be seen at once. False: the same bytes have been there for a
    // while.
    bool is_doubtful(std::int64_t now_ns);
    std::uint64_t sent_bytes(std::uint32_t number) const;

    // The start of a buffer, for entries that move bytes.
    std::byte* base(Buffer buffer) const;
    const std::byte* send_base = nullptr;
    std::byte* recv_base = nullptr;
    std::byte* scratch_base = nullptr;
};

// The task lists of one run.
class RunLists final : public Offload::Lists {
  public:
    RunLists(TaskRing& task_ring, const Tasks& compiled) : Lists(compiled), ring(task_ring) {}
    ~RunLists() override;
    RunLists(const RunLists&) = delete;
    RunLists& operator=(const RunLists&) = delete;

    std::int64_t memory_bytes() const override;
    void add_late(bool sends, std::vector<Rank>& ranks) const override;

    std::uint64_t context() const { return call.stream.context(); }
    int semaphore(std::uint32_t number) const { return (*semaphores)[number].get(); }

    TaskRing& ring;
    std::shared_ptr<std::vector<Fd>> semaphores = std::make_shared<std::vector<Fd>>();
    std::vector<std::unique_ptr<List>> lists;

    Offload::Call call;  // of the last start
};

}  // namespace weft::kernel
