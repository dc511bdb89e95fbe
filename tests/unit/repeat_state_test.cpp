// Repeats run as if they were written out: random schedules, in random orders, as the checker plays
// them.
#include "base/random.h"
#include "schedule/builder.h"
#include "schedule/check/player.h"
#include "schedule/repeats.h"
#include "support/test.h"

namespace weft::repeat_state_test {

using Name = std::pair<OpId, std::int64_t>;  // an operation and its iteration

Schedule random_schedule(Prng& random) {
    ScheduleBuilder builder(0, 3);
    constexpr Region block = {Buffer::send, 0, 8};
    OpId last = builder.start();
    for (std::uint64_t repeats = 1 + random.below(2); repeats > 0; --repeats) {
        const auto iterations = static_cast<std::int64_t>(1 + random.below(20));
        const auto window = static_cast<std::uint32_t>(1 + random.below(4));
        builder.repeat_begin({.total_bytes = iterations * 8, .block_bytes = 8, .window = window},
                             {random.one_in(2) ? last : no_op});
        std::vector<OpId> inside;
        auto any = [&] { return inside.empty() ? no_op : inside[random.below(inside.size())]; };
        for (std::uint64_t ops = 1 + random.below(5); ops > 0; --ops) {
            const OpId after = random.one_in(2) ? any() : no_op;
            inside.push_back(
                random.one_in(2)
                    ? builder.send(block, static_cast<Rank>(1 + random.below(2)), {after})
                    : builder.copy(block, {Buffer::recv, 0, 8}, {after}));
        }
        for (std::uint64_t edges = window > 1 ? random.below(4) : 0; edges > 0; --edges) {
            const OpId before = any();
            builder.order(before, any(), static_cast<std::uint32_t>(1 + random.below(window - 1)));
        }
        last = builder.repeat_end();
    }
    return *builder.seal();
}

// What is ready in the schedule written out. Iterations begin in order.
class WrittenOut {
  public:
    explicit WrittenOut(const Schedule& schedule) : steps_(unroll(schedule)) {
        for (std::uint32_t s = 0; s < steps_.size(); ++s) {
            if (steps_[s].id != no_op) step_of_[name_of(s)] = s;
        }
        for (const Repeat& repeat : schedule.repeats()) {
            for (std::int64_t i = 1; i < repeat.iterations; ++i) {
                const std::uint32_t begin = step_of_[{repeat.first, i}] - 1;
                steps_[step_of_[{repeat.first, i - 1}] - 1].after_completion.push_back(begin);
                ++steps_[begin].in_degree;
            }
        }
        for (const Step& step : steps_) missing_.push_back(step.in_degree);
        for (std::uint32_t s = 0; s < steps_.size(); ++s) {
            if (steps_[s].in_degree == 0) reach(s);
        }
    }

    const std::set<Name>& ready() const { return ready_; }
    std::size_t executed() const { return executed_; }
    std::size_t operations() const { return step_of_.size(); }

    void execute(Name name) {
        ++executed_;
        ready_.erase(name);
        release_after(step_of_.at(name));
    }

  private:
    Name name_of(std::uint32_t step) const { return {steps_[step].id, steps_[step].iteration}; }

    // The beginning and the end of an iteration take no time.
    void reach(std::uint32_t step) {
        if (steps_[step].id == no_op) return release_after(step);
        ready_.insert(name_of(step));
    }

    void release_after(std::uint32_t step) {
        for (const auto* next : {&steps_[step].after_issue, &steps_[step].after_completion}) {
            for (std::uint32_t s : *next) {
                if (--missing_[s] == 0) reach(s);
            }
        }
    }

    std::vector<Step> steps_;
    std::vector<std::uint32_t> missing_;
    std::map<Name, std::uint32_t> step_of_;
    std::set<Name> ready_;
    std::size_t executed_ = 0;
};

void compare(Prng random) {
    const Schedule schedule = random_schedule(random);
    WrittenOut written_out(schedule);
    std::vector<checking::ReadyInstance> ready;
    checking::Player player(schedule, false, ready);
    auto name_of = [&](Instance instance) -> Name {
        const auto [op, iteration] = player.place(instance);
        return {op, iteration};
    };
    player.start();
    while (true) {
        std::set<Name> names;
        for (const auto& [rank, instance] : ready) names.insert(name_of(instance));
        ASSERT_EQ(names, written_out.ready());
        ASSERT_EQ(names.size(), ready.size());
        if (ready.empty()) break;
        std::swap(ready[random.below(ready.size())], ready.back());
        const Instance next = ready.back().instance;
        ready.pop_back();
        written_out.execute(name_of(next));
        player.issued(next);
        player.completed(next);
    }
    EXPECT_EQ(written_out.executed(), written_out.operations());
}

TEST(RepeatState, MakesReadyWhatIsReadyInTheScheduleWrittenOut) {
    for (std::uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        compare(Prng(seed));
    }
}

}  // namespace weft::repeat_state_test
