// The steps of one rank: which wait for which, and which have touched which bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace weft::checking {

using Step = std::uint32_t;
inline constexpr Step no_step = 0xffffffffu;

struct Access {
    Buffer buffer;
    std::int64_t begin;
    std::int64_t end;
    bool writes;
};

// Which step waits for the completion of which.
class Order {
  public:
    explicit Order(std::size_t steps) : first_(steps, no_edge), seen_(steps, 0) {}

    void add(Step before, Step after) {
        edges_.push_back({before, first_[after]});
        first_[after] = static_cast<std::uint32_t>(edges_.size()) - 1;
    }

    // All steps, each after those it waits for.
    std::vector<Step> sorted() const {
        enum : std::uint8_t { fresh, open, done };
        std::vector<std::uint8_t> state(first_.size(), fresh);
        std::vector<Step> order;
        std::vector<Step> stack;
        order.reserve(first_.size());
        for (Step root = 0; root < first_.size(); ++root) {
            if (state[root] == fresh) stack.push_back(root);
            while (!stack.empty()) {
                const Step step = stack.back();
                if (state[step] == fresh) {
                    state[step] = open;
                    for (std::uint32_t e = first_[step]; e != no_edge; e = edges_[e].next) {
                        if (state[edges_[e].before] == fresh) stack.push_back(edges_[e].before);
                    }
                    continue;
                }
                stack.pop_back();
                if (state[step] == open) order.push_back(step);
                state[step] = done;
            }
        }
        return order;
    }

    // Whether `after` waits for `before`. Walks back from `after` only as far as needed, and
    // continues from there when asked about the same step again.
    bool is_ordered(Step before, Step after) {
        if (walked_ != after) {
            walked_ = after;
            ++walk_;
            found_.assign(1, after);
            at_ = 0;
        }
        while (seen_[before] != walk_ && at_ < found_.size()) {
            for (std::uint32_t e = first_[found_[at_++]]; e != no_edge; e = edges_[e].next) {
                if (seen_[edges_[e].before] == walk_) continue;
                seen_[edges_[e].before] = walk_;
                found_.push_back(edges_[e].before);
            }
        }
        return seen_[before] == walk_;
    }

  private:
    static constexpr std::uint32_t no_edge = 0xffffffffu;

    struct Incoming {
        Step before;
        std::uint32_t next;
    };

    std::vector<Incoming> edges_;
    std::vector<std::uint32_t> first_;  // by step: the first edge into it
    std::vector<std::uint32_t> seen_;   // by step: the last walk that passed it
    std::vector<Step> found_;
    std::size_t at_ = 0;  // in found_: the first whose predecessors have not been visited
    std::uint32_t walk_ = 0;
    Step walked_ = no_step;
};

// Which steps have touched the bytes of one buffer.
class History {
  public:
    // Returns the first earlier step that conflicts with this access and is not ordered before it.
    Step access(Step step, const Access& access, Order& order) {
        const std::size_t first = split(access.begin);
        const std::size_t last = split(access.end);
        for (std::size_t i = first; i < last; ++i) {
            Interval& cell = cells_[i];
            if (is_free(cell.writer, step, order)) return cell.writer;
            if (access.writes) {
                for (std::uint32_t r = cell.readers; r != none; r = readers_[r].next) {
                    if (is_free(readers_[r].step, step, order)) return readers_[r].step;
                }
            } else if (cell.readers == none || readers_[cell.readers].step != step) {
                readers_.push_back({step, cell.readers});
                cell.readers = static_cast<std::uint32_t>(readers_.size()) - 1;
            }
        }
        if (access.writes) {
            cells_[first] = {access.begin, step, none};
            cells_.erase(cells_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                         cells_.begin() + static_cast<std::ptrdiff_t>(last));
        }
        return no_step;
    }

  private:
    static constexpr std::uint32_t none = 0xffffffffu;

    // Ends where the next begins. Lists of readers share their tails.
    struct Interval {
        std::int64_t begin;
        Step writer;
        std::uint32_t readers;
    };
    struct Reader {
        Step step;
        std::uint32_t next;
    };

    static bool is_free(Step earlier, Step step, Order& order) {
        return earlier != no_step && earlier != step && !order.is_ordered(earlier, step);
    }

    // Makes a cell begin at `position`, and returns its index.
    std::size_t split(std::int64_t position) {
        auto next =
            std::lower_bound(cells_.begin(), cells_.end(), position,
                             [](const Interval& c, std::int64_t at) { return c.begin < at; });
        const auto index = static_cast<std::size_t>(next - cells_.begin());
        if (next != cells_.end() && next->begin == position) return index;
        Interval cell = cells_[index - 1];
        cell.begin = position;
        cells_.insert(next, cell);
        return index;
    }

    std::vector<Interval> cells_{{0, no_step, none}};
    std::vector<Reader> readers_;
};

}  // namespace weft::checking
