// The exact times of all operations of all ranks in LogGP, by a plain evaluation of their graph. It
// is slow, and the reference for the simulator, with which it shares no code.
//
// An operation becomes activities, each of which occupies a resource of a rank for a while, and
// starts others some time after it was asked for, after its begin or after its end. A resource
// takes activities in the order in which they ask.
//   send     CPU o + (s-1)O; sending side g + (s-1)G; L after its begin, the receiver's receiving side g + (s-1)G
//   receive  CPU o + (s-1)O, when it is posted and, (s-1)G after the begin of its receiving side, the message has come
//   others   CPU: the bytes by gamma, or by copy; a join needs no resource
// A message of more than S bytes comes after a question to the receiver and, once the receive is
// posted, an answer; both are empty messages. s-1 stands for 0 if a message is empty.
//
// Where g is 0, a message may come at the same time as the one before it on its lane. Here it may
// then come first; the simulator keeps their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/loggp.h"
#include "schedule/repeats.h"
#include "schedule/schedule.h"

namespace weft::model {

struct ExactTimes {
    struct OperationTimes {
        std::int64_t start_ps = -1;  // all that it waits for is over; -1: never
        std::int64_t end_ps = -1;
    };
    enum class Resource : std::uint8_t { cpu, sending, receiving };
    struct Use {
        Resource resource;
        std::int64_t begin_ps;
        std::int64_t end_ps;
    };
    std::uint64_t events = 0;  // operations other than joins, and messages
    std::vector<std::vector<OperationTimes>>
        operations;                      // by rank: its schedule's steps (unroll())
    std::vector<std::vector<Use>> uses;  // by rank, those that take no time left out
    std::vector<std::int64_t> end_ps;    // by rank
    std::vector<std::int64_t> cpu_ps;    // by rank: how long its CPU is busy
};

class Evaluation {
  public:
    Evaluation(std::span<const Schedule> schedules, const LogGpParameters& p)
        : p_(p), free_ps_(schedules.size(), std::vector<std::int64_t>(3)) {
        times_.uses.resize(schedules.size());
        times_.end_ps.resize(schedules.size());
        times_.cpu_ps.resize(schedules.size());
        for (const Schedule& schedule : schedules) add(schedule);
        for (auto& [lane, messages] : lanes_) add_messages(lane, messages);
    }

    Result<ExactTimes> evaluate() {
        for (const Lane& lane : lanes_) {
            if (lane.second.sends.size() != lane.second.recvs.size())
                return failure(WEFT_REFUSED_ARGUMENT,
                               "rank %zu sends %zu messages to rank %zu, which receives %zu",
                               lane.first.first, lane.second.sends.size(), lane.first.second,
                               lane.second.recvs.size());
        }
        // Ranks begin one after another.
        for (std::size_t rank = 0; rank < times_.operations.size(); ++rank) {
            for (std::size_t a = 0; a < activities_.size(); ++a) {
                const Activity& activity = activities_[a];
                if (activity.rank == rank && activity.starts != none && activity.missing == 0)
                    turns_.push_back(a);
            }
            take_turns();
        }
        while (!later_.empty()) {
            std::size_t first = 0;
            for (std::size_t i = 1; i < later_.size(); ++i) {
                if (later_[i].first < later_[first].first) first = i;
            }
            const auto [time_ps, activity] = later_[first];
            later_.erase(later_.begin() + static_cast<std::ptrdiff_t>(first));
            now_ps_ = time_ps;
            one_less(activity);
            take_turns();
        }
        for (std::size_t r = 0; r < times_.operations.size(); ++r) {
            for (const ExactTimes::OperationTimes& operation : times_.operations[r]) {
                if (operation.end_ps < 0)
                    return failure(WEFT_REFUSED_ARGUMENT, "rank %zu waits for ever", r);
            }
        }
        return std::move(times_);
    }

  private:
    using Resource = ExactTimes::Resource;
    enum class Since : std::uint8_t { asked, begin, end };

    struct Then {
        std::size_t activity;
        Since since;
        std::int64_t lag_ps = 0;
    };

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    struct Activity {
        std::size_t rank = 0;
        bool has_resource = false;
        Resource resource = Resource::cpu;
        std::int64_t hold_ps = 0;
        std::size_t missing = 0;  // of those that start it
        std::vector<Then> then = {};
        std::size_t starts =
            none;  // an operation of the rank; it waits its turn among those that start at that time
        std::size_t ends = none;  // an operation of the rank
        // A message asks for the sending side together with the CPU, so that it keeps its place in
        // both.
        std::size_t interface = none;
    };

    struct MessageEnd {
        std::size_t start;  // the activity that posts it
        std::size_t over;   // the activity with which it ends
        std::int64_t bytes;
    };
    struct Messages {
        std::vector<MessageEnd> sends;
        std::vector<MessageEnd> recvs;
    };
    using Lane = std::pair<const std::pair<std::size_t, std::size_t>, Messages>;

    static std::int64_t after_first(std::int64_t bytes) { return bytes > 0 ? bytes - 1 : 0; }
    std::int64_t overhead(std::int64_t bytes) const {
        return p_.overhead_ps + after_first(bytes) * p_.byte_overhead_ps;
    }
    std::int64_t gap(std::int64_t bytes) const {
        return p_.gap_ps + after_first(bytes) * p_.byte_gap_ps;
    }

    std::size_t add(const Activity& activity) {
        activities_.push_back(activity);
        return activities_.size() - 1;
    }
    std::size_t add(std::size_t rank, Resource resource, std::int64_t hold_ps) {
        return add({rank, /*has_resource=*/true, resource, hold_ps});
    }
    void follow(std::size_t before, Since since, std::int64_t lag_ps, std::size_t after) {
        activities_[before].then.push_back({after, since, lag_ps});
        ++activities_[after].missing;
    }

    // The operations of the next rank; messages are connected later.
    void add(const Schedule& schedule) {
        const std::size_t rank = times_.operations.size();
        const std::vector<Step> steps = unroll(schedule);
        times_.operations.emplace_back(steps.size());
        const std::size_t first = activities_.size();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            add({.rank = rank, .starts = i});
            add({.rank = rank, .ends = i});
        }
        const auto start_of = [&](std::size_t step) { return first + 2 * step; };
        const auto over_of = [&](std::size_t step) { return first + 2 * step + 1; };
        for (std::size_t i = 0; i < steps.size(); ++i) {
            for (const std::uint32_t after : steps[i].after_issue)
                follow(start_of(i), Since::asked, 0, start_of(after));
            for (const std::uint32_t after : steps[i].after_completion)
                follow(over_of(i), Since::asked, 0, start_of(after));
            const Op& op = steps[i].what;
            const bool is_join = steps[i].id == no_op || op.kind == OpKind::join;
            if (!is_join) ++times_.events;
            const auto peer = static_cast<std::size_t>(op.peer);
            const MessageEnd end{start_of(i), over_of(i), op.bytes};
            if (is_join) {
                follow(start_of(i), Since::asked, 0, over_of(i));
            } else if (op.kind == OpKind::send) {
                ++times_.events;
                lanes_[{rank, peer}].sends.push_back(end);
            } else if (op.kind == OpKind::recv) {
                lanes_[{peer, rank}].recvs.push_back(end);
            } else {
                const std::int64_t byte_ps = op.reduces() ? p_.byte_reduction_ps : p_.byte_copy_ps;
                const std::size_t cpu = add(rank, Resource::cpu, op.bytes * byte_ps);
                follow(start_of(i), Since::asked, 0, cpu);
                follow(cpu, Since::end, 0, over_of(i));
            }
        }
    }

    // The receiving side's activity of a message that the activity `cpu` of `from` hands to the
    // interface.
    std::size_t add_way(std::size_t cpu, std::size_t from, std::size_t to, std::int64_t bytes) {
        const std::size_t sending = add(from, Resource::sending, gap(bytes));
        activities_[cpu].interface = sending;
        const std::size_t receiving = add(to, Resource::receiving, gap(bytes));
        follow(sending, Since::begin, p_.latency_ps, receiving);
        return receiving;
    }

    void add_messages(const std::pair<std::size_t, std::size_t>& lane, const Messages& messages) {
        const auto [from, to] = lane;
        for (std::size_t i = 0; i < std::min(messages.sends.size(), messages.recvs.size()); ++i)
            add_message(from, to, messages.sends[i], messages.recvs[i]);
    }

    void add_message(std::size_t from, std::size_t to, const MessageEnd& send,
                     const MessageEnd& recv) {
        const std::int64_t bytes = send.bytes;
        const std::int64_t streaming_ps = after_first(bytes) * p_.byte_gap_ps;
        std::size_t data = add(from, Resource::cpu, overhead(bytes));
        const std::size_t taken = add(to, Resource::cpu, overhead(bytes));
        if (bytes <= p_.eager_bytes_max) {
            follow(send.start, Since::asked, 0, data);
            follow(data, Since::end, 0, send.over);
            const std::size_t come = add_way(data, from, to, bytes);
            follow(come, Since::begin, streaming_ps, taken);
            follow(recv.start, Since::asked, 0, taken);
        } else {
            const std::size_t question = add(from, Resource::cpu, overhead(0));
            const std::size_t answer = add(to, Resource::cpu, overhead(0));
            follow(send.start, Since::asked, 0, question);
            follow(add_way(question, from, to, 0), Since::begin, 0, answer);
            follow(recv.start, Since::asked, 0, answer);
            follow(add_way(answer, to, from, 0), Since::begin, 0, data);
            const std::size_t come = add_way(data, from, to, bytes);
            follow(activities_[data].interface, Since::begin, streaming_ps, send.over);
            follow(come, Since::begin, streaming_ps, taken);
        }
        follow(taken, Since::end, 0, recv.over);
    }

    void take_turns() {
        for (; !turns_.empty(); turns_.pop_front()) ask(turns_.front(), now_ps_);
    }

    void one_less(std::size_t activity) {
        if (--activities_[activity].missing > 0) return;
        if (activities_[activity].starts != none)
            turns_.push_back(activity);
        else
            ask(activity, now_ps_);
    }

    void ask(std::size_t number, std::int64_t from_ps) {
        const Activity& activity = activities_[number];
        std::int64_t begin_ps = from_ps;
        std::int64_t end_ps = from_ps;
        if (activity.has_resource) {
            std::int64_t& free_ps =
                free_ps_[activity.rank][static_cast<std::size_t>(activity.resource)];
            begin_ps = std::max(from_ps, free_ps);
            end_ps = begin_ps + activity.hold_ps;
            free_ps = end_ps;
            if (activity.hold_ps > 0)
                times_.uses[activity.rank].push_back({activity.resource, begin_ps, end_ps});
            if (activity.resource == Resource::cpu)
                times_.cpu_ps[activity.rank] += activity.hold_ps;
        }
        std::vector<ExactTimes::OperationTimes>& operations = times_.operations[activity.rank];
        if (activity.starts != none) operations[activity.starts].start_ps = begin_ps;
        if (activity.ends != none) {
            operations[activity.ends].end_ps = begin_ps;
            times_.end_ps[activity.rank] = std::max(times_.end_ps[activity.rank], begin_ps);
        }
        if (activity.interface != none) ask(activity.interface, end_ps);
        for (const Then& then : activity.then) {
            const std::int64_t since_ps = then.since == Since::asked   ? from_ps
                                          : then.since == Since::begin ? begin_ps
                                                                       : end_ps;
            const std::int64_t time_ps = since_ps + then.lag_ps;
            if (time_ps == now_ps_)
                one_less(then.activity);
            else
                later_.emplace_back(time_ps, then.activity);
        }
    }

    const LogGpParameters p_;
    ExactTimes times_;
    std::vector<Activity> activities_;
    std::map<std::pair<std::size_t, std::size_t>, Messages> lanes_;  // by sender and receiver
    std::vector<std::vector<std::int64_t>> free_ps_;                 // by rank and resource
    std::int64_t now_ps_ = 0;
    std::deque<std::size_t> turns_;  // of operations that start now
    std::vector<std::pair<std::int64_t, std::size_t>> later_;
};

// `schedules[r]` is rank r's. Refuses, with a sentence, what never ends. REQUIRES: no time gets
// near `time_max_ps`.
inline Result<ExactTimes> exact_times(std::span<const Schedule> schedules,
                                      const LogGpParameters& parameters) {
    return Evaluation(schedules, parameters).evaluate();
}

}  // namespace weft::model
