#include "schedule/repeats.h"

#include <algorithm>

namespace weft {

RepeatState::RepeatState(const Schedule& schedule, const Repeat& repeat,
                         std::vector<std::uint32_t>& missing)
    : schedule_(&schedule),
      repeat_(&repeat),
      first_instance_(static_cast<Instance>(missing.size())),
      rows_(static_cast<std::size_t>(
          std::min<std::int64_t>(repeat.iterations, 2 * std::int64_t{repeat.window}))) {
    missing.resize(missing.size() + rows_.size() * repeat.ops);
}

// Sets an iteration's counters: its predecessors, plus one until it begins.
void RepeatState::prepare(std::int64_t iteration, std::span<std::uint32_t> missing) {
    if (iteration >= repeat_->iterations) return;
    rows_[row_of(iteration)] = {iteration, repeat_->ops};
    const auto row = missing.subspan(instance(repeat_->first, iteration), repeat_->ops);
    for (std::uint32_t i = 0; i < repeat_->ops; ++i) {
        row[i] = schedule_->in_degree()[repeat_->first + i] + 1;
    }
    if (iteration >= repeat_->window) return;
    // The first iterations have no predecessors in earlier ones.
    auto discount = [&](Edge edge) {
        if (edge.distance > iteration) --row[edge.to - repeat_->first];
    };
    for (OpId op = repeat_->first; repeat_->holds(op); ++op) {
        for (Edge edge : schedule_->after_completion(op)) discount(edge);
        const Edge issue = schedule_->after_issue(op);
        if (issue.to != Schedule::no_issue) discount(issue);
    }
}

namespace {

class Unroller {
  public:
    explicit Unroller(const Schedule& schedule) : schedule_(schedule) {}

    std::vector<Step> unroll() {
        number();
        for (OpId id = 0; id < schedule_.ops().size(); ++id) {
            const Repeat* repeat = schedule_.repeat_of(id);
            std::int64_t iterations = repeat ? repeat->iterations : 1;
            for (std::int64_t i = 0; i < iterations; ++i) connect(id, i, iterations);
        }
        for (const Repeat& repeat : schedule_.repeats()) connect_iterations(repeat);
        return std::move(steps_);
    }

  private:
    // An iteration is its beginning, its operations and its end.
    static std::uint32_t stride(const Repeat& repeat) { return repeat.ops + 2; }

    void number() {
        first_.resize(schedule_.ops().size());
        for (OpId id = 0; id < first_.size(); ++id) {
            const Repeat* repeat = schedule_.repeat_of(id);
            if (!repeat) {
                first_[id] = static_cast<std::uint32_t>(steps_.size());
                steps_.push_back({.id = id, .what = schedule_.at(id, 0)});
            } else if (id == repeat->first) {
                write_out(*repeat);
            }
        }
    }

    void write_out(const Repeat& repeat) {
        for (OpId id = repeat.first; repeat.holds(id); ++id) {
            first_[id] = static_cast<std::uint32_t>(steps_.size()) + 1 + (id - repeat.first);
        }
        for (std::int64_t i = 0; i < repeat.iterations; ++i) {
            steps_.push_back({.iteration = i});
            for (OpId id = repeat.first; repeat.holds(id); ++id) {
                steps_.push_back({.id = id, .iteration = i, .what = schedule_.at(id, i)});
            }
            steps_.push_back({.iteration = i});
        }
    }

    std::uint32_t step_of(OpId id, std::int64_t iteration) const {
        const Repeat* repeat = schedule_.repeat_of(id);
        return repeat ? first_[id] + static_cast<std::uint32_t>(iteration) * stride(*repeat)
                      : first_[id];
    }
    std::uint32_t begin_of(const Repeat& repeat, std::int64_t iteration) const {
        return step_of(repeat.first, iteration) - 1;
    }
    std::uint32_t end_of(const Repeat& repeat, std::int64_t iteration) const {
        return step_of(repeat.first, iteration) + repeat.ops;
    }

    void complete_before(std::uint32_t before, std::uint32_t after) {
        steps_[before].after_completion.push_back(after);
        ++steps_[after].in_degree;
    }

    void connect(OpId id, std::int64_t iteration, std::int64_t iterations) {
        std::uint32_t from = step_of(id, iteration);
        for (const Edge& edge : schedule_.after_completion(id)) {
            if (iteration + edge.distance >= iterations) continue;
            complete_before(from, step_of(edge.to, iteration + edge.distance));
        }
        Edge issue = schedule_.after_issue(id);
        if (issue.to == Schedule::no_issue || iteration + issue.distance >= iterations) return;
        std::uint32_t to = step_of(issue.to, iteration + issue.distance);
        steps_[from].after_issue.push_back(to);
        ++steps_[to].in_degree;
    }

    void connect_iterations(const Repeat& repeat) {
        for (std::int64_t i = 0; i < repeat.iterations; ++i) {
            std::uint32_t begin = begin_of(repeat, i);
            std::uint32_t end = end_of(repeat, i);
            complete_before(
                i < repeat.window ? step_of(repeat.entry, 0) : end_of(repeat, i - repeat.window),
                begin);
            for (std::uint32_t step = begin + 1; step < end; ++step) {
                complete_before(begin, step);
                complete_before(step, end);
            }
            complete_before(end, step_of(repeat.exit, 0));
        }
    }

    const Schedule& schedule_;
    std::vector<Step> steps_;
    std::vector<std::uint32_t> first_;  // by operation: its step (in a repeat: in iteration 0)
};

}  // namespace

std::vector<Step> unroll(const Schedule& schedule) { return Unroller(schedule).unroll(); }

}  // namespace weft
