#include "algorithm/prefix.h"

#include <utility>

namespace weft::algorithm {

// In step k a rank sends what it has, the combination of up to 2^k operands that end with its own, to the rank 2^k
// above it, and prepends what it gets from the rank 2^k below it.
OpId prefix_by_doubling(const Problem& in, Rank first, Region sum, OpId ready,
                        ScheduleBuilder& schedule) {
    const Rank position = in.rank - first;
    // Operands land in two buffers in turn, so that a receive waits for the last reduction but one.
    Region operand = position > 0 ? schedule.scratch(sum.bytes) : Region{};
    Region other_operand = position > 1 ? schedule.scratch(sum.bytes) : operand;
    OpId free = no_op;
    OpId other_free = no_op;
    for (std::int64_t step = 1; first + step < in.ranks(); step *= 2) {
        const auto distance = static_cast<Rank>(step);
        OpId sent = no_op;
        if (step < in.ranks() - in.rank) sent = schedule.send(sum, in.rank + distance, {ready});
        if (position < step) continue;
        const OpId arrived = schedule.recv(operand, in.rank - distance, {free});
        ready = schedule.reduce(operand, sum, {ready, arrived, sent});
        free = std::exchange(other_free, ready);
        std::swap(operand, other_operand);
    }
    return ready;
}

namespace {

// What one rank knows in a hypercube. After the step of bit k the ranks that are equal in all higher bits form a block.
// Each has the combination of the block's operands up to its own (the result), and of all of them (the block's), if any
// rank after the block will need it.
class Hypercube {
  public:
    Hypercube(const Problem& in, Own own, ScheduleBuilder& schedule)
        : in_(in), own_(own), schedule_(schedule), of_block_(in.send.block()) {
        has_result_ = own == Own::included;
        if (has_result_ && !in.in_place) result_ = schedule.copy(of_block_, into_);
    }

    void exchange(std::int64_t bit) {
        const std::int64_t peer = in_.rank ^ bit;
        if (peer >= in_.ranks()) return;
        const bool is_needed = (in_.rank | (2 * bit - 1)) < in_.ranks() - 1;
        if (peer > in_.rank) {
            const OpId sent = send(static_cast<Rank>(peer));
            if (is_needed) take_upper(static_cast<Rank>(peer), sent);
            return;
        }
        if (is_needed && !has_result_ && of_block_ != sum_) keep_own();
        const OpId sent = is_needed ? send(static_cast<Rank>(peer)) : no_op;
        const bool is_last = (in_.rank & (bit - 1)) == bit - 1;  // of the block so far
        take_lower(static_cast<Rank>(peer), sent, is_needed, is_last);
    }

  private:
    OpId send(Rank peer) {
        const OpId sent = schedule_.send(of_block_, peer, {block_ready_});
        if (of_block_ == into_) reads_into(sent);
        return sent;
    }

    // The operand would be overwritten by the result.
    void keep_own() {
        sum_ = schedule_.scratch(into_.bytes);
        block_ready_ = schedule_.copy(of_block_, sum_);
        if (of_block_ == into_) reads_into(block_ready_);
        of_block_ = sum_;
    }

    void take_upper(Rank peer, OpId sent) {
        if (of_block_ == sum_) {
            const OpId arrived = receive(peer);
            block_ready_ = schedule_.reduce_right(operand_, sum_, {arrived, block_ready_, sent});
            turn(block_ready_);
            return;
        }
        sum_ = schedule_.scratch(into_.bytes);
        const OpId arrived = schedule_.recv(sum_, peer);
        block_ready_ = schedule_.reduce(of_block_, sum_, {arrived, block_ready_});
        if (of_block_ == into_) reads_into(block_ready_);
        of_block_ = sum_;
    }

    void take_lower(Rank peer, OpId sent, bool is_needed, bool is_last) {
        const bool is_first = !has_result_;
        const OpId arrived = is_first ? schedule_.recv(into_, peer, {into_read_}) : receive(peer);
        const Region lower = is_first ? into_ : operand_;
        result_ =
            is_first ? arrived : schedule_.reduce(lower, into_, {arrived, result_, into_read_});
        has_result_ = true;
        into_read_ = no_op;
        OpId lower_read = result_;
        if (is_last && own_ == Own::included) {
            of_block_ = into_;
            block_ready_ = result_;
        } else if (is_needed) {
            block_ready_ = schedule_.reduce(lower, sum_, {arrived, block_ready_, sent});
            if (is_first)
                reads_into(block_ready_);
            else
                lower_read = schedule_.join({result_, block_ready_});
        }
        if (!is_first) turn(lower_read);
    }

    // Operands land in two buffers in turn, so that a receive waits for the last reduction but one.
    OpId receive(Rank peer) {
        if (operand_.bytes == 0) operand_ = schedule_.scratch(into_.bytes);
        return schedule_.recv(operand_, peer, {free_});
    }
    void turn(OpId read) {
        free_ = std::exchange(other_free_, read);
        std::swap(operand_, other_operand_);
    }

    void reads_into(OpId op) {
        into_read_ = into_read_ == no_op ? op : schedule_.join({into_read_, op});
    }

    const Problem& in_;
    Own own_;
    ScheduleBuilder& schedule_;
    Region of_block_;  // the operand itself, `into_`, or `sum_`
    OpId block_ready_ = no_op;
    Region sum_ = {Buffer::scratch, -1, 0};
    Region into_ = in_.recv.block();
    bool has_result_;
    OpId result_ = no_op;
    OpId into_read_ = no_op;
    Region operand_;
    Region other_operand_;
    OpId free_ = no_op;
    OpId other_free_ = no_op;
};

}  // namespace

void prefix_by_hypercube(const Problem& in, Own own, ScheduleBuilder& schedule) {
    Hypercube cube(in, own, schedule);
    for (std::int64_t bit = 1; bit < in.ranks(); bit *= 2) cube.exchange(bit);
}

}  // namespace weft::algorithm
