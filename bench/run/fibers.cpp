#include "bench/run/fibers.h"

#include <stdexcept>

#ifdef WEFT_BENCH_HAS_FIBERS
#include "weft/fiber.hpp"
#endif

namespace weft::bench {

#ifdef WEFT_BENCH_HAS_FIBERS

std::string fiber_absence(const Job& world, const Progress& progress) {
#if defined(__SANITIZE_THREAD__)
    if (progress.timer || progress.arrival) return "nothing can be preempted under ThreadSanitizer";
#endif
    std::string why;
    if (progress.arrival) {
        fibers::run([&] {
            try {
                fibers::preempt_on_arrival();
            } catch (const std::logic_error& error) {
                why = error.what();
            }
        });
    }
    return first_sentence(world, why);
}

void run_as_fiber(const Progress& progress, const std::function<void()>& body) {
    fibers::run([&] {
        if (progress.arrival) fibers::preempt_on_arrival();
        body();
    });
}

void compute_beside_wait(const Progress& progress, const std::function<void()>& wait,
                         const std::function<void()>& computation) {
    fibers::Fiber waits = fibers::spawn(wait);
    fibers::yield();
    if (progress.timer || progress.arrival) {
        const fibers::Preemption usual;
        fibers::preemptible(computation,
                            fibers::Preemption{.slice_us = progress.timer ? usual.slice_us : 0});
    } else {
        computation();
    }
    waits.join();
}

void yield_fiber() { fibers::yield(); }

#else

std::string fiber_absence(const Job&, const Progress&) { return "this build has no fibers"; }
void run_as_fiber(const Progress&, const std::function<void()>& body) { body(); }
void compute_beside_wait(const Progress&, const std::function<void()>& wait,
                         const std::function<void()>& computation) {
    computation();
    wait();
}
void yield_fiber() {}

#endif

}  // namespace weft::bench
