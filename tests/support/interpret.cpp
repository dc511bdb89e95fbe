#include "support/interpret.h"

#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "schedule/unroll.h"

namespace weft::test {
namespace {

// One rank while it runs.
struct Player {
    std::vector<Step> steps;
    std::vector<std::uint32_t> waiting;  // edges yet to come, by step
    std::vector<std::byte> scratch;
    std::size_t left = 0;  // steps that have not completed
};

struct Lane {
    std::deque<std::uint32_t> sends;  // posted and not moved, in posting order
    std::deque<std::uint32_t> recvs;
};

// What may happen next: a rank starts, a ready step runs, or a lane's first message moves.
struct Event {
    enum class Kind { start, step, message } kind;
    Rank rank;           // message: the sender
    std::uint32_t step;  // message: the receiver
};

class Stage {
  public:
    Stage(std::span<const Schedule> schedules, std::span<const Buffers> buffers,
          const Reduction& reduction, std::uint64_t seed)
        : buffers_(buffers), reduction_(reduction), random_(seed), not_started_(schedules.size()) {
        for (const Schedule& schedule : schedules) {
            Player player{.steps = unroll(schedule), .waiting = {}, .scratch = {}};
            for (const Step& step : player.steps) player.waiting.push_back(step.in_degree);
            player.scratch.resize(static_cast<std::size_t>(schedule.scratch_bytes()));
            spoil(player.scratch);
            player.left = player.steps.size();
            players_.push_back(std::move(player));
        }
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
            events_[choice] = events_.back();
            events_.pop_back();
            switch (event.kind) {
                case Event::Kind::start: start(event.rank); break;
                case Event::Kind::step: run(event.rank, event.step); break;
                case Event::Kind::message: move(event.rank, static_cast<Rank>(event.step)); break;
            }
        }
        for (Rank r = 0; r < static_cast<Rank>(players_.size()); ++r) {
            if (result_.failure.empty() && player(r).left > 0) {
                fail(r, first_incomplete(r), "deadlock: waits for ever");
            }
        }
        return result_;
    }

  private:
    static constexpr std::uint32_t done = 0xffffffffu;

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

    // Whether the step stays inside the buffers and writes none that is lent for reading.
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
        if (player(r).left == 0) note_finish();
    }

    void note_finish() {
        if (not_started_ > 0) result_.finished_before_start = true;
    }

    void release(Rank r, const std::vector<std::uint32_t>& steps) {
        for (std::uint32_t s : steps) {
            if (--player(r).waiting[s] == 0) events_.push_back({Event::Kind::step, r, s});
        }
    }

    void complete(Rank r, std::uint32_t step) {
        player(r).waiting[step] = done;
        release(r, player(r).steps[step].after_completion);
        if (--player(r).left == 0) note_finish();
    }

    void run(Rank r, std::uint32_t step) {
        if (!check(r, step)) return;
        const Op& op = player(r).steps[step].what;
        release(r, player(r).steps[step].after_issue);
        switch (op.kind) {
            case OpKind::join: break;
            case OpKind::send: post(r, op.peer, lanes_[{r, op.peer}].sends, step); return;
            case OpKind::recv:
                spoil(writable(r, op.into()));
                post(op.peer, r, lanes_[{op.peer, r}].recvs, step);
                return;
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
            case OpKind::call: fail(r, step, "calls the program"); return;
            case OpKind::await:
            case OpKind::enable: fail(r, step, "knows task lists"); return;
        }
        complete(r, step);
    }

    // Adds one end of a message to its lane; the lane's first message can move once both are there.
    void post(Rank from, Rank to, std::deque<std::uint32_t>& ends, std::uint32_t step) {
        ends.push_back(step);
        const Lane& lane = lanes_[{from, to}];
        if (ends.size() == 1 && !lane.sends.empty() && !lane.recvs.empty()) offer(from, to);
    }

    void offer(Rank from, Rank to) {
        events_.push_back({Event::Kind::message, from, static_cast<std::uint32_t>(to)});
    }

    void move(Rank from, Rank to) {
        Lane& lane = lanes_[{from, to}];
        std::uint32_t send = lane.sends.front();
        std::uint32_t recv = lane.recvs.front();
        lane.sends.pop_front();
        lane.recvs.pop_front();
        Bytes source = readable(from, player(from).steps[send].what.from());
        MutBytes target = writable(to, player(to).steps[recv].what.into());
        if (source.size() != target.size()) {
            fail(to, recv,
                 "expects " + std::to_string(target.size()) + " bytes, rank " +
                     std::to_string(from) + " sends " + std::to_string(source.size()));
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
    std::vector<Player> players_;
    std::map<std::pair<Rank, Rank>, Lane> lanes_;  // by sender and receiver
    std::vector<Event> events_;
    Interpretation result_;
};

}  // namespace

Interpretation interpret(std::span<const Schedule> schedules, std::span<const Buffers> buffers,
                         const Reduction& reduction, std::uint64_t seed) {
    return Stage(schedules, buffers, reduction, seed).play();
}

}  // namespace weft::test
