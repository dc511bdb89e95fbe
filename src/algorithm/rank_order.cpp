#include "algorithm/rank_order.h"

#include <deque>
#include <vector>

#include "algorithm/segments.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// The combination of consecutive ranks' operands.
struct OrderedPart {
    Region where;
    OpId ready = no_op;
};

// The parts are those of a binary tree over the ranks: a part of 2^k ranks begins at a multiple of
// 2^k, and the last one may be shorter. Two neighbors are combined as soon as both are there.
class OrderedSum {
  public:
    OrderedSum(Rank ranks, Region sum, ScheduleBuilder& schedule)
        : ranks_(ranks),
          sum_(sum),
          schedule_(schedule),
          parts_(static_cast<std::size_t>(ranks)),
          waits_for_(static_cast<std::size_t>(ranks), nobody) {}

    void add(Rank first, OrderedPart part) {
        for (std::int64_t size = 1; size < ranks_; size *= 2) {
            const std::int64_t neighbour = first ^ size;
            if (neighbour >= ranks_) continue;
            const auto there = static_cast<std::size_t>(neighbour);
            if (waits_for_[there] != first) {
                parts_[static_cast<std::size_t>(first)] = part;
                waits_for_[static_cast<std::size_t>(first)] = static_cast<Rank>(neighbour);
                return;
            }
            part =
                neighbour < first ? combined(parts_[there], part) : combined(part, parts_[there]);
            if (neighbour < first) first = static_cast<Rank>(neighbour);
        }
        result_ = part.ready;
    }

    // Adds what `rank` sends. Buffers are reused, except the one that was read last, so that a
    // receive need not wait for the latest reduction.
    void receive(Rank rank) {
        OrderedPart buffer;
        if (read_.size() > 1) {
            buffer = read_.front();
            read_.pop_front();
        } else {
            buffer.where = schedule_.scratch(sum_.bytes);
        }
        add(rank, {buffer.where, schedule_.recv(buffer.where, rank, {buffer.ready})});
    }

    OpId result() const { return result_; }

  private:
    static constexpr Rank nobody = -1;

    // The part with this rank's operand is always in `sum_`.
    OrderedPart combined(const OrderedPart& left, const OrderedPart& right) {
        const bool is_into_right = left.where != sum_;
        const OrderedPart& from = is_into_right ? left : right;
        const OrderedPart& into = is_into_right ? right : left;
        const OpId done =
            is_into_right
                ? schedule_.reduce(from.where, into.where, {left.ready, right.ready})
                : schedule_.reduce_right(from.where, into.where, {left.ready, right.ready});
        if (from.where.buffer == Buffer::scratch) read_.push_back({from.where, done});
        return {into.where, done};
    }

    Rank ranks_;
    Region sum_;
    ScheduleBuilder& schedule_;
    std::vector<OrderedPart> parts_;  // by first rank, while they wait
    std::vector<Rank> waits_for_;     // by first rank: the first rank of the neighbor
    std::deque<OrderedPart> read_;    // scratch that may be used again when it is `ready`
    OpId result_ = no_op;
};

}  // namespace

OpId combine_in_rank_order(const Problem& in, Region own, Region sum, ScheduleBuilder& schedule) {
    OrderedSum all(in.ranks(), sum, schedule);
    // A right neighbor's operand can land where the sum will be; then nothing needs to be copied.
    const bool meets_right = own != sum && in.rank % 2 == 0 && in.rank + 1 < in.ranks();
    if (own == sum || meets_right) {
        all.add(in.rank, {own, schedule.start()});
    } else {
        all.add(in.rank, {sum, schedule.copy(own, sum)});
    }
    for (Rank i = 1; i < in.ranks(); ++i) {
        const Rank from = around(in.rank, -i, in.ranks());
        if (meets_right && from == in.rank + 1) {
            all.add(from, {sum, schedule.recv(sum, from)});
        } else {
            all.receive(from);
        }
    }
    return all.result();
}

Scattered reduce_scatter_in_rank_order(const Problem& in, Region operand, Region sum,
                                       ScheduleBuilder& schedule) {
    Scattered scattered;
    scattered.sent.resize(static_cast<std::size_t>(in.ranks()), no_op);
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        scattered.last_sent = scattered.sent[static_cast<std::size_t>(to)] =
            schedule.send(part_of_rank(in.agreed, operand, to), to, {scattered.last_sent});
    }
    const Region own = part_of_rank(in.agreed, operand, in.rank);
    scattered.result = combine_in_rank_order(in, own, sum, schedule);
    return scattered;
}

}  // namespace weft::algorithm
