// A fiber waits for the broadcast while another one computes and yields.
#include "bench/pipeline/ways.h"

#ifdef WEFT_BENCH_HAS_FIBERS
#include "weft/fiber.hpp"

namespace weft::bench {
namespace {

class InFiber final : public ChainBcast {
  public:
    explicit InFiber(Case& c) : case_(c) {}

    void start() override {
        has_ended_ = false;
        must(ibcast_.start(case_, &request_), ibcast_.name);
        waits_ = fibers::spawn([this] {
            must(weft_wait(&request_), "weft_wait");
            has_ended_ = true;
        });
    }
    bool query() override {
        fibers::yield();
        if (!has_ended_) return false;
        waits_.join();
        return true;
    }
    void surround(const std::function<void()>& body) override { fibers::run(body); }

  private:
    const Collective& ibcast_ = **find_collective("ibcast");
    Case& case_;
    weft_request request_ = WEFT_REQUEST_NULL;
    fibers::Fiber waits_;
    bool has_ended_ = false;
};

}  // namespace

std::unique_ptr<ChainBcast> bcast_in_fiber(Case& c) { return std::make_unique<InFiber>(c); }
bool has_fibers() { return true; }

}  // namespace weft::bench

#else

namespace weft::bench {

std::unique_ptr<ChainBcast> bcast_in_fiber(Case&) { return nullptr; }
bool has_fibers() { return false; }

}  // namespace weft::bench

#endif
