#include "sim/lgs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>

#include "sim/waiters.h"

namespace weft::simulate {
namespace {

using Time = std::uint64_t;

// What a rank is doing with an operation, or with a message that has come to it.
struct LgsEvent {
    Time time;
    std::uint64_t number;
    Rank rank;         // where it happens
    Rank source;       // of a message; otherwise `rank`
    std::uint32_t op;  // of `source`
    bool is_message;
    bool in_line = false;  // it stands for the first of its line

    bool operator>(const LgsEvent& other) const {
        return time != other.time ? time > other.time : number > other.number;
    }
};

// Events of a rank that found the same resources busy. Whenever these are free, the one with the
// lowest number comes first; it alone is in the queue, so that the others need not be asked each
// time.
class LgsLine {
  public:
    void wait(LgsEvent event) {
        event.in_line = false;
        waiting_.push(event);
    }

    // What to put into the queue as the first, if something else is there.
    std::optional<LgsEvent> first(Time time) {
        if (waiting_.empty()) return std::nullopt;
        LgsEvent event = waiting_.top();
        event.time = time;
        event.in_line = true;
        if (queued_ && queued_->time == time && queued_->number == event.number)
            return std::nullopt;
        queued_ = event;
        return event;
    }

    // Takes the first out, unless `event` is no longer what stands for it in the queue.
    bool take(const LgsEvent& event) {
        if (!queued_ || queued_->time != event.time || queued_->number != event.number)
            return false;
        queued_.reset();
        waiting_.pop();
        return true;
    }

  private:
    struct HigherNumber {
        bool operator()(const LgsEvent& a, const LgsEvent& b) const { return a.number > b.number; }
    };
    std::priority_queue<LgsEvent, std::vector<LgsEvent>, HigherNumber> waiting_;
    std::optional<LgsEvent> queued_;
};

class LgsMachine {
  public:
    LgsMachine(const GoalProgram& program, const LgsParameters& parameters)
        : program_(program),
          p_(parameters),
          goes_back_(can_go_back(program, parameters)),
          hosts_(program.size()) {
        std::size_t cpus = 1;
        std::size_t nics = 1;
        for (const GoalRank& rank : program) {
            for (const GoalOp& op : rank.ops) {
                cpus = std::max<std::size_t>(cpus, op.cpu + 1u);
                nics = std::max<std::size_t>(nics, op.nic + 1u);
            }
        }
        nics_ = nics;
        for (Rank r = 0; r < static_cast<Rank>(program.size()); ++r) prepare(r, cpus, nics);
    }

    Result<LgsOutcome> run() {
        WEFT_RETURN_IF_NOT_OK(check_times());
        for (Rank r = 0; r < static_cast<Rank>(hosts_.size()); ++r)
            push_freed(r, /*at_start=*/true);
        LgsOutcome outcome;
        for (; !queue_.empty(); ++outcome.steps) {
            LgsEvent event = queue_.top();
            queue_.pop();
            // In line, another event may be the first by now.
            if (event.in_line && !line_of(event).take(event)) continue;
            const Time earliest = free_at(event);
            if (earliest > event.time) {
                wait_until(earliest, event);
                continue;
            }
            ++outcome.events;
            happen(event);
            if (event.in_line) queue_first(line_of(event), free_at(event));
            // At most two ranks have freed something: this one, and a sender that waited.
            std::ranges::sort(touched_);
            touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
            for (const Rank rank : touched_) push_freed(rank, /*at_start=*/false);
            touched_.clear();
        }
        WEFT_RETURN_IF_NOT_OK(check_end());
        for (const LgsHost& host : hosts_) outcome.end.push_back(std::ranges::max(host.cpu_free));
        return outcome;
    }

  private:
    struct LgsHost {
        std::vector<Time> cpu_free;
        std::vector<Time> send_free;  // by NIC
        std::vector<Time> recv_free;
        Waiters posted;
        Waiters unexpected;
        // The orders by `before`, compressed, in the order of the text: by start, and by end.
        std::vector<std::uint32_t> starts_begin, starts;
        std::vector<std::uint32_t> ends_begin, ends;
        std::vector<std::uint32_t> missing;  // by operation: what it still waits for
        std::vector<bool> started;
        std::vector<std::uint32_t> freed;      // not pushed yet
        std::map<std::size_t, LgsLine> lines;  // by what they wait for
    };

    LgsHost& host(Rank rank) { return hosts_[static_cast<std::size_t>(rank)]; }
    const GoalOp& op(Rank rank, std::uint32_t number) const {
        return program_[static_cast<std::size_t>(rank)].ops[number];
    }

    void prepare(Rank r, std::size_t cpus, std::size_t nics) {
        const GoalRank& rank = program_[static_cast<std::size_t>(r)];
        LgsHost& h = host(r);
        h.cpu_free.resize(cpus);
        h.send_free.resize(nics);
        h.recv_free.resize(nics);
        h.missing.resize(rank.ops.size());
        h.started.resize(rank.ops.size());
        h.starts_begin.resize(rank.ops.size() + 1);
        h.ends_begin.resize(rank.ops.size() + 1);
        for (const GoalOrder& order : rank.orders) {
            ++h.missing[order.after];
            ++(order.by_start ? h.starts_begin : h.ends_begin)[order.before + 1];
        }
        for (std::size_t i = 0; i < rank.ops.size(); ++i) {
            h.starts_begin[i + 1] += h.starts_begin[i];
            h.ends_begin[i + 1] += h.ends_begin[i];
        }
        h.starts.resize(h.starts_begin.back());
        h.ends.resize(h.ends_begin.back());
        std::vector<std::uint32_t> next_start(h.starts_begin.begin(), h.starts_begin.end() - 1);
        std::vector<std::uint32_t> next_end(h.ends_begin.begin(), h.ends_begin.end() - 1);
        for (const GoalOrder& order : rank.orders) {
            if (order.by_start)
                h.starts[next_start[order.before]++] = order.after;
            else
                h.ends[next_end[order.before]++] = order.after;
        }
        for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
            if (h.missing[i] == 0) h.freed.push_back(i);
        }
    }

    // When what the event needs is free.
    Time free_at(const LgsEvent& event) {
        const LgsHost& h = host(event.rank);
        const GoalOp& what = op(event.source, event.op);
        const Time cpu = h.cpu_free[what.cpu];
        if (event.is_message) return std::max(cpu, h.recv_free[what.nic]);
        if (what.kind == GoalKind::recv) return event.time;
        return what.kind == GoalKind::send ? std::max(cpu, h.send_free[what.nic]) : cpu;
    }

    // Where events wait for the same as `event`.
    LgsLine& line_of(const LgsEvent& event) {
        const GoalOp& what = op(event.source, event.op);
        const std::size_t besides = event.is_message              ? 1u + what.nic
                                    : what.kind == GoalKind::send ? 1u + nics_ + what.nic
                                                                  : 0u;
        return host(event.rank).lines[what.cpu * (1 + 2 * nics_) + besides];
    }

    void wait_until(Time time, LgsEvent event) {
        if (goes_back_) {
            event.time = time;
            queue_.push(event);
            return;
        }
        LgsLine& line = line_of(event);
        line.wait(event);
        queue_first(line, time);
    }

    void queue_first(LgsLine& line, Time time) {
        if (const std::optional<LgsEvent> first = line.first(time)) queue_.push(*first);
    }

    void happen(const LgsEvent& event) {
        LgsHost& h = host(event.rank);
        const GoalOp& what = op(event.source, event.op);
        const Time bytes_after_first = what.size - 1;  // of an empty message: -1
        if (event.is_message) {
            h.cpu_free[what.cpu] =
                event.time + p_.o + std::max(bytes_after_first * p_.O, bytes_after_first * p_.G);
            h.recv_free[what.nic] = event.time + p_.g + bytes_after_first * p_.G;
            if (const auto posted = h.posted.take(event.source, what.tag)) {
                if (what.size > p_.S) end_send(event.source, event.op, what, event.time);
                end(event.rank, posted->op);
            } else {
                h.unexpected.add({event.source, what.tag, event.op});
            }
            return;
        }
        h.started[event.op] = true;
        release(event.rank, h.starts_begin, h.starts, event.op);
        switch (what.kind) {
            case GoalKind::calc:
                h.cpu_free[what.cpu] = event.time + what.size;
                end(event.rank, event.op);
                break;
            case GoalKind::send:
                h.cpu_free[what.cpu] = event.time + p_.o + bytes_after_first * p_.O;
                h.send_free[what.nic] = event.time + p_.g + bytes_after_first * p_.G;
                queue_.push({event.time + p_.o + p_.L, next_number_++, what.peer, event.rank,
                             event.op, true});
                if (what.size <= p_.S) end(event.rank, event.op);
                break;
            case GoalKind::recv:
                if (const auto came = h.unexpected.take(what.peer, what.tag)) {
                    if (what.size > p_.S) end_send(came->peer, came->op, what, event.time);
                    end(event.rank, event.op);
                } else {
                    h.posted.add({what.peer, what.tag, event.op});
                }
                break;
        }
    }

    // A send whose message has met its receive; `met` is the operation that says so.
    void end_send(Rank sender, std::uint32_t send, const GoalOp& met, Time now) {
        Time& cpu = host(sender).cpu_free[met.cpu];
        Time& nic = host(sender).send_free[met.nic];
        cpu = std::max(cpu, now);
        nic = std::max(nic, now);
        end(sender, send);
    }

    void end(Rank rank, std::uint32_t number) {
        release(rank, host(rank).ends_begin, host(rank).ends, number);
    }

    void release(Rank rank, const std::vector<std::uint32_t>& begin,
                 const std::vector<std::uint32_t>& after, std::uint32_t number) {
        LgsHost& h = host(rank);
        for (std::uint32_t i = begin[number]; i < begin[number + 1]; ++i) {
            if (--h.missing[after[i]] == 0) h.freed.push_back(after[i]);
        }
        touched_.push_back(rank);
    }

    // Puts what `rank` has freed into the queue: sends, then receives, then calculations.
    void push_freed(Rank rank, bool at_start) {
        LgsHost& h = host(rank);
        std::ranges::stable_sort(h.freed, {},
                                 [&](std::uint32_t number) { return op(rank, number).kind; });
        for (const std::uint32_t number : h.freed) {
            const GoalOp& what = op(rank, number);
            Time time = h.cpu_free[what.cpu];
            if (what.kind == GoalKind::send) time = std::max(time, h.send_free[what.nic]);
            queue_.push({at_start ? 0 : time, next_number_++, rank, rank, number, false});
        }
        h.freed.clear();
    }

    Status check_end() {
        for (Rank r = 0; r < static_cast<Rank>(hosts_.size()); ++r) {
            const LgsHost& h = host(r);
            if (!h.unexpected.is_empty()) {
                const Waiter& left = h.unexpected.oldest();
                return failure(WEFT_REFUSED_ARGUMENT,
                               "rank %d has no receive for a message from rank %d (line %u)", r,
                               left.peer, op(left.peer, left.op).line);
            }
            if (!h.posted.is_empty()) {
                return failure(WEFT_REFUSED_ARGUMENT,
                               "rank %d gets no message for its receive of line %u", r,
                               op(r, h.posted.oldest().op).line);
            }
        }
        for (Rank r = 0; r < static_cast<Rank>(hosts_.size()); ++r) {
            const auto& started = host(r).started;
            const auto never = std::ranges::find(started, false);
            if (never == started.end()) continue;
            const auto number = static_cast<std::uint32_t>(never - started.begin());
            return failure(WEFT_REFUSED_ARGUMENT, "rank %d never starts its operation of line %u",
                           r, op(r, number).line);
        }
        return ok;
    }

    // Refuses what may not fit into 64 bits.
    Status check_times() const {
        constexpr double time_max = 0x1p63;
        const auto of = [](std::uint64_t time) { return static_cast<double>(time); };
        double sum = 0;
        for (const GoalRank& rank : program_) {
            for (const GoalOp& what : rank.ops) {
                if (what.kind == GoalKind::calc) sum += of(what.size);
                if (what.kind != GoalKind::send) continue;
                const double bytes_after_first = std::max(of(what.size) - 1, 0.0);
                sum += of(p_.L) + 2 * (of(p_.o) + of(p_.g)) +
                       2 * bytes_after_first * (of(p_.O) + of(p_.G));
            }
        }
        if (sum < time_max) return ok;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "all operations one after the other take more than 2^63 ns");
    }

    // Whether a resource can be free earlier after something has happened: an empty message takes o
    // - O of a CPU and g - G of a NIC.
    static bool can_go_back(const GoalProgram& program, const LgsParameters& p) {
        if (std::max(p.O, p.G) <= std::min(p.o, p.g)) return false;
        return std::ranges::any_of(program, [](const GoalRank& rank) {
            return std::ranges::any_of(rank.ops, [](const GoalOp& what) {
                return what.kind == GoalKind::send && what.size == 0;
            });
        });
    }

    const GoalProgram& program_;
    const LgsParameters p_;
    // Then what waits goes back into the queue each time, as by LogGOPSim's rules: lines count on
    // times that only grow.
    const bool goes_back_;
    std::size_t nics_ = 1;
    std::vector<LgsHost> hosts_;
    std::priority_queue<LgsEvent, std::vector<LgsEvent>, std::greater<>> queue_;
    std::uint64_t next_number_ = 0;
    std::vector<Rank> touched_;
};

}  // namespace

Result<LgsOutcome> simulate_lgs(const GoalProgram& program, const LgsParameters& parameters) {
    return LgsMachine(program, parameters).run();
}

}  // namespace weft::simulate
