#include "communicator/communicator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>

#include "engine/completion_queue.h"
#include "shape/torus.h"
#include "transport/vain_call.h"

namespace weft {
namespace {

// The same on all ranks: true if all are on one node and reach each other by shared memory.
bool all_combine(const Executor& executor, const Group& group) {
    return std::ranges::all_of(group.members, [&](Rank member) {
        Transport* route = executor.route(member);
        return route == nullptr || route->combining() != nullptr;
    });
}

// The job's torus, if the group is all ranks of the job, in their order. A single rank is always a
// torus.
const Torus* torus_of(const Host& host, const Group& group) {
    static const Torus alone({1, 1});
    if (group.members.size() == 1) return &alone;
    const bool is_whole = host.torus && group.bridge == 0 &&
                          host.torus->ranks() == std::ssize(group.members) &&
                          std::ranges::is_sorted(group.members);
    return is_whole ? host.torus : nullptr;
}

// What the messages of a run do not take, because of their wire format. (Those by which the calls
// of all ranks are compared are exact.)
std::int64_t saved_bytes(const Schedule& schedule, const Signature& call, const CallContext& place,
                         bool is_checked) {
    if (call.wire == WireFormat::exact) return 0;
    const std::int64_t count = call.bytes / static_cast<std::int64_t>(sizeof(float));
    const std::int64_t encoded = wire_block(call.wire).bytes_of(count);  // call.bytes become these
    const std::int64_t sent =
        schedule.sent_bytes() - (is_checked ? Agreement::sent_bytes(place) : 0);
    return std::llround(static_cast<double>(sent) * static_cast<double>(call.bytes - encoded) /
                        static_cast<double>(encoded));
}

// What a call is turned into. (Its constructor is not implicit: compilers would zero the whole
// object by a string instruction, which takes 9 ns.)
struct CheckedCall {
    CheckedCall() {}

    Signature signature;
    Binding binding;
};

}  // namespace

std::string description_of(const Request& request) {
    const CachedSchedule& home = request.home;
    const TaggedMessage* const message = request.message();
    const std::string size = message != nullptr ? std::to_string(message->bytes) + " bytes"
                             : home.is_own
                                 ? std::to_string(home.schedule.ops().size()) + " operations"
                                 : std::to_string(home.signature.total_bytes()) + " bytes";
    return request.name() + " of " + size + " on " + request.communicator->name();
}

Communicator::Communicator(Host& host, Group group, Rank rank, std::string name,
                           CommunicatorSettings settings)
    : host_(host),
      group_(std::move(group)),
      topology_(host.topology.part(group_.members)),
      place_{.rank = rank,
             .ranks = topology_.ranks(),
             .combines = all_combine(host.executor, group_),
             .topology = &topology_,
             .torus = torus_of(host, group_),
             .reproducible = settings.reproducible,
             .accumulates = settings.accumulates,
             .wire = settings.wire,
             .wire_error = &wire_error_},
      name_(std::move(name)),
      settings_(std::move(settings)),
      calls_(group_, 0),
      schedules_(host.requests) {
    host_.executor.add_group(group_);
}

// Checks the call and fills `signature` and `binding`, which are new.
Result<CachedSchedule*> Communicator::make_ready(const weft_call& call, Signature& signature,
                                                 Binding& binding) {
    if (group_.broken.code != WEFT_OK) {
        return broken_status(collective_name(collective_of(call)), group_.broken);
    }
    WEFT_RETURN_IF_NOT_OK(check(call, place_, byte_counts_, signature, binding));
    if (CachedSchedule* prepared = schedules_.find(signature)) [[likely]] {
        WEFT_RETURN_IF_NOT_OK(check_buffers(binding, prepared->buffers));
        // Buffers of an earlier call were the host's when nothing told any other memory.
        const bool are_new =
            binding.send != prepared->last_send || binding.recv != prepared->last_recv;
        if (are_new || host_.devices.has_found()) [[unlikely]] {
            WEFT_RETURN_IF_NOT_OK(check_memory_of_devices(binding, prepared->buffers));
            prepared->last_send = binding.send;
            prepared->last_recv = binding.recv;
        }
        return prepared;
    }
    return prepare(signature, binding);
}

Status Communicator::check_memory_of_devices(const Binding& binding, const BufferUses& buffers) {
    const DeviceMemory found = host_.devices.find();
    return found == nullptr ? ok : check_memory(binding, buffers, found);
}

// Builds the schedule of a checked call that is not cached.
Result<CachedSchedule*> Communicator::prepare(const Signature& signature, const Binding& binding) {
    Result<BufferUses> buffers = uses_of_buffers(signature, place_);
    if (!buffers.is_ok()) return buffers.status();
    WEFT_RETURN_IF_NOT_OK(check_buffers(binding, *buffers));
    WEFT_RETURN_IF_NOT_OK(check_memory_of_devices(binding, *buffers));
    Result<Schedule> schedule = build_schedule(signature, place_, settings_.selector, is_checked());
    if (!schedule.is_ok()) return schedule.status();
    CachedSchedule& made = schedules_.insert(signature, std::move(*buffers), std::move(*schedule));
    made.saved_bytes = saved_bytes(made.schedule, signature, place_, is_checked());
    return &made;
}

Request& Communicator::take(CachedSchedule& prepared) {
    Request& request = prepared.take();
    request.communicator = this;
    keep();
    return request;
}

Result<Request*> Communicator::start(const weft_call& call, StartOptions options) {
    // (The library's calls are checked before the first of them: others may already wait for the
    // next.)
    if (!options.of_library) WEFT_RETURN_IF_NOT_OK(check_starter());
    CheckedCall checked;
    auto& [signature, binding] = checked;
    signature.of_library = options.of_library;
    Result<CachedSchedule*> prepared = make_ready(call, signature, binding);
    if (!prepared.is_ok()) return prepared.status();
    Request& request = take(**prepared);
    try {
        bind_agreement(call, request, binding);
    } catch (const std::bad_alloc&) {
        schedules_.give_back(request);
        let_go();
        throw;
    }
    if (Status counted = count_call(signature); counted.code != WEFT_OK) [[unlikely]] {
        schedules_.give_back(request);
        let_go();
        return counted;
    }
    launch(request, calls_, binding, options.waits);
    return &request;
}

void Communicator::launch(Request& request, Stream& stream, const Binding& binding, bool waits) {
    host_.saved_bytes += request.home.saved_bytes;
    request.active = true;
    host_.engine.start(request, stream, binding, settings_.offloads ? &request.home.plan : nullptr,
                       waits);
}

Result<Request*> Communicator::make_persistent(const weft_call& call) {
    Signature signature;
    Binding binding;
    Result<CachedSchedule*> prepared = make_ready(call, signature, binding);
    if (!prepared.is_ok()) return prepared.status();
    Result<Request*> made = make_persistent(**prepared, binding);
    if (!made.is_ok()) return made;
    try {
        bind_agreement(call, **made, (*made)->persistent->binding);
    } catch (const std::bad_alloc&) {
        free(**made);
        --persistent_made_;
        throw;
    }
    if (Status counted = count_call(signature); counted.code != WEFT_OK) {
        free(**made);
        return counted;
    }
    return made;
}

// The call is about to be made. Another rank may have refused it.
Status Communicator::count_call(const Signature& signature) {
    if (signature.of_library) return ok;
    host_.executor.count_call(group_);
    if (group_.broken.code == WEFT_OK) [[likely]]
        return ok;
    return broken_status(collective_name(signature.collective), group_.broken);
}

bool Communicator::is_checked() const { return host_.checks_calls && place_.ranks > 1; }

void Communicator::bind_agreement(const weft_call& call, Request& request, Binding& binding) {
    if (!is_checked()) return;
    if (!request.agreement) request.agreement = std::make_unique<Agreement>();
    request.agreement->bind(
        record_of(call, request.home.signature, place_.rank == call.root, request.is_persistent()),
        group_, binding);
}

Result<Request*> Communicator::make_persistent(CachedSchedule& prepared, const Binding& binding) {
    if (persistent_made_ == first_tag_stream - 1) {
        return failure(WEFT_REFUSED_MEMORY,
                       "%u persistent requests were made on %s; expected fewer", persistent_made_,
                       name_.c_str());
    }
    auto persistent = std::make_unique<Request::Persistent>(Request::Persistent{
        std::optional<Stream>(std::in_place, group_, persistent_made_ + 1), binding});
    Request& request = take(prepared);
    request.persistent = std::move(persistent);
    ++persistent_made_;
    return &request;
}

Status Communicator::check_start(const Request& request) const {
    if (!request.is_persistent()) {
        return failure(WEFT_REFUSED_HANDLE, "%s is started; expected a persistent request",
                       description_of(request).c_str());
    }
    if (request.active) {
        return failure(WEFT_REFUSED_STATE, "%s is active; expected a request that is not started",
                       description_of(request).c_str());
    }
    if (group_.broken.code != WEFT_OK) return broken_status(request.name(), group_.broken);
    return check_starter();
}

void Communicator::start(Request& request) {
    if (!request.persistent->stream) return launch_message(request);
    request.persistent->binding.reduction.round_as_this_thread();
    launch(request, *request.persistent->stream, request.persistent->binding, false);
}

void Communicator::free(Request& request) {
    WEFT_ASSERT(request.is_persistent() && !request.active);
    request.persistent.reset();
    schedules_.give_back(request);
    let_go();
}

weft_status Communicator::outcome(const Request& request) {
    const weft_status code = request.failure().code;
    return code == WEFT_REFUSED_STATE ? WEFT_BROKEN_RANK : code;  // as broken_status() says it
}

Status Communicator::settle(Request& request) {
    WEFT_ASSERT(request.active && request.is_done());
    if (request.mark.listener != nullptr) [[unlikely]]
        CompletionQueue::unmark(request);
    const Failure& failed = request.failure();
    const Status outcome = failed.code == WEFT_OK ? ok : broken_status(request, failed);
    request.active = false;
    host_.engine.note_completion();
    if (!request.is_persistent()) {
        schedules_.give_back(request);
        let_go();
    }
    return outcome;
}

Status Communicator::finish(Request& request) {
    const weft_status waited = host_.engine.wait_until([&] { return request.is_done(); },
                                                       {.interruptible = false, .run = &request});
    if (waited != WEFT_TIMED_OUT) return settle(request);
    std::string awaited;
    Rank late = -1;
    try {
        awaited = request.awaited();
        late = late_rank(request);
    } catch (const std::bad_alloc&) {
        // The sentence is then shorter.
    }
    host_.executor.break_group(group_, {WEFT_BROKEN_TIMEOUT, late, 0, 0});
    // A function of the program may still run for it.
    host_.engine.wait_until(
        [&] { return request.is_done(); },
        {.interruptible = false, .deadline_ns = Engine::unbounded, .run = &request});
    Status outcome = settle(request);
    if (!awaited.empty()) append_detail("; it %s", awaited.c_str());
    return outcome;
}

// The first rank of the job that the request, or an earlier operation, waits for.
Rank Communicator::late_rank(const Request& request) const {
    auto first_late = [](const Run& run) {
        for (bool sends : {false, true}) {
            const std::vector<Rank> late = run.late_peers(sends);
            if (!late.empty()) return late.front();
        }
        return Rank{-1};
    };
    Rank late = first_late(request);
    for (Run* run = host_.executor.first_active(); run && late < 0;
         run = Executor::next_active(*run)) {
        if (&run->stream()->group() == &group_) late = first_late(*run);
    }
    return late;
}

Status Communicator::run_out_of_memory(const std::string& what) {
    host_.executor.break_group(group_, host_.executor.out_of_memory());
    return broken_status(what, group_.broken);
}

// A failure that this rank causes, and explains.
Failure Communicator::own_failure(weft_status code, const char* sentence) const {
    Failure failure{.code = code, .rank = group_.members[static_cast<std::size_t>(rank())]};
    std::snprintf(reinterpret_cast<char*>(failure.remark.data()), failure.remark.size(), "%s",
                  sentence);
    return failure;
}

Failure Communicator::refusal(const char* why) const {
    Failure failure = own_failure(WEFT_BROKEN_MESSAGE, why);
    failure.is_refusal = true;
    return failure;
}

void Communicator::refuse_call(const char* why) {
    try {
        host_.executor.refuse_call(group_, refusal(why));
    } catch (const std::bad_alloc&) {
        host_.executor.break_group(group_, refusal(why));
    }
}

void Communicator::break_off(const char* why) { host_.executor.break_group(group_, refusal(why)); }

void Communicator::abort(const char* reason) {
    host_.executor.break_group(group_, own_failure(WEFT_BROKEN_ABORT, reason));
}

void Communicator::let_go() {
    if (--keepers_ == 0 && freed_) host_.end(*this);
}

Status Communicator::broken_status(const Request& request, const Failure& failed) const {
    try {
        return broken_status(request.name(), failed);
    } catch (const std::bad_alloc&) {
        const NamedRank who = name_of(group_, failed.rank);
        return failure_of_rank(failed.code, failed.rank,
                               "an operation failed because of rank %d of the %s; there is no "
                               "memory to say more",
                               who.rank, who.of);
    }
}

// The end of the sentence about a lost rank that this one could not reach.
std::string Communicator::vain_call(Rank lost) const {
    const Transport* const route = lost >= 0 ? host_.executor.route(lost) : nullptr;
    const std::string call = route != nullptr ? route->vain_call(lost) : "";
    if (call.empty()) return "";
    const NamedRank own = name_of(group_, group_.members[static_cast<std::size_t>(rank())]);
    return "; " + vain_call_text(own.rank, call, own.of);
}

Status Communicator::broken_status(const std::string& what, const Failure& failed) const {
    const NamedRank who = name_of(group_, failed.rank);
    switch (failed.code) {
        case WEFT_BROKEN_RANK:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: rank %d of the %s died or left", what.c_str(),
                                   name_.c_str(), who.rank, who.of);
        case WEFT_BROKEN_MESSAGE:
            if (failed.is_refusal) {
                return failure_of_rank(failed.code, failed.rank,
                                       "%s on %s: rank %d of the %s refused its call: %s",
                                       what.c_str(), name_.c_str(), who.rank, who.of,
                                       reinterpret_cast<const char*>(failed.remark.data()));
            }
            if (failed.has_remark) {
                const Disagreement calls = Disagreement::of(failed);
                const Rank expected_of = group_.bridge == 0 ? calls.expected_of : 0;
                return failure_of_rank(
                    failed.code, failed.rank,
                    "%s on %s: rank %d of the %s called %s where rank %d called %s", what.c_str(),
                    name_.c_str(), who.rank, who.of, in_words(calls.call).c_str(), expected_of,
                    in_words(calls.expected).c_str());
            }
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: rank %d of the %s sent %lld bytes where %lld were "
                                   "expected; the calls do not match",
                                   what.c_str(), name_.c_str(), who.rank, who.of,
                                   static_cast<long long>(failed.sent_bytes),
                                   static_cast<long long>(failed.expected_bytes));
        case WEFT_BROKEN_TIMEOUT:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: timed out waiting for rank %d of the %s "
                                   "(WEFT_TIMEOUT)",
                                   what.c_str(), name_.c_str(), who.rank, who.of);
        case WEFT_BROKEN_MEMORY:
            if (failed.is_unconnected) {
                return failure_of_rank(
                    failed.code, failed.rank,
                    "%s on %s: no connection with rank %d of the %s: it, or the rank that needs "
                    "it, has no descriptor or memory left (ulimit -n)",
                    what.c_str(), name_.c_str(), who.rank, who.of);
            }
            if (failed.is_context_taken) {
                return failure_of_rank(
                    failed.code, failed.rank,
                    "%s on %s: rank %d of the %s has another communicator of this number, or of "
                    "the same hash",
                    what.c_str(), name_.c_str(), who.rank, who.of);
            }
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: rank %d of the %s ran out of memory", what.c_str(),
                                   name_.c_str(), who.rank, who.of);
        case WEFT_BROKEN_FUNCTION:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: a function of the program on rank %d of the %s threw "
                                   "an exception",
                                   what.c_str(), name_.c_str(), who.rank, who.of);
        case WEFT_BROKEN_ABORT:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: rank %d of the %s aborted the communicator: %s",
                                   what.c_str(), name_.c_str(), who.rank, who.of,
                                   reinterpret_cast<const char*>(failed.remark.data()));
        case WEFT_REFUSED_STATE:
            return failure_of_rank(
                WEFT_BROKEN_RANK, failed.rank,
                "%s on %s: rank %d of the %s ended the thread that had started its operations, "
                "and io_uring ended them too; with engine kernel:own this thread must outlive "
                "them, kernel and auto use their own thread",
                what.c_str(), name_.c_str(), who.rank, who.of);
        default:
            return failure_of_rank(failed.code, failed.rank,
                                   "%s on %s: rank %d of the %s is out of reach: its host is dead, "
                                   "the link to it is cut, or its bytes are not Weft's%s",
                                   what.c_str(), name_.c_str(), who.rank, who.of,
                                   vain_call(failed.rank).c_str());
    }
}

Status call_and_wait(Communicator& communicator, const char* what, const weft_call& call) {
    Result<Request*> started = communicator.start(call, {.waits = true, .of_library = true});
    const Failure& failed = communicator.group().broken;
    if (!started.is_ok()) {
        if (!started.status().is_broken()) return started.status();
        return communicator.broken_status(what, failed);
    }
    Status outcome = communicator.finish(**started);
    if (outcome.code == WEFT_BROKEN_TIMEOUT) return outcome;
    // Fails even if this rank's part went well: its failure notice says that this rank will never
    // have the group that the call makes (see FailureNotices::take).
    return failed.code == WEFT_OK ? ok : communicator.broken_status(what, failed);
}

Status allgather_and_wait(Communicator& communicator, const char* what, const void* mine, void* all,
                          std::size_t bytes) {
    return call_and_wait(communicator, what,
                         {.collective = WEFT_COLLECTIVE_ALLGATHER,
                          .op = WEFT_OP_NULL,
                          .root = 0,
                          .send = bytes_at(mine, bytes),
                          .recv = bytes_at(all, bytes)});
}

}  // namespace weft
