#include "fiber/scheduler.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

// Declared by no header in full: cxxabi.h only names the type.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace weft::fibers {

using boost::context::detail::transfer_t;
using detail::FiberRecord;

namespace {

constinit thread_local Scheduler* of_this_thread __attribute__((tls_model("initial-exec"))) =
    nullptr;

FiberRecord::Exceptions* exceptions_here() {
    return reinterpret_cast<FiberRecord::Exceptions*>(__cxxabiv1::__cxa_get_globals());
}

}  // namespace

Scheduler* Scheduler::here() { return of_this_thread; }

// --- Queues --------------------------------------------------------------------------------------

void Scheduler::Queue::append(FiberRecord& record) {
    record.next = nullptr;
    (last ? last->next : first) = &record;
    last = &record;
}

FiberRecord* Scheduler::Queue::pop() {
    FiberRecord* const record = first;
    if (!record) return nullptr;
    first = record->next;
    if (!first) last = nullptr;
    return record;
}

// --- Begin and end -------------------------------------------------------------------------------

Scheduler::Scheduler() : exceptions_(exceptions_here()) {
    calls_.current = [](void* self) -> void* {
        return static_cast<Scheduler*>(self)->current_fiber();
    };
    calls_.suspend = [](void* self) { static_cast<Scheduler*>(self)->wait_for_turn(); };
    calls_.resume = [](void* self, void* thread) {
        static_cast<Scheduler*>(self)->arrived_.append(*static_cast<FiberRecord*>(thread));
    };
    calls_.yield = [](void* self) { static_cast<Scheduler*>(self)->yield(); };
    calls_.spawn = [](void* self, void (*function)(void*), void* argument) {
        return static_cast<Scheduler*>(self)->spawn_function(function, argument);
    };
    calls_.state = this;
#if defined(__SANITIZE_THREAD__)
    root_.tsan_fiber = __tsan_get_current_fiber();
#endif
    if (weft_scheduler_attach(&calls_) != WEFT_OK) throw std::logic_error(weft_last_detail());
    of_this_thread = this;
}

Scheduler::~Scheduler() {
    if (has_arrivals_) weft_scheduler_signal(0);
    of_this_thread = nullptr;
    weft_scheduler_detach();
    while (FiberRecord* const record = ended_functions_.pop()) delete record;
}

void Scheduler::run(std::unique_ptr<detail::Body> body, const Options& options) {
    function_stack_bytes_ = options.stack_bytes;
    FiberRecord& first = spawn(std::move(body), options);
    run_all();
    const std::exception_ptr error = first.error;
    release(first);
    if (error) std::rethrow_exception(error);
}

void Scheduler::run_all() {
    while (alive_ > 0) {
        FiberRecord& next = take_next();
        if (&next != &root_) {
            switch_to(next);
            continue;
        }
        ++counts_.sleeps;
        if (weft_scheduler_sleep() == WEFT_OK) continue;
        std::fprintf(stderr,
                     "weft: %llu fibers wait for one another, and none for an operation; expected "
                     "one that can go on\n",
                     static_cast<unsigned long long>(alive_));
        std::abort();
    }
}

FiberRecord& Scheduler::spawn(std::unique_ptr<detail::Body> body, const Options& options) {
    auto record = std::make_unique<FiberRecord>();
    make_ready(*record, options.stack_bytes);
    record->body = std::move(body);
    record->has_handle = true;
    ready_.append(*record);
    return *record.release();
}

// Called by Weft. 0: there is no memory.
int Scheduler::spawn_function(void (*function)(void*), void* argument) {
    std::unique_ptr<FiberRecord> record(ended_functions_.pop());
    try {
        if (!record) record = std::make_unique<FiberRecord>();
        make_ready(*record, function_stack_bytes_);
    } catch (const std::bad_alloc&) {
        return 0;
    }
    record->function = function;
    record->argument = argument;
    arrived_.append(*record.release());
    return 1;
}

void Scheduler::make_ready(FiberRecord& record, std::size_t stack_bytes) {
    record.stack = stacks_.take(stack_bytes);
    record.asan_bottom = record.stack.bottom();
    record.asan_bytes = static_cast<std::size_t>(record.stack.top() - record.stack.bottom());
#if defined(__SANITIZE_THREAD__)
    record.tsan_fiber = __tsan_create_fiber(0);
#endif
    record.context =
        boost::context::detail::make_fcontext(record.stack.top(), record.asan_bytes, enter);
    ++alive_;
    ++counts_.spawned;
}

// The first function on a fiber's stack.
void Scheduler::enter(transfer_t from) {
    Scheduler& self = *here();
    self.arrive(from);
    FiberRecord& record = *self.current_;
    try {
        if (record.function) record.function(record.argument);
        if (record.body) record.body->call();
        record.body.reset();
    } catch (abi::__forced_unwind&) {
        // The other fibers live in this thread.
        std::fprintf(stderr,
                     "weft: a fiber has ended its thread (pthread_exit); expected a return\n");
        std::abort();
    } catch (...) {
        record.error = std::current_exception();
        record.body.reset();
    }
    self.end_current();
}

void Scheduler::end_current() noexcept {
    FiberRecord& record = *current_;
    if (record.error && !record.has_handle) std::rethrow_exception(record.error);
    record.is_ended = true;
    --alive_;
    if (record.joiner) ready_.append(*record.joiner);
    switch_to(take_next());
    std::abort();  // who has ended is not switched to
}

void Scheduler::release(FiberRecord& record) {
    record.has_handle = false;
    if (record.is_ended) delete &record;
}

// --- Switching -----------------------------------------------------------------------------------

// The only place where the stack changes.
void Scheduler::switch_to(FiberRecord& next) {
    FiberRecord& left = *current_;
    std::memcpy(&left.exceptions, exceptions_, sizeof left.exceptions);
    current_ = &next;
    ++counts_.switches;
    OverflowWatch::watch(&next == &root_ ? nullptr : &next.stack);
#if defined(__SANITIZE_ADDRESS__)
    // A fiber that has ended gives its fake stack back.
    __sanitizer_start_switch_fiber(left.is_ended ? nullptr : &left.fake_stack, next.asan_bottom,
                                   next.asan_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(next.tsan_fiber, 0);
#endif
    arrive(boost::context::detail::jump_fcontext(next.context, &left));
}

// On the new stack.
void Scheduler::arrive(transfer_t from) {
    FiberRecord& left = *static_cast<FiberRecord*>(from.data);
    left.context = from.fctx;
#if defined(__SANITIZE_ADDRESS__)
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(current_->fake_stack, &bottom, &bytes);
    if (&left == &root_) {
        root_.asan_bottom = bottom;
        root_.asan_bytes = bytes;
    }
#endif
    std::memcpy(exceptions_, &current_->exceptions, sizeof current_->exceptions);
    if (!left.is_ended) return;
    stacks_.give_back(std::move(left.stack));
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(left.tsan_fiber);
#endif
    if (left.function) {
        left = FiberRecord();
        ended_functions_.append(left);
    } else if (!left.has_handle) {
        delete &left;
    }
}

FiberRecord& Scheduler::take_next() {
    // If none is ready, the root looks.
    if (ready_.first) weft_scheduler_poll();
    if (FiberRecord* const record = arrived_.pop()) return *record;
    if (FiberRecord* const record = ready_.pop()) return *record;
    return root_;
}

// The current fiber waits; who ends the wait puts it into a queue.
void Scheduler::wait_for_turn() {
    refuse_while_preemptible();
    FiberRecord& next = take_next();
    if (&next != current_) switch_to(next);
}

void Scheduler::check_may_wait() {
    if (weft_scheduler_poll() < 0) throw std::logic_error(weft_last_detail());
}

void Scheduler::await_end(FiberRecord& record) {
    while (!record.is_ended) {
        record.joiner = current_;
        wait_for_turn();
    }
}

void Scheduler::yield() {
    // In functions that Weft calls it is refused.
    refuse_while_preemptible();
    if (!current_fiber() || weft_scheduler_poll() < 0) return;
    FiberRecord* next = arrived_.pop();
    if (!next) next = ready_.pop();
    if (!next) return;
    ready_.append(*current_);
    switch_to(*next);
}

// --- Preemption ----------------------------------------------------------------------------------

bool Scheduler::on_signal(ucontext_t& interrupted) {
    Scheduler* const scheduler = here();
    if (!scheduler || !scheduler->current_->is_preemptible) return false;
    scheduler->preempt(interrupted);
    return true;
}

bool Scheduler::begin_preemptible(const Preemption& how) {
#if defined(__SANITIZE_THREAD__)
    // It puts signals off until the program's next call, which may hold a lock.
    static_cast<void>(how);
    return false;
#else
    FiberRecord* const fiber = current_fiber();
    if (!fiber || fiber->is_preemptible || weft_scheduler_poll() < 0) return false;
    // No signal comes for what this thread's own calls have finished.
    while (has_arrivals_ && weft_scheduler_look() == WEFT_OK && arrived_.first) yield();
    const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
    const auto room = static_cast<std::size_t>(here - fiber->stack.bottom());
    if (room < Preemptor::stack_bytes())
        throw std::logic_error("weft::fibers::preemptible: " + std::to_string(room) +
                               " bytes are left on the fiber's stack; expected at least " +
                               std::to_string(Preemptor::stack_bytes()));
    preemptor_.prepare(on_signal);
    fiber->is_preemptible = true;
    fiber->slice_ns = std::int64_t{how.slice_us} * 1000;
    preemptor_.begin_region(fiber->slice_ns);
    return true;
#endif
}

void Scheduler::end_preemptible() {
    preemptor_.end_region();
    current_->is_preemptible = false;
}

void Scheduler::preempt_on_arrival() {
    preemptor_.prepare(on_signal);
    if (weft_scheduler_signal(Preemptor::signal) != WEFT_OK)
        throw std::logic_error(weft_last_detail());
    has_arrivals_ = true;
}

void Scheduler::preempt(ucontext_t& interrupted) {
    FiberRecord& fiber = *current_;
    const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
    const bool is_on_its_stack = here >= fiber.stack.bottom() && here < fiber.stack.top();
    if (!is_on_its_stack || !preemptor_.interrupts_region(interrupted)) return preemptor_.retry();
    fiber.is_preemptible = false;
    ++counts_.interruptions;
    const bool is_slice_over = preemptor_.is_slice_over();
    if (fiber.slice_ns == 0 || is_slice_over)
        preemptor_.begin_slice(fiber.slice_ns);
    else
        preemptor_.end_retry();
    const auto look = [this] {
        const std::int64_t begin_ns = Preemptor::now_ns();
        weft_scheduler_look();
        preemptor_.retry_after_long_look(begin_ns);
    };
    look();
    FiberRecord* next = arrived_.pop();
    if (!next && is_slice_over) next = ready_.pop();
    while (next) {
        ++counts_.preemptions;
        preemptor_.pause();
        ready_.append(fiber);
        switch_to(*next);
        preemptor_.keep_mask(interrupted);
        preemptor_.begin_slice(fiber.slice_ns);  // the others may have stopped the timer
        if (!has_arrivals_) break;
        // No signal comes for what the others' calls have finished.
        look();
        next = arrived_.pop();
    }
    fiber.is_preemptible = true;
}

// The signal may come while it computes: then a call could be in between anything.
void Scheduler::refuse_while_preemptible() const {
    if (!current_->is_preemptible) [[likely]]
        return;
    std::fprintf(stderr,
                 "weft: a preemptible computation waits or yields; expected that it calls nothing "
                 "of Weft\n");
    std::abort();
}

}  // namespace weft::fibers
