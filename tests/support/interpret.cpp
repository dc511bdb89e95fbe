#include "support/interpret.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "schedule/repeats.h"

namespace weft::test {
namespace {

// A task list while it runs.
struct List {
    const TaskList* tasks;
    std::size_t at = 0;  // the next task
    bool is_stuck = false;
    std::uint32_t gos = 0;      // tokens from the rest
    std::uint32_t cleared = 0;  // messages so far
    std::uint32_t reports = 0;
    std::vector<std::uint32_t> awaiting = {};  // steps of the rest

    bool is_at_end() const { return at == tasks->tasks.size(); }
    const Task& task() const { return tasks->tasks[at]; }
};

// One rank while it runs.
struct Player {
    std::vector<Step> steps;
    std::vector<std::uint32_t> waiting;  // edges yet to come, by step
    std::vector<std::byte> scratch;
    std::size_t left = 0;  // steps that have not completed
    std::vector<List> lists;
    std::vector<std::uint32_t> tokens;  // by semaphore
};

// One end of a message: where it is, and the step or the list that has posted it.
struct End {
    Region where;
    bool is_of_list;
    std::uint32_t by;
};

struct Lane {
    std::deque<End> sends;  // posted and not moved, in posting order
    std::deque<End> recvs;
    std::uint32_t cleared = 0;  // tokens of `clear` not taken yet
    std::int64_t allowed = 0;   // clears, less the messages of lists with rendezvous
};

// The next possible event: a rank starts, a ready step runs, a list goes on, or a lane's first
// message moves.
struct Event {
    enum class Kind { start, step, list, message } kind;
    Rank rank;           // message: the sender
    std::uint32_t step;  // list: which; message: the receiver
};

// What a rank runs: a schedule, perhaps with task lists.
struct Program {
    const Schedule* schedule;
    const Tasks* tasks;
};

class Stage {
  public:
    Stage(std::span<const Program> programs, std::span<const Buffers> buffers,
          const Reduction& reduction, std::uint64_t seed)
        : buffers_(buffers), reduction_(reduction), random_(seed), not_started_(programs.size()) {
        for (const Program& program : programs) {
            Player player;
            player.steps = unroll(*program.schedule);
            for (const Step& step : player.steps) player.waiting.push_back(step.in_degree);
            player.scratch.resize(static_cast<std::size_t>(program.schedule->scratch_bytes()));
            spoil(player.scratch);
            player.left = player.steps.size();
            if (program.tasks) {
                for (const TaskList& list : program.tasks->lists) player.lists.push_back({&list});
                player.tokens.resize(program.tasks->semaphores);
            }
            players_.push_back(std::move(player));
        }
        slow_ = static_cast<Rank>(random_.below(players_.size()));
        slow_list_ = static_cast<std::uint32_t>(random_.below(player(slow_).lists.size() + 1));
        auto ranks = static_cast<Rank>(players_.size());
        if (seed % 2 == 1) late_ = static_cast<Rank>(seed / 2 % players_.size());
        for (Rank r = 0; r < ranks; ++r) {
            if (r != late_) events_.push_back({Event::Kind::start, r, 0});
        }
    }

    Interpretation play() {
        while (result_.failure.empty()) {
            if (events_.empty()) {
                if (late_ < 0) break;
                events_.push_back({Event::Kind::start, std::exchange(late_, -1), 0});
            }
            std::size_t choice = random_.below(events_.size());
            Event event = events_[choice];
            if (is_slow(event) && events_.size() > 1 && !random_.one_in(32)) continue;
            events_[choice] = events_.back();
            events_.pop_back();
            switch (event.kind) {
                case Event::Kind::start: start(event.rank); break;
                case Event::Kind::step: run(event.rank, event.step); break;
                case Event::Kind::list: go_on(event.rank, event.step); break;
                case Event::Kind::message: move(event.rank, static_cast<Rank>(event.step)); break;
            }
        }
        for (Rank r = 0; r < static_cast<Rank>(players_.size()); ++r) {
            if (result_.failure.empty() && player(r).left > 0) {
                fail(r, first_incomplete(r), "deadlock: waits forever");
            }
        }
        if (result_.failure.empty() && has_tokens_left()) result_.failure = "tokens are left over";
        return result_;
    }

  private:
    static constexpr std::uint32_t done = 0xffffffffu;

    bool is_slow(const Event& event) {
        if (event.rank != slow_ || player(slow_).lists.empty()) return false;
        if (event.kind == Event::Kind::list) return event.step == slow_list_;
        return event.kind == Event::Kind::step && slow_list_ == player(slow_).lists.size();
    }

    Player& player(Rank r) { return players_[static_cast<std::size_t>(r)]; }

    void fail(Rank r, std::uint32_t step, const std::string& what) {
        const Step& s = player(r).steps[step];
        result_.failure = "rank " + std::to_string(r) + ", operation " + std::to_string(s.id) +
                          ", iteration " + std::to_string(s.iteration) + ": " + what;
    }

    std::uint32_t first_incomplete(Rank r) {
        std::uint32_t step = 0;
        while (player(r).waiting[step] == done) ++step;
        return step;
    }

    bool has_tokens_left() const {
        auto any = [](std::uint32_t tokens) { return tokens > 0; };
        auto has_gos = [](const List& list) { return list.gos > 0; };
        for (const Player& p : players_) {
            if (std::ranges::any_of(p.tokens, any) || std::ranges::any_of(p.lists, has_gos)) {
                return true;
            }
        }
        return std::ranges::any_of(lanes_, [](auto& lane) { return lane.second.cleared > 0; });
    }

    void spoil(MutBytes bytes) {
        for (std::byte& b : bytes) b = static_cast<std::byte>(random_.next());
    }

    bool is_inside(Rank r, Region region) {
        const Buffers& own = buffers_[static_cast<std::size_t>(r)];
        std::size_t size = region.buffer == Buffer::send   ? own.send.size()
                           : region.buffer == Buffer::recv ? own.recv.size()
                                                           : player(r).scratch.size();
        return region.bytes == 0 ||
               (region.offset >= 0 && region.bytes > 0 &&
                region.offset + region.bytes <= static_cast<std::int64_t>(size));
    }

    Bytes readable(Rank r, Region region) {
        if (region.bytes == 0) return {};
        if (region.buffer != Buffer::send) return writable(r, region);
        return buffers_[static_cast<std::size_t>(r)].send.subspan(
            static_cast<std::size_t>(region.offset), static_cast<std::size_t>(region.bytes));
    }

    MutBytes writable(Rank r, Region region) {
        if (region.bytes == 0) return {};
        MutBytes all = region.buffer == Buffer::recv ? buffers_[static_cast<std::size_t>(r)].recv
                                                     : MutBytes(player(r).scratch);
        return all.subspan(static_cast<std::size_t>(region.offset),
                           static_cast<std::size_t>(region.bytes));
    }

    // Whether the step stays inside the buffers and writes to none that is lent for reading.
    bool check(Rank r, std::uint32_t step) {
        const Op& op = player(r).steps[step].what;
        bool reads = op.kind != OpKind::join && op.kind != OpKind::recv;
        bool writes = op.kind != OpKind::join && op.kind != OpKind::send;
        bool spoils = op.kind == OpKind::reduce_right && op.bytes > 0;
        if (reads && !is_inside(r, op.from())) fail(r, step, "reads outside its buffer");
        if (writes && !is_inside(r, op.into())) fail(r, step, "writes outside its buffer");
        if ((writes && op.bytes > 0 && op.into_buffer == Buffer::send) ||
            (spoils && op.from_buffer == Buffer::send)) {
            fail(r, step, "writes the send buffer");
        }
        return result_.failure.empty();
    }

    void start(Rank r) {
        --not_started_;
        for (std::uint32_t s = 0; s < player(r).steps.size(); ++s) {
            if (player(r).steps[s].in_degree == 0) events_.push_back({Event::Kind::step, r, s});
        }
        for (std::uint32_t list = 0; list < player(r).lists.size(); ++list) offer_list(r, list);
        if (player(r).left == 0) note_finish(r);
    }

    void note_finish(Rank r) {
        if (not_started_ > 0) result_.finished_before_start = true;
        if (!std::ranges::all_of(player(r).lists, &List::is_at_end)) {
            result_.failure = "rank " + std::to_string(r) + " finished before its task lists";
        }
    }

    void release(Rank r, const std::vector<std::uint32_t>& steps) {
        for (std::uint32_t s : steps) {
            if (--player(r).waiting[s] == 0) events_.push_back({Event::Kind::step, r, s});
        }
    }

    void complete(Rank r, std::uint32_t step) {
        player(r).waiting[step] = done;
        release(r, player(r).steps[step].after_completion);
        if (--player(r).left == 0) note_finish(r);
    }

    void complete(Rank r, const End& end) {
        if (!end.is_of_list) {
            complete(r, end.by);
            return;
        }
        ++player(r).lists[end.by].at;
        offer_list(r, end.by);
    }

    void run(Rank r, std::uint32_t step) {
        if (!check(r, step)) return;
        const Op& op = player(r).steps[step].what;
        release(r, player(r).steps[step].after_issue);
        switch (op.kind) {
            case OpKind::join: break;
            case OpKind::send: post_send(r, op.peer, {op.from(), false, step}); return;
            case OpKind::recv: post_recv(r, op.peer, {op.into(), false, step}); return;
            case OpKind::copy:
                if (op.bytes > 0) {
                    std::memmove(writable(r, op.into()).data(), readable(r, op.from()).data(),
                                 static_cast<std::size_t>(op.bytes));
                }
                break;
            case OpKind::reduce:
                reduction_.apply(readable(r, op.from()).data(), writable(r, op.into()).data(),
                                 static_cast<std::size_t>(op.bytes));
                break;
            case OpKind::reduce_right:
                reduction_.apply_right(writable(r, op.from()).data(), writable(r, op.into()).data(),
                                       static_cast<std::size_t>(op.bytes));
                spoil(writable(r, op.from()));
                break;
            case OpKind::widen:
            case OpKind::narrow:
            case OpKind::encode:
            case OpKind::decode: fail(r, step, "converts"); return;
            case OpKind::scale:
                reduction_.apply_scaling(readable(r, op.from()).data(),
                                         writable(r, op.into()).data(),
                                         static_cast<std::size_t>(op.bytes));
                break;
            case OpKind::call: fail(r, step, "calls the program"); return;
            case OpKind::await: {
                List& list = list_of(r, op);
                if (list.reports > op.from_offset) break;
                list.awaiting.push_back(step);
                return;
            }
            case OpKind::enable:
                ++list_of(r, op).gos;
                wake_lists(r);
                break;
        }
        complete(r, step);
    }

    List& list_of(Rank r, const Op& op) {
        return player(r).lists[static_cast<std::size_t>(op.peer)];
    }

    void offer_list(Rank r, std::uint32_t list) { events_.push_back({Event::Kind::list, r, list}); }

    // A token has come: lists that are stuck look again.
    void wake_lists(Rank r) {
        for (std::uint32_t l = 0; l < player(r).lists.size(); ++l) {
            if (std::exchange(player(r).lists[l].is_stuck, false)) offer_list(r, l);
        }
    }

    // Of those that need a CTS.
    static Region message(const List& list, std::uint32_t number) {
        for (const Task& task : list.tasks->tasks) {
            if (task.kind == Task::Kind::recv && task.needs_cts && number-- == 0)
                return task.region;
        }
        return {};
    }

    // Runs a list's next task, if it can go.
    void go_on(Rank r, std::uint32_t index) {
        List& list = player(r).lists[index];
        if (list.is_at_end()) {
            report(r, list);
            return;
        }
        const Task& task = list.task();
        const Rank peer = list.tasks->peer;
        auto take = [&](std::uint32_t& tokens) {
            list.is_stuck = tokens == 0;
            if (!list.is_stuck) --tokens;
        };
        if (!is_inside(r, task.region)) {
            result_.failure = "a task of rank " + std::to_string(r) + " is outside its buffer";
            return;
        }
        switch (task.kind) {
            case Task::Kind::send:
                if (task.needs_cts && --lanes_[{r, peer}].allowed < 0) {
                    result_.failure = "a message goes before it has been cleared";
                }
                post_send(r, peer, {task.region, true, index});
                return;
            case Task::Kind::recv: post_recv(r, peer, {task.region, true, index}); return;
            case Task::Kind::clear:
                // From now on the message may arrive.
                spoil(writable(r, message(player(r).lists[index - 1], list.cleared++)));
                ++lanes_[{peer, r}].allowed;
                ++lanes_[{peer, r}].cleared;
                wake_lists(peer);
                break;
            case Task::Kind::cleared: take(lanes_[{r, peer}].cleared); break;
            case Task::Kind::wait: take(player(r).tokens[task.number]); break;
            case Task::Kind::go: take(list.gos); break;
            case Task::Kind::enable:
                ++player(r).tokens[task.number];
                wake_lists(r);
                break;
            case Task::Kind::report:
                if (task.number != list.reports) result_.failure = "a report out of order";
                report(r, list);
                break;
        }
        if (list.is_stuck) return;
        ++list.at;
        offer_list(r, index);
    }

    void report(Rank r, List& list) {
        const std::uint32_t number = list.reports++;
        std::erase_if(list.awaiting, [&](std::uint32_t step) {
            if (player(r).steps[step].what.from_offset != number) return false;
            complete(r, step);
            return true;
        });
    }

    void post_send(Rank r, Rank to, End end) { post(r, to, lanes_[{r, to}].sends, end); }

    void post_recv(Rank r, Rank from, End end) {
        spoil(writable(r, end.where));
        post(from, r, lanes_[{from, r}].recvs, end);
    }

    // Adds one end of a message to its lane; the lane's first message can move once both are there.
    void post(Rank from, Rank to, std::deque<End>& ends, const End& end) {
        ends.push_back(end);
        const Lane& lane = lanes_[{from, to}];
        if (ends.size() == 1 && !lane.sends.empty() && !lane.recvs.empty()) offer(from, to);
    }

    void offer(Rank from, Rank to) {
        events_.push_back({Event::Kind::message, from, static_cast<std::uint32_t>(to)});
    }

    void move(Rank from, Rank to) {
        Lane& lane = lanes_[{from, to}];
        const End send = lane.sends.front();
        const End recv = lane.recvs.front();
        lane.sends.pop_front();
        lane.recvs.pop_front();
        Bytes source = readable(from, send.where);
        MutBytes target = writable(to, recv.where);
        if (source.size() != target.size()) {
            result_.failure = "rank " + std::to_string(to) + " expects " +
                              std::to_string(target.size()) + " bytes, rank " +
                              std::to_string(from) + " sends " + std::to_string(source.size());
            return;
        }
        if (!source.empty()) std::memcpy(target.data(), source.data(), source.size());
        complete(from, send);
        complete(to, recv);
        if (!lane.sends.empty() && !lane.recvs.empty()) offer(from, to);
    }

    std::span<const Buffers> buffers_;
    const Reduction& reduction_;
    Prng random_;
    std::size_t not_started_;
    Rank late_ = -1;  // starts when nothing else can happen; -1: nobody, or it has
    // One list of this rank, or the rest, is far behind.
    Rank slow_ = -1;
    std::uint32_t slow_list_ = 0;
    std::vector<Player> players_;
    std::map<std::pair<Rank, Rank>, Lane> lanes_;  // by sender and receiver
    std::vector<Event> events_;
    Interpretation result_;
};

}  // namespace

Interpretation interpret(std::span<const Schedule> schedules, std::span<const Buffers> buffers,
                         const Reduction& reduction, std::uint64_t seed) {
    std::vector<Program> programs;
    for (const Schedule& schedule : schedules) programs.push_back({&schedule, nullptr});
    return Stage(programs, buffers, reduction, seed).play();
}

Interpretation interpret(std::span<const Tasks> tasks, std::span<const Buffers> buffers,
                         const Reduction& reduction, std::uint64_t seed) {
    std::vector<Program> programs;
    for (const Tasks& t : tasks) programs.push_back({&t.rest, &t});
    return Stage(programs, buffers, reduction, seed).play();
}

}  // namespace weft::test
