// Whether operations of one rank that may run at the same time conflict.
//
// The operations are visited in an order that respects their dependencies. Each byte has its last
// writer and the readers since; a new access must be ordered after them. That suffices: these were
// themselves ordered after all earlier accesses that conflict with them.
//
// A repeat is visited twice:
//   - from outside, as one step between its two joins that touches what all iterations touch
//   - from inside, alone, with its first 2 * window - 1 iterations. Iterations begin in order, and
//     at most `window` of them run at a time, so iterations a window or more apart are ordered. For
//     two closer ones, conflict and order depend only on their distance and on the scratch slot of
//     the earlier one: a path between them stays within the iterations from one to the other, and
//     regions of the caller's buffers shift together. All distances below `window` from all
//     `window` slots occur among these iterations. The last iteration is shorter and touches no
//     more.

#include <algorithm>

#include "schedule/check/order.h"
#include "schedule/check/parts.h"
#include "schedule/text.h"

namespace weft::checking {
namespace {

// The operation and iteration of a step.
struct Origin {
    OpId op = no_op;  // no_op: the beginning or the end of an iteration
    std::int64_t iteration = 0;
};

class Hazards {
  public:
    Hazards(const Schedule& schedule, Findings& findings)
        : schedule_(schedule), findings_(findings) {}

    // Operations outside repeats, and each repeat as one step.
    void check_outside() {
        Order order(schedule_.ops().size());
        auto step_of = [&](OpId id) {
            const Repeat* repeat = schedule_.repeat_of(id);
            return repeat ? repeat->first : id;
        };
        for (OpId id = 0; id < schedule_.ops().size(); ++id) {
            for (const Edge& edge : schedule_.after_completion(id)) {
                if (step_of(id) != step_of(edge.to)) order.add(step_of(id), step_of(edge.to));
            }
        }
        for (const Repeat& repeat : schedule_.repeats()) {
            order.add(repeat.entry, repeat.first);
            order.add(repeat.first, repeat.exit);
        }
        History history[3];
        for (Step step : order.sorted()) {
            const Repeat* repeat = schedule_.repeat_of(step);
            if (repeat && step != repeat->first) continue;
            const OpId end = repeat ? repeat->first + repeat->ops : step + 1;
            for (OpId id = step; id < end; ++id) {
                const Op& op = schedule_.ops()[id];
                if (!repeat) check_own_overlap(op, {id, 0});
                auto see = [&](const Access& access) {
                    visit(
                        step, access, order, history,
                        [](Step s) {
                            return Origin{s, 0};
                        },
                        id, 0);
                };
                for_each_access(op, [&](const Access& access) {
                    if (repeat) {
                        for_all_iterations(access, *repeat, see);
                    } else {
                        see(access);
                    }
                });
            }
        }
    }

    void check_inside(const Repeat& repeat) {
        const std::int64_t iterations =
            std::min<std::int64_t>(repeat.iterations, 2 * std::int64_t{repeat.window} - 1);
        const std::uint32_t stride = repeat.ops + 2;  // with its beginning and its end
        auto begin_of = [&](std::int64_t i) { return static_cast<Step>(i) * stride; };
        auto step_of = [&](OpId id, std::int64_t i) { return begin_of(i) + 1 + id - repeat.first; };
        auto end_of = [&](std::int64_t i) { return begin_of(i) + 1 + repeat.ops; };
        auto origin_of = [&](Step step) {
            const Step in_iteration = step % stride;
            if (in_iteration == 0 || in_iteration == stride - 1) return Origin{};
            return Origin{repeat.first + in_iteration - 1, step / stride};
        };

        Order order(static_cast<std::size_t>(iterations) * stride);
        for (std::int64_t i = 0; i < iterations; ++i) {
            if (i > 0) order.add(begin_of(i - 1), begin_of(i));
            if (i >= repeat.window) order.add(end_of(i - repeat.window), begin_of(i));
            for (OpId id = repeat.first; repeat.holds(id); ++id) {
                order.add(begin_of(i), step_of(id, i));
                order.add(step_of(id, i), end_of(i));
                for (const Edge& edge : schedule_.after_completion(id)) {
                    if (i + edge.distance >= iterations) continue;
                    order.add(step_of(id, i), step_of(edge.to, i + edge.distance));
                }
            }
        }
        History history[3];
        for (Step step : order.sorted()) {
            const Origin origin = origin_of(step);
            if (origin.op == no_op) continue;
            const Op op = shifted(schedule_.ops()[origin.op], repeat, origin.iteration);
            check_own_overlap(op, origin);
            for_each_access(op, [&](const Access& access) {
                visit(step, access, order, history, origin_of, origin.op, origin.iteration);
            });
        }
    }

  private:
    template <class F>
    static void for_each_access(const Op& op, F f) {
        if (op.bytes == 0) return;
        if (reads(op)) {
            f(Access{op.from_buffer, op.from_offset, op.from_offset + op.bytes, spoils(op)});
        }
        if (writes(op)) f(Access{op.into_buffer, op.into_offset, op.into_offset + op.bytes, true});
    }

    // The bytes that an access of the first iteration touches in all iterations, without the gaps.
    template <class F>
    static void for_all_iterations(Access access, const Repeat& repeat, F f) {
        const bool is_user = access.buffer != Buffer::scratch;
        const std::int64_t bytes = access.end - access.begin;
        const std::int64_t stride = is_user                                ? repeat.stride
                                    : access.begin >= repeat.scratch_begin ? repeat.scratch_stride
                                                                           : 0;
        const std::int64_t places = is_user ? repeat.iterations
                                    : stride > 0
                                        ? std::min<std::int64_t>(repeat.window, repeat.iterations)
                                        : 1;
        const std::int64_t last_end =
            access.end + (places - 1) * stride - (is_user ? repeat.short_bytes : 0);
        if (stride == bytes) {
            access.end = last_end;
            f(access);
            return;
        }
        for (std::int64_t i = 0; i < places; ++i) {
            Access one = access;
            one.begin += i * stride;
            one.end = i == places - 1 ? last_end : one.end + i * stride;
            if (one.begin < one.end) f(one);
        }
    }

    // The operands of a copy or a reduction must not overlap.
    void check_own_overlap(const Op& op, Origin origin) {
        if (!reads(op) || !writes(op) || op.bytes == 0) return;
        if (op.from_buffer != op.into_buffer) return;
        if (op.from_offset + op.bytes <= op.into_offset) return;
        if (op.into_offset + op.bytes <= op.from_offset) return;
        findings_.add(Flaw::hazard, name_of(schedule_, origin.op, origin.iteration) +
                                        " reads and writes the same bytes");
    }

    template <class OriginOf>
    void visit(Step step, const Access& access, Order& order, History (&history)[3],
               OriginOf origin_of, OpId op, std::int64_t iteration) {
        if (findings_.full()) return;
        History& touched = history[static_cast<std::size_t>(access.buffer)];
        const Step other = touched.access(step, access, order);
        if (other == no_step) return;
        const Origin origin = origin_of(other);
        const Repeat* repeat = schedule_.repeat_of(origin.op);
        const bool whole = repeat && !repeat->holds(op);
        findings_.add(Flaw::hazard,
                      (whole ? "the repeat that begins with " : "") +
                          name_of(schedule_, origin.op, origin.iteration) + " and " +
                          name_of(schedule_, op, iteration) +
                          " are not ordered, touch the same bytes of " +
                          to_text(Region{access.buffer, access.begin, access.end - access.begin}) +
                          ", and one writes them");
    }

    const Schedule& schedule_;
    Findings& findings_;
};

}  // namespace

void check_hazards(const Schedule& schedule, Findings& findings) {
    Hazards hazards(schedule, findings);
    hazards.check_outside();
    for (const Repeat& repeat : schedule.repeats()) hazards.check_inside(repeat);
}

}  // namespace weft::checking
