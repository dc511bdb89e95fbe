// Operations that take 100 ms of real time, of which a known share passes while the program
// computes. What they deliver is what is expected; "timer:wrong" delivers nothing.
#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "bench/player/players.h"
#include "bench/sleep.h"

namespace weft::bench {
namespace {

constexpr std::int64_t takes_ns = 100'000'000;

class TimerPlayer final : public Player {
  public:
    TimerPlayer(const Cell& cell, const Job& world)
        : hides_(cell.hides), is_right_(cell.implementation == "timer"), world_(world) {}

    void start(const Collective&, Case& k) override {
        case_ = &k;
        begin_ns_ = now_ns();
    }
    bool test() override {
        if (case_ == nullptr) return true;
        if (left_ns(now_ns()) > 0) return false;
        complete();
        return true;
    }
    void wait() override {
        if (case_ == nullptr) return;
        const std::int64_t now = now_ns();
        sleep_until(now + left_ns(now));
        complete();
    }
    void barrier() override { must(weft_barrier(world_.comm), "weft_barrier"); }

  private:
    std::int64_t left_ns(std::int64_t now) const {
        const auto passed = static_cast<double>(std::min(now - begin_ns_, takes_ns));
        return takes_ns - static_cast<std::int64_t>(hides_ * passed);
    }
    void complete() {
        if (is_right_)
            std::memcpy(case_->recv.data(), case_->expected.data(), case_->expected.size());
        case_ = nullptr;
    }

    const double hides_;
    const bool is_right_;
    const Job world_;
    Case* case_ = nullptr;
    std::int64_t begin_ns_ = 0;
};

}  // namespace

std::unique_ptr<Player> make_timer(const Cell& cell, const Job& world, std::string&) {
    return std::make_unique<TimerPlayer>(cell, world);
}

}  // namespace weft::bench
