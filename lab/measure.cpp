#include "lab/measure.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "schedule/repeats.h"

namespace weft {
namespace {

// A message that can move: its step at the sender and at the receiver.
struct Move {
    Rank from;
    Rank to;
    std::uint32_t send;
    std::uint32_t recv;
};

class Clockwork {
  public:
    explicit Clockwork(std::span<const Schedule> schedules) {
        for (const Schedule& schedule : schedules) {
            waiting_.emplace_back();
            ranks_.push_back(unroll(schedule));
            for (const Step& step : ranks_.back()) waiting_.back().push_back(step.in_degree);
        }
    }

    // Returns the times of all events, or why there are none.
    Result<Timetable> run(int ports) {
        for (Rank r = 0; r < ranks(); ++r) {
            for (std::uint32_t s = 0; s < steps(r).size(); ++s) {
                if (steps(r)[s].in_degree == 0) ready_.push_back({r, s});
            }
        }
        times_.reductions.resize(ranks_.size());
        drain();
        while (open_ > 0) {
            std::vector<Move> moved = choose(ports);
            if (moved.empty()) break;
            for (const Move& m : moved) {
                const Op& send = steps(m.from)[m.send].what;
                const Op& recv = steps(m.to)[m.recv].what;
                if (send.bytes != recv.bytes) {
                    return failure(
                        WEFT_REFUSED_ARGUMENT,
                        "rank %d sends %lld bytes (operation %u) where rank %d expects %lld "
                        "(operation %u)",
                        m.from, static_cast<long long>(send.bytes), steps(m.from)[m.send].id, m.to,
                        static_cast<long long>(recv.bytes), steps(m.to)[m.recv].id);
                }
                times_.messages[{m.from, m.to}].push_back(times_.rounds);
                complete(m.from, m.send);
                complete(m.to, m.recv);
            }
            ++times_.rounds;
            drain();
        }
        for (Rank r = 0; r < ranks(); ++r) {
            for (std::uint32_t s = 0; s < steps(r).size(); ++s) {
                if (waiting(r)[s] == done) continue;
                return failure(WEFT_REFUSED_ARGUMENT, "deadlock: rank %d waits in operation %u", r,
                               steps(r)[s].id);
            }
        }
        return std::move(times_);
    }

  private:
    static constexpr std::uint32_t done = 0xffffffffu;

    struct Ready {
        Rank rank;
        std::uint32_t step;
    };

    // The posted ends of a lane that have no partner yet, in the order of posting.
    struct Unmatched {
        std::deque<std::uint32_t> sends;
        std::deque<std::uint32_t> recvs;
    };

    Rank ranks() const { return static_cast<Rank>(ranks_.size()); }
    const std::vector<Step>& steps(Rank r) const { return ranks_[static_cast<std::size_t>(r)]; }
    std::vector<std::uint32_t>& waiting(Rank r) { return waiting_[static_cast<std::size_t>(r)]; }

    void release(Rank r, const std::vector<std::uint32_t>& next) {
        for (std::uint32_t s : next) {
            if (--waiting(r)[s] == 0) ready_.push_back({r, s});
        }
    }

    void complete(Rank r, std::uint32_t s) {
        waiting(r)[s] = done;
        if (steps(r)[s].what.is_message()) --open_;
        release(r, steps(r)[s].after_completion);
    }

    // Completes everything that takes no time, and posts messages.
    void drain() {
        while (!ready_.empty()) {
            auto [r, s] = ready_.front();
            ready_.pop_front();
            const Step& step = steps(r)[s];
            release(r, step.after_issue);
            if (!step.what.is_message()) {
                if (step.what.reduces())
                    times_.reductions[static_cast<std::size_t>(r)].insert(times_.rounds);
                complete(r, s);
                continue;
            }
            ++open_;
            const bool sends = step.what.kind == OpKind::send;
            const Rank from = sends ? r : step.what.peer;
            const Rank to = sends ? step.what.peer : r;
            Unmatched& lane = lanes_[{from, to}];
            (sends ? lane.sends : lane.recvs).push_back(s);
            match(from, to, lane);
        }
    }

    void match(Rank from, Rank to, Unmatched& lane) {
        if (lane.sends.empty() || lane.recvs.empty()) return;
        new_candidates_.push_back({from, to, lane.sends.front(), lane.recvs.front()});
        lane.sends.pop_front();
        lane.recvs.pop_front();
    }

    // The messages of the next unit of time: the first, in schedule order, of those that can move.
    std::vector<Move> choose(int ports) {
        auto key = [](const Move& m) { return std::tuple(m.send, m.recv, m.from, m.to); };
        auto before = [&](const Move& a, const Move& b) { return key(a) < key(b); };
        std::sort(new_candidates_.begin(), new_candidates_.end(), before);
        const auto old = static_cast<std::ptrdiff_t>(candidates_.size());
        candidates_.insert(candidates_.end(), new_candidates_.begin(), new_candidates_.end());
        new_candidates_.clear();
        std::inplace_merge(candidates_.begin(), candidates_.begin() + old, candidates_.end(),
                           before);
        std::vector<int> sending(ranks_.size(), 0);
        std::vector<int> receiving(ranks_.size(), 0);
        std::vector<Move> chosen;
        std::size_t kept = 0;
        for (const Move& m : candidates_) {
            int& out = sending[static_cast<std::size_t>(m.from)];
            int& in = receiving[static_cast<std::size_t>(m.to)];
            if (out == ports || in == ports) {
                candidates_[kept++] = m;
                continue;
            }
            ++out;
            ++in;
            chosen.push_back(m);
        }
        candidates_.resize(kept);
        return chosen;
    }

    std::vector<std::vector<Step>> ranks_;
    std::vector<std::vector<std::uint32_t>> waiting_;  // edges still missing; `done`: completed
    std::deque<Ready> ready_;
    std::map<std::pair<Rank, Rank>, Unmatched> lanes_;  // by sender and receiver
    std::vector<Move> candidates_;                      // messages that can move, in schedule order
    std::vector<Move> new_candidates_;
    std::int64_t open_ = 0;  // posted messages that have not moved
    Timetable times_;
};

}  // namespace

Result<Measures> measure(std::span<const Schedule> schedules, int ports) {
    Measures measures;
    Result<Timetable> times = Clockwork(schedules).run(ports);
    if (!times.is_ok()) return times.status();
    Result<Timetable> depth = Clockwork(schedules).run(std::numeric_limits<int>::max());
    if (!depth.is_ok()) return depth.status();
    measures.rounds = times->rounds;
    measures.depth = depth->rounds;
    for (const Schedule& schedule : schedules) {
        std::int64_t messages = 0;
        std::int64_t bytes = 0;
        for (const Step& step : unroll(schedule)) {
            if (step.what.kind != OpKind::send) continue;
            ++messages;
            bytes += step.what.bytes;
        }
        measures.messages_max = std::max(measures.messages_max, messages);
        measures.sent_bytes_max = std::max(measures.sent_bytes_max, bytes);
        measures.messages += messages;
        measures.sent_bytes += bytes;
    }
    return measures;
}

std::int64_t bytes_between_nodes(std::span<const Schedule> schedules, const Topology& nodes) {
    std::int64_t bytes = 0;
    for (const Schedule& schedule : schedules) {
        for (const Step& step : unroll(schedule)) {
            if (step.what.kind != OpKind::send) continue;
            if (nodes.node_of(schedule.rank()) != nodes.node_of(step.what.peer))
                bytes += step.what.bytes;
        }
    }
    return bytes;
}

Result<Timetable> timetable(std::span<const Schedule> schedules, int ports) {
    return Clockwork(schedules).run(ports);
}

}  // namespace weft
