#include "bench/fibers.h"

#include <stdexcept>

#ifdef WEFT_BENCH_HAS_FIBERS
#include "weft/fiber.hpp"
#endif

namespace weft::bench {

FiberWay fiber_way(const std::string& engine) {
    if (engine == "fiber") return {true, Preempts::nothing};
    if (engine == "fiber:timer") return {true, Preempts::timer};
    if (engine == "fiber:arrival") return {true, Preempts::arrival};
    return {};
}

std::string engine_of_way(const std::string& engine) {
    return fiber_way(engine).is_one ? "fiber" : engine;
}

#ifdef WEFT_BENCH_HAS_FIBERS

namespace {

fibers::Preemption preemption(Preempts preempts) {
    return {.slice_us = preempts == Preempts::timer ? fibers::Preemption{}.slice_us : 0};
}

class InFiber final : public ChainBcast {
  public:
    InFiber(Case& c, Preempts preempts) : case_(c), preempts_(preempts) {}

    void start() override {
        has_ended_ = false;
        must(ibcast_.start(case_, &request_), ibcast_.name);
        waits_ = fibers::spawn([this] {
            must(weft_wait(&request_), "weft_wait");
            has_ended_ = true;
        });
    }
    bool query() override {
        if (preempts_ == Preempts::nothing) fibers::yield();
        return has_ended_;
    }
    void compute(const std::function<void()>& loop) override {
        if (preempts_ == Preempts::nothing) {
            loop();
        } else {
            fibers::yield();  // the other one waits now
            fibers::preemptible(loop, preemption(preempts_));
        }
        waits_.join();
    }
    void surround(const std::function<void()>& body) override {
        fibers::run([&] {
            if (preempts_ == Preempts::arrival) fibers::preempt_on_arrival();
            body();
        });
    }

  private:
    const Collective& ibcast_ = **find_collective("ibcast");
    Case& case_;
    const Preempts preempts_;
    weft_request request_ = WEFT_REQUEST_NULL;
    fibers::Fiber waits_;
    volatile bool has_ended_ = false;
};

}  // namespace

std::string absence(const Job& job, const FiberWay& way) {
    if (!way.is_one || way.preempts == Preempts::nothing) return "";
#if defined(__SANITIZE_THREAD__)
    return "nothing can be preempted under ThreadSanitizer";
#endif
    if (way.preempts == Preempts::timer) return "";
    std::string why;
    fibers::run([&] {
        try {
            fibers::preempt_on_arrival();
        } catch (const std::logic_error& error) {
            why = error.what();
        }
    });
    for (const int is_absent : gather(job, std::vector<int>{!why.empty()}))
        if (is_absent && why.empty()) why = "another rank refuses it";
    return why;
}

std::unique_ptr<ChainBcast> bcast_in_fiber(Case& c, Preempts preempts) {
    return std::make_unique<InFiber>(c, preempts);
}

void compute_beside_wait(weft_request& request, Preempts preempts,
                         const std::function<void()>& computation) {
    fibers::run([&] {
        if (preempts == Preempts::arrival) fibers::preempt_on_arrival();
        fibers::Fiber waits = fibers::spawn([&] { must(weft_wait(&request), "weft_wait"); });
        fibers::yield();
        if (preempts == Preempts::nothing)
            computation();
        else
            fibers::preemptible(computation, preemption(preempts));
        waits.join();
    });
}

#else

std::string absence(const Job&, const FiberWay& way) {
    return way.is_one ? "this build has no fibers" : "";
}
std::unique_ptr<ChainBcast> bcast_in_fiber(Case&, Preempts) { return nullptr; }
void compute_beside_wait(weft_request&, Preempts, const std::function<void()>&) {}

#endif

}  // namespace weft::bench
