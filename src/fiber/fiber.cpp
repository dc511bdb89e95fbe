// The bodies of weft/fiber.hpp.
#include "weft/fiber.hpp"

#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include "fiber/scheduler.h"

namespace weft::fibers {
namespace {

Scheduler& scheduler_of_fiber(const char* function) {
    Scheduler* const scheduler = Scheduler::here();
    if (scheduler && scheduler->current_fiber()) return *scheduler;
    throw std::logic_error(std::string("weft::fibers::") + function +
                           " is called outside of fibers; expected weft::fibers::run around it");
}

}  // namespace

void detail::run(std::unique_ptr<Body> body, const Options& options) {
    if (Scheduler::here())
        throw std::logic_error(
            "weft::fibers::run is called inside of a fiber; expected weft::fibers::spawn");
    Scheduler().run(std::move(body), options);
}

detail::FiberRecord* detail::spawn(std::unique_ptr<Body> body, const Options& options) {
    return &scheduler_of_fiber("spawn").spawn(std::move(body), options);
}

void detail::join(FiberRecord*& handle) {
    if (!handle) throw std::logic_error("weft::fibers::Fiber::join: expected a joinable fiber");
    if (!handle->is_ended) scheduler_of_fiber("Fiber::join").check_may_wait();
    // The handle may move, or go, before the fiber has ended.
    FiberRecord& record = *std::exchange(handle, nullptr);
    if (!record.is_ended) Scheduler::here()->await_end(record);
    const std::exception_ptr error = std::move(record.error);
    Scheduler::release(record);
    if (error) std::rethrow_exception(error);
}

void detail::detach(FiberRecord* record) noexcept {
    const std::exception_ptr error = record->error;
    Scheduler::release(*record);
    if (error) std::rethrow_exception(error);
}

void detail::end(FiberRecord* record) noexcept { join(record); }

bool detail::begin_preemptible(const Preemption& how) {
    Scheduler* const scheduler = Scheduler::here();
    return scheduler && scheduler->begin_preemptible(how);
}

void detail::end_preemptible() noexcept { Scheduler::here()->end_preemptible(); }

void preempt_on_arrival() { scheduler_of_fiber("preempt_on_arrival").preempt_on_arrival(); }

void yield() noexcept {
    if (Scheduler* const scheduler = Scheduler::here()) scheduler->yield();
}

bool is_inside() noexcept {
    const Scheduler* const scheduler = Scheduler::here();
    return scheduler && scheduler->current_fiber();
}

Counts counts() noexcept {
    const Scheduler* const scheduler = Scheduler::here();
    return scheduler ? scheduler->counts() : Counts{};
}

}  // namespace weft::fibers
