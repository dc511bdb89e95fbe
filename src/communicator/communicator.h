// A communicator: a group of ranks, the order of their operations, and the schedules of its calls.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "communicator/call/collectives.h"
#include "communicator/call/message_call.h"
#include "communicator/request.h"
#include "communicator/schedule_cache.h"
#include "communicator/settings.h"
#include "engine/engine.h"

namespace weft {

class Communicator;

// Shared by all communicators of a process.
struct Host {
    Executor& executor;
    Engine& engine;
    HandleTable<Request>& requests;
    const Topology& topology;      // of the job
    const Torus* torus;            // of the job; null: none was declared
    bool checks_calls = false;     // collectives first compare the calls of all ranks
    std::int64_t saved_bytes = 0;  // that messages do not take, because of wire formats
    DeviceMemoryFinder devices;    // tells buffers to refuse
    // Ends a communicator that nobody keeps anymore.
    std::function<void(Communicator&)> end;
};

// "allreduce of 12 bytes on world", "schedule of 4 operations on world"
std::string description_of(const Request& request);
constexpr std::uint32_t listed_max = 4;  // as many operations are named in a sentence

struct StartOptions {
    bool waits = false;       // finish() follows at once
    bool of_library = false;  // see Signature
};

class Communicator {
  public:
    // group.members[rank] is this process.
    Communicator(Host& host, Group group, Rank rank, std::string name,
                 CommunicatorSettings settings);
    ~Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    Rank rank() const { return place_.rank; }
    Rank ranks() const { return place_.ranks; }
    const std::string& name() const { return name_; }
    const Topology& topology() const { return topology_; }
    // Null: it has no Cartesian or graph topology.
    const Neighborhood* neighbors() const { return place_.neighbors; }
    // REQUIRES: no call was made yet.
    void set_neighbors(std::unique_ptr<const Neighborhood> neighbors) {
        neighbors_ = std::move(neighbors);
        place_.neighbors = neighbors_.get();
    }
    Group& group() { return group_; }
    const CommunicatorSettings& settings() const { return settings_; }
    // Null: nothing tells it now.
    DeviceMemory device_memory() { return host_.devices.find(); }
    // What a result may be off by, at most, of those since the last call.
    float take_wire_error() { return std::exchange(wire_error_, 0.0f); }

    // Whether this thread may start operations; if not, why.
    Status check_starter() const { return host_.engine.check_starter(); }

    // Starts a collective. settle() gives the request back.
    Result<Request*> start(const weft_call& call, StartOptions options = {});

    // The same for a send or receive (communicator/message_requests.cpp).
    Result<Request*> start(const MessageCall& call);
    Result<Request*> make_persistent(const MessageCall& call);

    // Makes an inactive persistent request of a collective. It takes the communicator's next
    // stream: every rank makes its persistent requests in the same order, and may start them in any
    // order.
    Result<Request*> make_persistent(const weft_call& call);
    // The same for a prepared schedule.
    Result<Request*> make_persistent(CachedSchedule& prepared, const Binding& binding);
    // Refuses a persistent request that cannot be started now.
    Status check_start(const Request& request) const;
    // REQUIRES: check_start() is ok.
    void start(Request& request);
    // REQUIRES: an inactive persistent request. Afterwards its handles are invalid.
    void free(Request& request);

    // The code of the outcome of an active request whose run is done.
    static weft_status outcome(const Request& request);

    // Returns the outcome of an active request whose run is done. A persistent request is then
    // inactive; the handles of others are invalid.
    Status settle(Request& request);

    // Waits for a started request for which the program has no handle, and settles it. If
    // WEFT_TIMEOUT passes first, the communicator breaks: nobody can wait for the request again,
    // and its buffers belong to the caller again.
    Status finish(Request& request);

    // This rank cannot go on with something that the others wait for: breaks the communicator.
    // Returns the status, with a sentence about `what`.
    Status run_out_of_memory(const std::string& what);

    // Takes the place of a call that this rank cannot make: it breaks the communicator if any other
    // rank makes it.
    void refuse_call(const char* why);
    // Breaks the communicator on all ranks.
    void break_off(const char* why);
    // The same for a program that calls off what is pending: WEFT_BROKEN_ABORT.
    void abort(const char* reason);

    // Unsettled requests, unfreed persistent requests and other users keep a freed communicator
    // alive: the last to let go of it ends it.
    void keep() { ++keepers_; }
    void let_go();

    // Whether later operations are offered to a kernel engine.
    void set_offload(bool offload) { settings_.offloads = offload; }

    // Schedules of calls, and those that the program built.
    ScheduleCache& schedules() { return schedules_; }

    // The status and sentence of a call that `failure` ended.
    Status broken_status(const std::string& what, const Failure& failure) const;
    // The same; does not throw.
    Status broken_status(const Request& request, const Failure& failure) const;

  private:
    friend class Process;
    std::string vain_call(Rank lost) const;

    Failure own_failure(weft_status code, const char* sentence) const;
    Failure refusal(const char* why) const;
    Status count_call(const Signature& signature);
    bool is_checked() const;
    void bind_agreement(const weft_call& call, Request& request, Binding& binding);
    Result<CachedSchedule*> make_ready(const weft_call& call, Signature& signature,
                                       Binding& binding);
    Status check_memory_of_devices(const Binding& binding, const BufferUses& buffers);
    Result<CachedSchedule*> prepare(const Signature& signature, const Binding& binding);
    Request& take(CachedSchedule& prepared);
    void launch(Request& request, Stream& stream, const Binding& binding, bool waits);
    Result<Request*> take(const MessageCall& call);
    void launch_message(Request& request);
    Rank late_rank(const Request& request) const;

    Host& host_;
    Group group_;
    Topology topology_;
    std::unique_ptr<const Neighborhood> neighbors_;
    CallContext place_;
    std::string name_;
    CommunicatorSettings settings_;
    Stream calls_;                       // stream 0: the nonblocking calls in order
    std::uint32_t persistent_made_ = 0;  // each has one of the streams after stream 0
    ScheduleCache schedules_;
    CachedSchedule* of_messages_ = nullptr;  // once there was one
    ByteCounts byte_counts_;                 // of the call that starts
    float wire_error_ = 0;                   // the largest bound since take_wire_error()
    std::uint32_t place_in_table_ = 0;
    std::uint32_t keepers_ = 0;
    bool freed_ = false;
};

// Keeps a communicator while the engine is released: another thread may free it.
class Keeping {
  public:
    explicit Keeping(Communicator& communicator) : communicator_(communicator) {
        communicator_.keep();
    }
    ~Keeping() { communicator_.let_go(); }
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;

  private:
    Communicator& communicator_;
};

// --- Blocking collectives by which the library's ranks agree on something ------------------------

// Starts the call and waits for its end, with the engine released. `what` names the caller's call
// in messages. Fails when the communicator is broken, even if this rank's part went well. REQUIRES:
// the caller keeps the communicator; before the first of several, check_starter() was ok. (Between
// them another thread may change the engine.)
Status call_and_wait(Communicator& communicator, const char* what, const weft_call& call);

// Gathers `bytes` of every rank into `all`, by rank.
Status allgather_and_wait(Communicator& communicator, const char* what, const void* mine, void* all,
                          std::size_t bytes);

}  // namespace weft
