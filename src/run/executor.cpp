#include "run/executor.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/cancellation.h"
#include "base/float_state.h"
#include "base/user_code.h"

namespace weft {
namespace {

// Smaller messages are stored first: they are still in cache when they are combined.
constexpr std::int64_t combined_on_arrival_min = 4096;

// How much one call reduces and copies: some 100 us where memory is slow.
constexpr std::size_t budget_bytes = 256 * 1024;

// Null: this rank itself.
bool knows_demand(const Transport* route) {
    return route == nullptr || route->abilities().knows_demand;
}

// Of the buffer between two ranks, for all that a run leaves to the program: at most
// unattended_ops_max messages, each in a slot of 128 bytes or more.
constexpr std::size_t buffer_bytes_of_run = 4096;

// Whether a message that this rank leaves to its program may hold up its sender.
bool holds_up_senders(const Transport* route) {
    return route != nullptr && route->abilities().eager_bytes <= unattended_bytes_max;
}

// The sources besides the transports: the offload, and the program's own messages.
constexpr std::size_t sources_more_max = 2;

bool is_large(const Op& op) { return op.bytes >= combined_on_arrival_min; }

}  // namespace

Executor::Executor(Rank rank, std::vector<Transport*> transports, std::vector<Transport*> routes,
                   Offload* offload)
    : offload_(offload),
      transports_(std::move(transports)),
      routes_(std::move(routes)),
      messages_(rank, routes_, transports_),
      job_ranks_(routes_.size()),
      failures_(rank, routes_, [this](Group& group) { end_runs(group); }),
      some_are_eager_(!std::ranges::all_of(routes_, knows_demand)),
      has_cancellation_points_(std::ranges::any_of(transports_, [](const Transport* transport) {
          return transport->abilities().has_cancellation_points;
      })) {
    sources_.reserve(transports_.size() + sources_more_max);
    // First: lists are cancelled before the connections they use are closed.
    if (offload != nullptr) sources_.push_back(offload);
    sources_.insert(sources_.end(), transports_.begin(), transports_.end());
    for (Transport* transport : transports_) {
        transport->open_context(0);
        limit_unattended(*transport);
    }
    failures_.expect_all();
}

// (One run less than the buffer has room for: a record may leave the ring's end unused.)
void Executor::limit_unattended(const Transport& transport) {
    const std::size_t runs = transport.abilities().buffer_bytes / buffer_bytes_of_run;
    if (runs > unattended_runs_max_) return;
    unattended_runs_max_ = static_cast<std::uint32_t>(std::max<std::size_t>(runs, 1) - 1);
    unattended_bytes_of_runs_max_ = 1024 * std::int64_t{unattended_runs_max_};
}

// `run` is started; its unattended bytes are known.
inline void Executor::activate(Run& run, Stream& stream) {
    WEFT_ASSERT(!run.active_ && !run.queued_);
    run.stream_ = &stream;
    run.failure_.code = WEFT_OK;
    run.active_ = true;
    run.unfinished_ = run.outer_ops_;
    run.urgent_left_ = 0;
    run.previous_active_ = last_active_;
    run.next_active_ = nullptr;
    (last_active_ ? last_active_->next_active_ : first_active_) = &run;
    last_active_ = &run;
    ++active_;
    eager_runs_ += stream.group().is_eager ? 1 : 0;
    urgent_runs_ += stream.group().is_attended ? 1 : 0;
    unattended_bytes_ += run.unattended_bytes_;
    ++started_;
    run.runs_as_lists_ = false;
}

void Executor::start(Run& run, Stream& stream, const Binding& binding, bool is_offered) {
    run.binding_ = binding;
    if (run.schedule_.has_stand_ins()) [[unlikely]]
        run.use_stand_ins();
    activate(run, stream);
    run.is_offered_ = is_offered;
    if (is_offered || has_offered()) {
        WEFT_ASSERT(!is_offered || run.has_lists());
        offered_.append(run);
        return;
    }
    begin(run, /*as_lists=*/false);
    budget_ = budget_bytes;
    drain(Callable::none);
}

void Executor::start_message(Run& run, Stream& stream) {
    TaggedMessage& message = *run.message_;
    const bool is_urgent =
        message.sends || message.bytes > static_cast<std::size_t>(unattended_bytes_max);
    run.unattended_bytes_ = is_urgent ? 0 : static_cast<std::int64_t>(message.bytes);
    activate(run, stream);
    run.urgent_left_ = is_urgent ? 1 : 0;
    urgent_runs_ += run.urgent_left_;
    run.missing_[0] = 0;
    Posted posted = Posted::pending;
    try {
        posted = messages_.start(message);
    } catch (const std::bad_alloc&) {
        return break_group(stream.group(), out_of_memory());
    }
    if (messages_.is_used() && !polls_messages_) [[unlikely]] {
        sources_.push_back(&messages_);  // there is room
        polls_messages_ = true;
    }
    if (posted != Posted::done) return;
    run.missing_[0] = Run::completed_mark;
    run.unfinished_ = 0;
    finish(run);
}

void Executor::begin_offered(bool as_lists) {
    while (has_offered()) {
        Run& run = offered_.pop();
        if (run.is_offered_ && !as_lists) offload_->note_waited_for();
        begin(run, as_lists && run.is_offered_);
    }
    budget_ = budget_bytes;
    drain(Callable::none);
}

void Executor::begin(Run& run, bool as_lists) {
    try {
        begin_here(as_lists && begin_lists(run) ? *run.rest_ : run);
    } catch (const std::bad_alloc&) {
        break_group(run.stream_->group(), out_of_memory());
    }
}

// Begins the run's lists; what is left is the rest. False: all of the run is left.
bool Executor::begin_lists(Run& run) {
    Stream& stream = *run.stream_;
    const Offload::Call call{.stream = stream.id(),
                             .members = stream.group().members,
                             .send = run.binding_.send,
                             .recv = run.binding_.recv,
                             .scratch = run.scratch_};
    const bool is_clear = std::ranges::all_of(run.lists_->tasks.lists, [&](const TaskList& list) {
        return list.is_control || stream.last_on_lane(list.peer, list.sends).run == nullptr;
    });
    if (!offload_->admits(*run.lists_, call, is_clear)) return false;
    run.runs_as_lists_ = true;
    Run& rest = *run.rest_;
    WEFT_ASSERT(!rest.active_ && !rest.queued_);
    rest.stream_ = run.stream_;
    rest.binding_ = run.binding_;
    rest.given_send_ = run.given_send_;
    rest.given_recv_ = run.given_recv_;
    rest.function_host_ = run.function_host_;
    rest.failure_.code = WEFT_OK;
    rest.active_ = true;
    rest.unfinished_ = rest.outer_ops_;
    offload_->begin(*run.lists_, call);
    return true;
}

void Executor::begin_here(Run& run) {
    const Schedule& schedule = run.schedule_;
    Stream& stream = *run.stream_;
    run.urgent_left_ = run.urgent_ops_;
    urgent_runs_ += run.urgent_left_ > 0;
    run.ready_begin_ = run.ready_count_ = 0;
    run.done_bytes_ = 0;
    std::ranges::copy(schedule.in_degree(), run.missing_.begin());
    std::span<const ScheduleLane> lanes = schedule.lanes();
    for (std::uint32_t i = 0; i < lanes.size(); ++i) {
        LaneHold& last = stream.last_on_lane(lanes[i].peer, lanes[i].sends);
        if (last.run) {
            last.run->next_on_lane_[last.lane] = {&run, i};
            ++run.missing_[lanes[i].gate];
        }
        last = {&run, i};
        run.next_on_lane_[i] = {};
    }
    for (OpId root : schedule.roots()) {
        if (run.missing_[root] == 0) push_ready(run, root);
    }
    if (run.unfinished_ == 0) finish(run);
}

bool Executor::progress(Callable callable) {
    bool moved = false;
    if (callable != Callable::none) has_left_calls_ = false;
    if (callable == Callable::all) has_left_confined_ = false;
    failures_.progress();
    while (stalled_.first) ready_.append(stalled_.pop());
    poll_all(moved);
    if (failures_.has_suspects()) [[unlikely]] {
        // A rank that gave up these messages sent a failure notice first; notices are taken one by
        // one.
        std::uint64_t taken_before;
        do {
            taken_before = failures_.taken();
            poll_all(moved);
        } while (failures_.taken() != taken_before);
        failures_.break_suspected();
    }
    budget_ = budget_bytes;
    return drain(callable) || moved;
}

bool Executor::has_work() const {
    return has_ready() || failures_.owes() ||
           std::ranges::any_of(sources_, [](CompletionSource* s) { return s->has_work(); });
}

std::vector<Rank> Executor::owed_ranks() const {
    std::vector<Rank> ranks;
    ranks.reserve(routes_.size());
    for (const CompletionSource* source : sources_) source->list_owed(ranks);
    std::ranges::sort(ranks);
    return ranks;
}

void Executor::poll_all(bool& moved) {
    std::uint64_t pieces = 0;
    for (CompletionSource* source : sources_) {
        std::size_t n;
        do {
            try {
                n = source->poll(done_);
            } catch (const std::bad_alloc&) {
                // Against the contract. Completions may be lost, so every group breaks.
                n = 0;
                failures_.run_out_everywhere();
            }
            for (std::size_t i = 0; i < n; ++i) handle(done_[i]);
            moved |= n > 0;
        } while (n == done_.size());
        pieces += source->pieces_moved();
    }
    moved |= pieces != pieces_moved_;
    pieces_moved_ = pieces;
}

void Executor::push_ready(Run& run, Instance instance) {
    std::size_t at = run.ready_begin_ + run.ready_count_++;
    if (at >= run.ready_.size()) at -= run.ready_.size();
    run.ready_[at] = instance;
    if (run.queued_) return;
    run.queued_ = true;
    ready_.append(run);
}

void Executor::Queue::append(Run& run) {
    run.next_queued_ = nullptr;
    (last ? last->next_queued_ : first) = &run;
    last = &run;
}

Run& Executor::Queue::pop() {
    Run& run = *first;
    first = run.next_queued_;
    if (!first) last = nullptr;
    return run;
}

void Executor::Queue::remove(Run& run) {
    Run* previous = nullptr;
    for (Run* r = first; r; previous = r, r = r->next_queued_) {
        if (r != &run) continue;
        (previous ? previous->next_queued_ : first) = run.next_queued_;
        if (last == &run) last = previous;
        return;
    }
}

// One of its predecessors has completed.
void Executor::release(Run& run, Instance instance) {
    if (--run.missing_[instance] == 0) push_ready(run, instance);
}

// False: nothing could be executed.
bool Executor::drain(Callable callable) {
    bool executed = false;
    while (ready_.first) {
        executed |= drain(ready_.pop(), callable);
        if (ending_) [[unlikely]]
            break_group(std::exchange(ending_, nullptr)->stream_->group(), ending_failure_);
        if (budget_ == 0) [[unlikely]]
            break;
    }
    return executed;
}

// Executes what is ready in `run`. `queued_` stays set meanwhile, so that nothing queues it twice.
bool Executor::drain(Run& run, Callable callable) {
    bool executed = false;
    std::uint32_t busy = 0;
    while (run.ready_count_ > busy) {
        Instance instance = run.ready_[run.ready_begin_];
        if (++run.ready_begin_ == run.ready_.size()) run.ready_begin_ = 0;
        --run.ready_count_;
        switch (try_execute(run, instance, callable)) {
            case Executed::yes:
                executed = true;
                busy = 0;  // it may have made room for the busy ones
                break;
            case Executed::busy:
                push_ready(run, instance);
                ++busy;
                break;
            case Executed::cut:
                // It continues where it stopped, after the other runs.
                if (run.ready_begin_-- == 0)
                    run.ready_begin_ = static_cast<std::uint32_t>(run.ready_.size()) - 1;
                run.ready_[run.ready_begin_] = instance;
                ++run.ready_count_;
                ready_.append(run);
                return true;
            case Executed::ended: return true;
        }
    }
    if (run.ready_count_ == 0) {
        run.queued_ = false;
    } else {
        stalled_.append(run);
    }
    return executed;
}

Executor::Executed Executor::try_execute(Run& run, Instance instance, Callable callable) {
    try {
        return execute(run, instance, callable);
    } catch (const std::bad_alloc&) {
        ending_ = &run;
        ending_failure_ = out_of_memory();
        return Executed::ended;
    }
}

// How much of `bytes` may be reduced or copied now: whole elements, at least one unless the budget
// is used up.
std::size_t Executor::allow(std::size_t bytes, std::size_t element_bytes) {
    if (bytes > budget_) [[unlikely]] {
        if (budget_ == 0) return 0;
        bytes = std::max(budget_ / element_bytes, std::size_t{1}) * element_bytes;
        budget_ = 0;
    } else {
        budget_ -= bytes;
    }
    return bytes;
}

// After a piece of the run's first ready operation. False: some of the operation is left.
bool Executor::note_piece(Run& run, std::size_t piece, std::size_t bytes) {
    run.done_bytes_ += piece;
    if (run.done_bytes_ < bytes) return false;
    run.done_bytes_ = 0;
    return true;
}

// A function of the program is ready, but may not be called here.
Executor::Executed Executor::leave_call(bool is_confined) {
    (is_confined ? has_left_confined_ : has_left_calls_) = true;
    return Executed::busy;
}

// Calls a function of the program. False: the run's group broke meanwhile, and the run ends only
// now; or the function threw an exception, and the group breaks.
template <class Function>
bool Executor::call_program(Run& run, Function function) {
    bool has_thrown = false;
    auto call = [&] {
        const Uncancelled uncancelled;
        try {
            function();
        } catch (abi::__forced_unwind&) {
            throw;
        } catch (...) {
            has_thrown = true;
        }
    };
    run.is_calling_ = true;
    try {
        if (exclusion_ != nullptr) {
            exclusion_->call_without([](void* c) { (*static_cast<decltype(call)*>(c))(); }, &call);
        } else {
            call();
        }
    } catch (abi::__forced_unwind&) {
        // The function ends this thread.
        leave_call_undone(run);
        throw;
    }
    run.is_calling_ = false;
    if (has_thrown && run.failure_.code == WEFT_OK) {
        ending_ = &run;
        ending_failure_ = function_failure();
        return false;
    }
    if (run.failure_.code == WEFT_OK) return true;
    run.queued_ = false;
    end_when_called(run);
    return false;
}

// `run` is in no queue.
void Executor::leave_call_undone(Run& run) {
    run.is_calling_ = run.queued_ = false;
    if (run.failure_.code != WEFT_OK) return end_when_called(run);
    break_group(run.stream_->group(), function_failure());
}

Failure Executor::function_failure() const {
    return {.code = WEFT_BROKEN_FUNCTION, .rank = out_of_memory().rank};
}

// Its group has broken.
void Executor::end_when_called(Run& run) {
    if (!run.is_calling_ && run.functions_apart_ == 0) finish(run);
}

// --- Functions that run apart --------------------------------------------------------------------

// False: there is no host; whoever drives calls it.
bool Executor::give_to_host(Run& run, const Op& op, Instance instance) {
    const bool is_of_library = run.binding_.verdict != nullptr;
    if (run.function_host_ == nullptr || is_of_library) return false;
    FunctionCall& call = run.function_calls_[static_cast<std::size_t>(op.peer)];
    WEFT_ASSERT(!call.waits && run.schedule_.repeats().empty());
    call = {.executor = this, .run = &run, .instance = instance, .waits = true};
    run.function_host_->take(call);
    ++functions_given_;
    return true;
}

void Executor::begin_function(FunctionCall& call) {
    call.waits = false;
    ++call.run->functions_apart_;
}

void Executor::perform(FunctionCall& call) {
    Run& run = *call.run;
    const Op& op = run.schedule_.ops()[call.instance];
    const UserCall& user = run.binding_.calls[op.peer];
    bool has_thrown = false;
    try {
        // (It may wait, and then this is not UserCode.)
        const FloatScope here;
        user.function(writable(run, op.into()), static_cast<std::size_t>(op.bytes), user.context);
    } catch (abi::__forced_unwind&) {
        throw;  // the scheduler of user-level threads ends the process
    } catch (...) {
        has_thrown = true;
    }
    auto end = [&] { end_function(call, has_thrown); };
    exclusion_->call_with([](void* e) { (*static_cast<decltype(end)*>(e))(); }, &end);
}

void Executor::end_function(FunctionCall& call, bool has_thrown) {
    Run& run = *call.run;
    --run.functions_apart_;
    if (run.failure_.code != WEFT_OK) return end_when_called(run);
    if (has_thrown) return break_group(run.stream_->group(), function_failure());
    run.missing_[call.instance] = Run::completed_mark;
    completed(run, call.instance, nullptr, 0);
    budget_ = budget_bytes;
    drain(Callable::none);
}

void Executor::run_functions_inline(FunctionHost& host) {
    for (Run* run = first_active_; run; run = run->next_active_) {
        if (run->function_host_ != &host) continue;
        Run& carried_out = run->carried_out();
        run->function_host_ = carried_out.function_host_ = nullptr;
        for (FunctionCall& call : carried_out.function_calls_) {
            if (!std::exchange(call.waits, false)) continue;
            host.drop(call);
            push_ready(carried_out, call.instance);
        }
    }
}

// --- Operations ----------------------------------------------------------------------------------

// Where a region's bytes are; null: it has none.
const std::byte* Executor::readable(const Run& run, const Region& region) {
    if (region.bytes == 0) return nullptr;
    switch (region.buffer) {
        case Buffer::send: return run.binding_.send + region.offset;
        case Buffer::recv: return run.binding_.recv + region.offset;
        case Buffer::scratch: return run.scratch_ + region.offset;
        case Buffer::given_send: return run.given_send_ + region.offset;
        case Buffer::given_recv: return run.given_recv_ + region.offset;
    }
    return nullptr;
}

std::byte* Executor::writable(const Run& run, const Region& region) {
    if (region.bytes == 0) return nullptr;
    WEFT_ASSERT(region.buffer != Buffer::send && region.buffer != Buffer::given_send);
    if (region.buffer == Buffer::given_recv) [[unlikely]]
        return run.given_recv_ + region.offset;
    return (region.buffer == Buffer::recv ? run.binding_.recv : run.scratch_) + region.offset;
}

Executor::Executed Executor::execute(Run& run, Instance instance, Callable callable) {
    const Schedule& schedule = run.schedule_;
    OpId id = instance;
    RepeatState* state = nullptr;
    std::int64_t iteration = 0;
    std::optional<Op> shifted_op;
    const Op* op;
    if (instance < schedule.ops().size()) [[likely]] {
        op = &schedule.ops()[instance];
    } else {
        state = repeat_at(run.repeats_, instance);
        const RepeatState::Position position = state->position(instance);
        id = position.op;
        iteration = position.iteration;
        op = &shifted_op.emplace(shifted(schedule.ops()[id], state->repeat(), iteration));
    }

    Executed executed = Executed::yes;
    Posted posted = Posted::done;
    switch (op->kind) {
        case OpKind::join: break;
        case OpKind::send: posted = post_send(run, *op, instance); break;
        case OpKind::recv: posted = post_recv(run, *op, instance, id, iteration); break;
        case OpKind::copy: executed = copy(run, *op); break;
        case OpKind::scale:
        case OpKind::widen:
        case OpKind::narrow: executed = convert(run, *op); break;
        case OpKind::encode:
        case OpKind::decode: executed = convert_wire(run, *op); break;
        case OpKind::reduce:
        case OpKind::reduce_right: executed = reduce(run, *op, callable); break;
        case OpKind::await:
            posted = offload_->await(*run.whole_->lists_, static_cast<std::uint32_t>(op->peer),
                                     static_cast<std::uint32_t>(op->from_offset), {&run, instance});
            break;
        case OpKind::enable:
            offload_->enable(*run.whole_->lists_, static_cast<std::uint32_t>(op->peer));
            break;
        case OpKind::call:
            if (give_to_host(run, *op, instance)) {
                posted = Posted::pending;
                break;
            }
            executed = call(run, *op, callable);
            if (ending_ == &run) return executed;  // what waits for this operation never starts
            break;
    }
    if (executed != Executed::yes) return executed;
    if (posted == Posted::busy) return Executed::busy;
    if (op->is_message()) issued(run, id, state, iteration);
    if (posted == Posted::done) {
        run.missing_[instance] = Run::completed_mark;
        completed(run, id, state, iteration);
    }
    return Executed::yes;
}

inline Posted Executor::post_send(Run& run, const Op& op, Instance instance) {
    const Rank peer = run.stream_->member(op.peer);
    return routes_[static_cast<std::size_t>(peer)]->post_send(
        {peer, run.stream_->id()}, {readable(run, op.from()), static_cast<std::size_t>(op.bytes)},
        {&run, instance});
}

inline Posted Executor::post_recv(Run& run, const Op& op, Instance instance, OpId id,
                                  std::int64_t iteration) {
    const Rank peer = run.stream_->member(op.peer);
    Transport& route = *routes_[static_cast<std::size_t>(peer)];
    const MutBytes place{writable(run, op.into()), static_cast<std::size_t>(op.bytes)};
    const OpId combined = is_large(run.schedule_.ops()[id]) ? combined_on_arrival(run, id) : no_op;
    if (combined == no_op) [[likely]]
        return route.post_recv({peer, run.stream_->id()}, place, {&run, instance});
    const Reduction& reduction = run.binding_.reduction;
    return route.combining()->post_recv_combined(
        {peer, run.stream_->id()}, place,
        {reduction.kernel, readable(run, run.schedule_.at(combined, iteration).from()),
         reduction.element_bytes},
        {&run, instance});
}

inline Executor::Executed Executor::copy(Run& run, const Op& op) {
    const auto bytes = static_cast<std::size_t>(op.bytes);
    const std::size_t piece = allow(bytes - run.done_bytes_, 1);
    if (piece > 0) {
        std::memcpy(writable(run, op.into()) + run.done_bytes_,
                    readable(run, op.from()) + run.done_bytes_, piece);
    }
    return note_piece(run, piece, bytes) ? Executed::yes : Executed::cut;
}

Executor::Executed Executor::convert(Run& run, const Op& op) {
    if (op.bytes == 0) return Executed::yes;
    const Reduction& reduction = run.binding_.reduction;
    const bool narrows_or_widens = op.kind != OpKind::scale;
    const auto bytes = static_cast<std::size_t>(op.bytes);
    const std::size_t done = run.done_bytes_;
    const std::size_t element = reduction.element_bytes / (narrows_or_widens ? 2 : 1);
    const std::size_t piece = allow(bytes - done, element);
    const std::byte* const from =
        readable(run, op.from()) + (op.kind == OpKind::narrow ? 2 * done : done);
    std::byte* const into = writable(run, op.into()) + (op.kind == OpKind::widen ? 2 * done : done);
    if (op.kind == OpKind::widen)
        reduction.widen(from, into, piece);
    else if (op.kind == OpKind::narrow)
        reduction.narrow(from, into, piece);
    else
        reduction.apply_scaling(from, into, piece);
    return note_piece(run, piece, bytes) ? Executed::yes : Executed::cut;
}

Executor::Executed Executor::convert_wire(Run& run, const Op& op) {
    if (op.bytes == 0) return Executed::yes;
    const Reduction& reduction = run.binding_.reduction;
    const WireBlock block = wire_block(reduction.wire);
    const auto bytes = static_cast<std::size_t>(op.bytes);
    const std::size_t done = run.done_bytes_;
    // (The last block may be shorter than those that allow() knows.)
    const std::size_t piece =
        std::min(allow(bytes - done, static_cast<std::size_t>(block.elements) * sizeof(float)),
                 bytes - done);
    const auto encoded =
        static_cast<std::size_t>(block.bytes_of(static_cast<std::int64_t>(done / sizeof(float))));
    const bool encodes = op.kind == OpKind::encode;
    const std::byte* const from = readable(run, op.from()) + (encodes ? done : encoded);
    std::byte* const into = writable(run, op.into()) + (encodes ? encoded : done);
    if (encodes)
        reduction.encode(from, into, piece / sizeof(float));
    else
        reduction.decode(from, into, piece / sizeof(float));
    return note_piece(run, piece, bytes) ? Executed::yes : Executed::cut;
}

inline Executor::Executed Executor::reduce(Run& run, const Op& op, Callable callable) {
    if (op.bytes == 0) return Executed::yes;
    const Reduction& reduction = run.binding_.reduction;
    if (reduction.kernel == nullptr) [[unlikely]]
        return reduce_by_program(run, op, callable);
    const auto bytes = static_cast<std::size_t>(op.bytes);
    const std::size_t done = run.done_bytes_;
    const std::size_t piece = allow(bytes - done, reduction.element_bytes);
    std::byte* const into = writable(run, op.into()) + done;
    if (op.kind == OpKind::reduce_right)
        reduction.apply_right(writable(run, op.from()) + done, into, piece);
    else
        reduction.apply(readable(run, op.from()) + done, into, piece);
    return note_piece(run, piece, bytes) ? Executed::yes : Executed::cut;
}

Executor::Executed Executor::reduce_by_program(Run& run, const Op& op, Callable callable) {
    const bool is_confined = run.binding_.reduction.is_confined;
    if (callable == Callable::none || (is_confined && callable != Callable::all))
        return leave_call(is_confined);
    const auto act = [&, from = op.from(), into = op.into()] {
        const auto bytes = static_cast<std::size_t>(into.bytes);
        if (op.kind == OpKind::reduce_right)
            run.binding_.reduction.apply_right(writable(run, from), writable(run, into), bytes);
        else
            run.binding_.reduction.apply(readable(run, from), writable(run, into), bytes);
    };
    return call_program(run, act) ? Executed::yes : Executed::ended;
}

Executor::Executed Executor::call(Run& run, const Op& op, Callable callable) {
    const Binding& binding = run.binding_;
    const auto act = [&, data = writable(run, op.into())] {
        const UserCall& call = binding.calls[op.peer];
        UserCode here;
        call.function(data, static_cast<std::size_t>(op.bytes), call.context);
    };
    if (binding.verdict == nullptr) {
        if (callable == Callable::none) return leave_call(/*is_confined=*/false);
        return call_program(run, act) ? Executed::yes : Executed::ended;
    }
    // The library's own.
    act();
    if (binding.verdict->code != WEFT_OK) [[unlikely]] {
        ending_ = &run;
        ending_failure_ = *binding.verdict;
    }
    return Executed::yes;
}

// The reduction that the transport performs while it receives for the large `op`; no_op: none.
OpId Executor::combined_on_arrival(const Run& run, OpId op) const {
    const Op& recv = run.schedule_.ops()[op];
    const Reduction& reduction = run.binding_.reduction;
    if (recv.kind != OpKind::recv || reduction.kernel == nullptr ||
        reduction.element_bytes > Combination::element_bytes_max)
        return no_op;
    const Rank peer = run.stream_->member(recv.peer);
    if (routes_[static_cast<std::size_t>(peer)]->combining() == nullptr) return no_op;
    return run.schedule_.combines_arrival(op);
}

// `op` was posted: the next message of its lane may follow.
void Executor::issued(Run& run, OpId op, RepeatState* state, std::int64_t iteration) {
    const Schedule& schedule = run.schedule_;
    Edge next = schedule.after_issue(op);
    bool last_iteration = true;
    if (state) {
        last_iteration = iteration == state->repeat().iterations - 1;
        if (next.to != Schedule::no_issue) {
            state->follow(next, iteration, [&](Instance after) { release(run, after); });
        }
    } else if (next.to != Schedule::no_issue) {
        release(run, next.to);
    }
    std::int32_t lane = schedule.lane_of(op);
    if (last_iteration && schedule.lanes()[static_cast<std::size_t>(lane)].last == op) {
        release_lane(run, lane);
    }
}

// All messages of the run on this lane are issued: the stream's next run may issue its own.
void Executor::release_lane(Run& run, std::int32_t lane) {
    auto index = static_cast<std::uint32_t>(lane);
    LaneHold next = run.next_on_lane_[index];
    if (next.run) {
        release(*next.run, next.run->schedule_.lanes()[next.lane].gate);
    } else {
        const ScheduleLane& l = run.schedule_.lanes()[index];
        run.stream_->last_on_lane(l.peer, l.sends) = {};
    }
}

void Executor::completed(Run& run, OpId op, RepeatState* state, std::int64_t iteration) {
    const Schedule& schedule = run.schedule_;
    auto release_one = [&](Instance after) { release(run, after); };
    const OpId combined = is_large(schedule.ops()[op]) ? combined_on_arrival(run, op) : no_op;
    if (combined != no_op) [[unlikely]] {
        // Nothing else waits for `op`.
        run.missing_[state ? state->instance(combined, iteration) : combined] = Run::completed_mark;
        completed(run, combined, state, iteration);
    }
    if (!state) {
        if (combined == no_op) {
            for (Edge edge : schedule.after_completion(op)) release(run, edge.to);
        }
        for (RepeatState& next : run.repeats_) {
            if (next.repeat().entry == op) next.begin(run.missing_, release_one);
        }
        if (run.is_urgent_[op] && --run.urgent_left_ == 0) --urgent_runs_;
        if (--run.unfinished_ == 0) finish(run);
        return;
    }
    if (combined == no_op) {
        for (Edge edge : schedule.after_completion(op)) {
            state->follow(edge, iteration, release_one);
        }
    }
    state->complete(iteration, run.missing_, release_one);
}

void Executor::finish(Run& run) {
    run.active_ = false;
    urgent_runs_ -= run.urgent_left_ > 0;
    run.urgent_left_ = 0;
    if (run.whole_ != nullptr) return finish(*run.whole_);
    (run.previous_active_ ? run.previous_active_->next_active_ : first_active_) = run.next_active_;
    (run.next_active_ ? run.next_active_->previous_active_ : last_active_) = run.previous_active_;
    --active_;
    eager_runs_ -= run.stream_->group().is_eager ? 1 : 0;
    urgent_runs_ -= run.stream_->group().is_attended ? 1 : 0;
    unattended_bytes_ -= run.unattended_bytes_;
    ++finished_;
    if (run.mark.listener != nullptr) [[unlikely]]
        run.mark.listener->run_ended(run);
    if (run.waiter != nullptr) [[unlikely]]
        run.waiter->run_ended(run);
}

void Executor::handle(const Completion& completion) {
    if (const std::uint64_t context = lost_context(completion)) return failures_.run_out(context);
    if (!completion.token.run) return failures_.lose(completion.peer, completion.code);
    if (completion.token.run == &failures_) return failures_.handle(completion);
    const Failure failure{.code = completion.code,
                          .rank = completion.peer,
                          .sent_bytes = completion.sent_bytes,
                          .expected_bytes = completion.expected_bytes,
                          .is_unconnected = completion.code == WEFT_BROKEN_MEMORY &&
                                            completion.peer != out_of_memory().rank};
    if (completion.token.run == offload_) {
        if (failure.code == WEFT_OK) return offload_->granted(completion.token.op);
        failures_.suspect(offload_->broken(completion.token.op), failure);
        return;
    }
    Run& run = *static_cast<Run*>(completion.token.run);
    if (!run.active_ || run.failure_.code != WEFT_OK) return;  // it has failed
    if (completion.code != WEFT_OK) {
        failures_.suspect(run.stream_->id().context(), failure);
        return;
    }
    Instance instance = completion.token.op;
    run.missing_[instance] = Run::completed_mark;
    if (instance < run.schedule_.ops().size()) {
        completed(run, instance, nullptr, 0);
        return;
    }
    RepeatState* state = repeat_at(run.repeats_, instance);
    const auto [op, iteration] = state->position(instance);
    completed(run, op, state, iteration);
}

void Executor::add_transport(Transport& transport) {
    transports_.reserve(transports_.size() + 1);
    sources_.reserve(transports_.size() + 1 + sources_more_max);
    transport.open_context(0);
    transport.buffer_unknown(expected_groups_ > 0);
    transports_.push_back(&transport);
    // Messages stay last: what they wait for comes from the transports.
    sources_.insert(sources_.end() - (polls_messages_ ? 1 : 0), &transport);
    some_are_eager_ |= !transport.abilities().knows_demand;
    has_cancellation_points_ |= transport.abilities().has_cancellation_points;
}

std::vector<Rank> Executor::reserve_numbers(std::size_t count) {
    std::vector<Rank> numbers;
    numbers.reserve(count);
    for (std::size_t number = job_ranks_; numbers.size() < count; ++number) {
        if (number == routes_.size()) routes_.push_back(nullptr);
        if (routes_[number] == nullptr) numbers.push_back(static_cast<Rank>(number));
    }
    failures_.make_room();
    return numbers;
}

void Executor::add_peer(Transport& transport, Rank number) {
    routes_[static_cast<std::size_t>(number)] = &transport;
    failures_.add_peer(number);
}

void Executor::remove_peer(Rank number) {
    routes_[static_cast<std::size_t>(number)] = nullptr;
    failures_.remove_peer(number);
}

void Executor::add_group(Group& group) {
    try {
        for (Transport* transport : transports_) {
            transport->dedicate(group.context, group.dedicated);
            transport->open_context(group.context);
        }
        failures_.add(group);
        group.is_eager = !std::ranges::all_of(
            group.members, [&](Rank member) { return knows_demand(route(member)); });
        group.is_attended =
            group.bridge != 0 || std::ranges::any_of(group.members, [&](Rank member) {
                return holds_up_senders(route(member));
            });
    } catch (const std::bad_alloc&) {
        remove_group(group);
        throw;
    }
}

void Executor::break_unmade(std::unique_ptr<FailureNotices::Telling> telling, const Group& group) {
    failures_.tell(std::move(telling), group.context, group.members,
                   FailureNotices::for_others(group, out_of_memory()));
    for (Transport* transport : transports_) transport->cancel_context(group.context);
}

void Executor::remove_group(Group& group) {
    failures_.remove(group);
    for (CompletionSource* source : sources_) source->close_context(group.context);
}

void Executor::expect_group() {
    try {
        if (expected_groups_ == 0) buffer_unknown(true);
    } catch (const std::bad_alloc&) {
        buffer_unknown(false);
        throw;
    }
    ++expected_groups_;
}

void Executor::group_decided() {
    if (--expected_groups_ == 0) buffer_unknown(false);
}

void Executor::buffer_unknown(bool keep) {
    failures_.buffer_unknown(keep);
    for (Transport* transport : transports_) transport->buffer_unknown(keep);
}

void Executor::break_group(Group& group, const Failure& failure) {
    failures_.break_group(group, failure);
}

// The group has broken.
void Executor::end_runs(Group& group) {
    for (CompletionSource* source : sources_) source->cancel_context(group.context);
    for (Run* run = first_active_; run;) {
        Run* next = run->next_active_;
        if (&run->stream_->group() == &group) {
            offered_.remove(*run);
            Run& carried_out = run->carried_out();
            run->failure_ = carried_out.failure_ = group.broken;
            for (FunctionCall& call : carried_out.function_calls_) {
                if (std::exchange(call.waits, false)) carried_out.function_host_->drop(call);
            }
            if (!carried_out.is_calling_) {
                ready_.remove(carried_out);
                stalled_.remove(carried_out);
                carried_out.queued_ = false;
            }
            end_when_called(carried_out);
        }
        run = next;
    }
}

}  // namespace weft
