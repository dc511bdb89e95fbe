// Executes the schedules of all ranks in one legal order, with symbols for data.
//
// A message moves when both its ends are posted, and completes both. No step can prevent another,
// so either every order finishes or none does. The completion of a send says nothing about whether
// the receiver has entered a barrier: a transport may buffer the message.
#include "schedule/check/lanes.h"
#include "schedule/check/parts.h"
#include "schedule/check/player.h"

namespace weft::checking {
namespace {

// The messages of a lane whose other end has not been posted.
struct Waiting {
    Rank peer = -1;
    std::size_t peer_lane = 0;
    std::vector<Instance> posted = {};
    std::size_t head = 0;
    std::int64_t moved = 0;

    bool is_empty() const { return head == posted.size(); }
    Instance take() {
        Instance instance = posted[head++];
        if (is_empty()) posted.clear(), head = 0;
        ++moved;
        return instance;
    }
};

class Play {
  public:
    Play(std::span<const Schedule> schedules, const Postcondition& promise,
         std::vector<Buffers>& buffers, Terms& terms, Findings& findings)
        : promise_(promise), buffers_(buffers), terms_(terms), findings_(findings) {
        buffers_.clear();
        for (const Schedule& schedule : schedules) {
            const auto rank = static_cast<std::size_t>(schedule.rank());
            buffers_.push_back({Memory(promise.send_bytes[rank]), Memory(promise.recv_bytes[rank]),
                                Memory(schedule.scratch_bytes())});
            players_.emplace_back(schedule, promise.synchronizes, ready_);
            lanes_.emplace_back();
            for (const ScheduleLane& lane : schedule.lanes()) {
                const Schedule& other = schedules[static_cast<std::size_t>(lane.peer)];
                const std::int32_t partner = find_lane(other, schedule.rank(), !lane.sends);
                lanes_.back().push_back({lane.peer, static_cast<std::size_t>(partner)});
            }
        }
        for (const Holding& held : promise.before) {
            const Stretch value{held.where.bytes, terms.contribution(held.sources.first),
                                held.origin};
            memory(held.rank, held.where.buffer).write(held.where.offset, {&value, 1});
        }
    }

    std::int64_t run() {
        for (Player& player : players_) player.start();
        while (!ready_.empty()) {
            const auto [rank, instance] = ready_.back();
            ready_.pop_back();
            execute(rank, instance);
        }
        report_deadlock();
        if (promise_.synchronizes && findings_.empty()) check_entered();
        return operations_;
    }

  private:
    Rank ranks() const { return static_cast<Rank>(players_.size()); }
    Player& player(Rank r) { return players_[static_cast<std::size_t>(r)]; }
    std::vector<Waiting>& lanes(Rank r) { return lanes_[static_cast<std::size_t>(r)]; }
    Memory& memory(Rank r, Buffer buffer) {
        return buffers_[static_cast<std::size_t>(r)].of(buffer);
    }

    std::string name(Rank r, Instance instance) {
        const RepeatState::Position place = player(r).place(instance);
        return name_of(player(r).schedule(), place.op, place.iteration);
    }

    void execute(Rank r, Instance instance) {
        const Op op = player(r).op(instance);
        if (op.is_message()) {
            player(r).issued(instance);
            post(r, instance, op.kind == OpKind::send);
            return;
        }
        if (promise_.follows_data && op.bytes > 0) compute(r, instance, op);
        complete(r, instance);
    }

    void compute(Rank r, Instance instance, const Op& op) {
        // (Postconditions say what is combined; a scaled value is the same to them.)
        if (op.kind == OpKind::copy || op.converts()) {
            value_.clear();
            memory(r, op.from_buffer).read(op.from_offset, op.bytes, value_);
            memory(r, op.into_buffer).write(op.into_offset, value_);
        } else if (op.reduces()) {
            reduce(r, instance, op);
        } else if (op.kind == OpKind::call) {
            const Stretch unknown{op.bytes, undefined, 0};
            memory(r, op.into_buffer).write(op.into_offset, {&unknown, 1});
        }
    }

    void post(Rank r, Instance instance, bool sends) {
        const Schedule& schedule = player(r).schedule();
        Waiting& mine =
            lanes(r)[static_cast<std::size_t>(schedule.lane_of(player(r).place(instance).op))];
        Waiting& theirs = lanes(mine.peer)[mine.peer_lane];
        mine.posted.push_back(instance);
        if (theirs.is_empty()) return;
        const Instance own = mine.take();
        const Instance other = theirs.take();
        if (sends) {
            move(r, own, mine.peer, other);
        } else {
            move(mine.peer, other, r, own);
        }
    }

    void move(Rank from, Instance send, Rank to, Instance recv) {
        const Op out = player(from).op(send);
        const Op in = player(to).op(recv);
        if (promise_.follows_data) {
            value_.clear();
            memory(from, out.from_buffer).read(out.from_offset, out.bytes, value_);
            memory(to, in.into_buffer).write(in.into_offset, value_);
        }
        player(to).hear(recv, player(from), send);
        complete(from, send);
        complete(to, recv);
    }

    void complete(Rank r, Instance instance) {
        ++operations_;
        player(r).completed(instance);
    }

    void reduce(Rank r, Instance instance, const Op& op) {
        Memory& from = memory(r, op.from_buffer);
        Memory& into = memory(r, op.into_buffer);
        value_.clear();
        other_.clear();
        result_.clear();
        from.read(op.from_offset, op.bytes, value_);
        into.read(op.into_offset, op.bytes, other_);
        std::string complaint;
        for_each_pair(value_, other_, [&](std::int64_t bytes, Stretch a, Stretch b) {
            if (op.kind == OpKind::reduce_right) std::swap(a, b);
            result_.push_back({bytes, combine(bytes, a, b, complaint), a.origin});
        });
        into.write(op.into_offset, result_);
        if (op.kind == OpKind::reduce_right) {
            const Stretch spoilt{op.bytes, undefined, 0};
            from.write(op.from_offset, {&spoilt, 1});
        }
        if (!complaint.empty()) findings_.add(Flaw::result, name(r, instance) + ' ' + complaint);
    }

    Term combine(std::int64_t bytes, Stretch left, Stretch right, std::string& complaint) {
        if (left.term == undefined || right.term == undefined) {
            complaint = "combines bytes that nobody has written";
        } else if (left.origin != right.origin) {
            complaint = "combines byte " + std::to_string(left.origin) + " of " +
                        terms_.text(left.term) + " with byte " + std::to_string(right.origin) +
                        " of " + terms_.text(right.term);
        } else if (left.origin % promise_.element_bytes != 0 ||
                   bytes % promise_.element_bytes != 0) {
            complaint = "combines parts of elements";
        } else {
            return terms_.combine(left.term, right.term);
        }
        return undefined;
    }

    // The operation at the other end that the first waiting message of a lane needs.
    std::string awaited(const Waiting& lane) {
        const Schedule& other = player(lane.peer).schedule();
        const LaneOps ops(other);
        LaneCursor cursor(other, ops.of(lane.peer_lane));
        for (std::int64_t i = 0; i < lane.moved; ++i) cursor.advance();
        return name_of(other, cursor.op(), cursor.iteration());
    }

    void report_deadlock() {
        bool is_stuck = false;
        for (Rank r = 0; r < ranks(); ++r) {
            for (const Waiting& lane : lanes(r)) {
                if (lane.is_empty() || findings_.full()) continue;
                is_stuck = true;
                findings_.add(Flaw::deadlock, name(r, lane.posted[lane.head]) + " waits forever: " +
                                                  awaited(lane) + " is never posted");
            }
        }
        for (Rank r = 0; r < ranks() && !is_stuck; ++r) {
            const Schedule& schedule = player(r).schedule();
            for (OpId id = 0; id < schedule.ops().size() && !is_stuck; ++id) {
                if (schedule.repeat_of(id) || player(r).has_completed(id)) continue;
                is_stuck = true;
                findings_.add(Flaw::deadlock, name_of(schedule, id, 0) + " never starts");
            }
        }
    }

    void check_entered() {
        for (Rank r = 0; r < ranks(); ++r) {
            for (Rank other = 0; other < ranks(); ++other) {
                if (player(r).knows_at_end(other)) continue;
                findings_.add(Flaw::result, "rank " + std::to_string(r) +
                                                " may leave before rank " + std::to_string(other) +
                                                " has entered");
                if (findings_.full()) return;
            }
        }
    }

    const Postcondition& promise_;
    std::vector<Buffers>& buffers_;
    Terms& terms_;
    Findings& findings_;
    std::vector<Player> players_;
    std::vector<std::vector<Waiting>> lanes_;  // by rank, as Schedule::lanes()
    std::vector<ReadyInstance> ready_;
    std::vector<Stretch> value_;  // what is read and written; a member to save allocations
    std::vector<Stretch> other_;
    std::vector<Stretch> result_;
    std::int64_t operations_ = 0;
};

}  // namespace

std::int64_t play(std::span<const Schedule> schedules, const Postcondition& promise,
                  std::vector<Buffers>& buffers, Terms& terms, Findings& findings) {
    return Play(schedules, promise, buffers, terms, findings).run();
}

}  // namespace weft::checking
