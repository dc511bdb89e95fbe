// Repeated blocks: how far a started schedule is in one of them, for the executor and the checker;
// and all of them written out, for tools, tests and the compiler of task lists.
//
// Executor and checker count predecessors down, in one array for all operations. Those of a repeat
// have a row of counters per iteration. Two windows of rows are enough: an edge may already count
// down an iteration up to window - 1 ahead of the newest (docs/decisions/0001-repeated-blocks.md).
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

// One execution of an operation, by its counter: outside repeats the operation's number; in a
// repeat a cell of its iteration's row.
using Instance = std::uint32_t;

class RepeatState {
  public:
    // Appends its rows to `missing`, the counters by instance.
    RepeatState(const Schedule& schedule, const Repeat& repeat,
                std::vector<std::uint32_t>& missing);

    const Repeat& repeat() const { return *repeat_; }
    Instance first_instance() const { return first_instance_; }
    std::int64_t begun() const { return begun_; }  // iterations

    // REQUIRES: the iteration is less than a window before or after the newest that has begun.
    Instance instance(OpId op, std::int64_t iteration) const {
        const auto row = static_cast<Instance>(row_of(iteration));
        return first_instance_ + row * repeat_->ops + (op - repeat_->first);
    }

    struct Position {
        OpId op;
        std::int64_t iteration;
    };
    Position position(Instance instance) const {
        const std::uint32_t cell = instance - first_instance_;
        return {repeat_->first + cell % repeat_->ops, rows_[cell / repeat_->ops].iteration};
    }

    // These call `release(instance)`, which counts down what that instance waits for.

    // Follows an edge from `iteration`.
    template <typename Release>
    void follow(Edge edge, std::int64_t iteration, Release release) const {
        iteration += edge.distance;
        if (iteration < repeat_->iterations) release(instance(edge.to, iteration));
    }

    // The repeat's entry has completed.
    template <typename Release>
    void begin(std::span<std::uint32_t> missing, Release release) {
        begun_ = completed_ = 0;
        for (std::int64_t i = 0; i < repeat_->window - 1; ++i) prepare(i, missing);
        begin_iterations(missing, release);
    }

    // An operation of `iteration` has completed.
    template <typename Release>
    void complete(std::int64_t iteration, std::span<std::uint32_t> missing, Release release) {
        if (--rows_[row_of(iteration)].left > 0) return;
        if (++completed_ == repeat_->iterations) return release(repeat_->exit);
        begin_iterations(missing, release);
    }

  private:
    struct Row {
        std::int64_t iteration = 0;
        std::uint32_t left = 0;  // operations not completed
    };

    std::size_t row_of(std::int64_t iteration) const {
        return static_cast<std::size_t>(iteration) % rows_.size();
    }

    void prepare(std::int64_t iteration, std::span<std::uint32_t> missing);

    // Begins iterations in order, as long as the one a window earlier has completed.
    template <typename Release>
    void begin_iterations(std::span<std::uint32_t> missing, Release release) {
        while (begun_ < repeat_->iterations) {
            const std::int64_t earlier = begun_ - repeat_->window;
            if (earlier >= 0 && rows_[row_of(earlier)].left > 0) return;
            prepare(begun_ + repeat_->window - 1, missing);
            const Instance first = instance(repeat_->first, begun_++);
            for (std::uint32_t i = 0; i < repeat_->ops; ++i) release(first + i);
        }
    }

    const Schedule* schedule_;
    const Repeat* repeat_;
    Instance first_instance_;
    std::int64_t begun_ = 0;
    std::int64_t completed_ = 0;
    std::vector<Row> rows_;
};

// The repeat that `instance` is in; null: none. `repeats`: a vector of RepeatState, const or not.
template <typename Repeats>
auto repeat_at(Repeats& repeats, Instance instance) -> decltype(repeats.data()) {
    for (std::size_t i = repeats.size(); i-- > 0;) {
        if (repeats[i].first_instance() <= instance) return &repeats[i];
    }
    return nullptr;
}

// One operation in one iteration; if id is no_op, the beginning or the end of an iteration.
struct Step {
    OpId id = no_op;
    std::int64_t iteration = 0;
    Op what = {};                 // as it runs in this iteration
    std::uint32_t in_degree = 0;  // edges of both kinds into this step
    std::vector<std::uint32_t> after_completion =
        {};  // numbers of steps, as Schedule::after_completion
    std::vector<std::uint32_t> after_issue = {};
};

// All steps of a schedule. They are numbered in schedule order: the operations before a repeat, its
// iterations one after the other, then the operations after it.
std::vector<Step> unroll(const Schedule& schedule);

}  // namespace weft
