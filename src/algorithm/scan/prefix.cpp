// Prefix sums over ranks: scan and exscan by recursive doubling, in a hypercube, and along a line.
#include <utility>

#include "algorithm/algorithm.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

// On each of the ranks from `first` on, `sum` holds an operand after `ready`; at the end it holds
// the combination of those of first..rank, in rank order. Returns the operation that completes
// then. REQUIRES: rank >= first.
//
// In step k a rank sends what it has, the combination of up to 2^k operands that end with its own,
// to the rank 2^k above it, and prepends what it gets from the rank 2^k below it.
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

// Whether a rank's result includes its own operand: scan, or exscan.
enum class Own : bool { excluded, included };

// What one rank knows in a hypercube. After the step of bit k the ranks that are equal in all
// higher bits form a block. Each has the combination of the block's operands up to its own (the
// result), and of all of them (the block's), if any rank after the block will need it.
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

static void scan_by_doubling(const Problem& in, ScheduleBuilder& schedule) {
    OpId ready = schedule.start();
    if (!in.in_place) ready = schedule.copy(in.send.block(), in.recv.block());
    prefix_by_doubling(in, 0, in.recv.block(), ready, schedule);
}

// Scan by recursive doubling: in step k every rank sends the combination of up to 2^k operands, the
// last of which is its own, to the rank 2^k above it, which prepends it to what it has. Any number
// of ranks, also for operations that do not commute.
extern const Algorithm scan_recursive_doubling = {
    .name = "recursive_doubling",
    .source = hillis_1986,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = scan_by_doubling,
};

static void exscan_by_doubling(const Problem& in, ScheduleBuilder& schedule) {
    OpId sent = no_op;
    if (in.rank + 1 < in.ranks()) sent = schedule.send(in.send.block(), in.rank + 1);
    if (in.rank == 0) return;
    const Region into = in.recv.block();
    const Region sum = in.in_place ? schedule.scratch(into.bytes) : into;
    const OpId arrived = schedule.recv(sum, in.rank - 1);
    const OpId ready = prefix_by_doubling(in, 1, sum, arrived, schedule);
    if (in.in_place) schedule.copy(sum, into, {ready, sent});
}

// The second rank sends the most, of three and more.
static std::int64_t exscan_sent_messages(const GlobalArgs& a) {
    return a.ranks < 3 ? a.ranks - 1 : 1 + ceil_log2(a.ranks - 1);
}

// Exclusive scan by recursive doubling: every rank passes its operand on to the next one; then all
// but the first scan the operands that they received. Any number of ranks, also for operations that
// do not commute.
extern const Algorithm exscan_recursive_doubling = {
    .name = "recursive_doubling",
    .source = hillis_1986,
    .rounds = exscan_sent_messages,
    .sent_messages_max = exscan_sent_messages,
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * exscan_sent_messages(a); },
    .build = exscan_by_doubling,
};

static void scan_in_hypercube(const Problem& in, ScheduleBuilder& schedule) {
    prefix_by_hypercube(in, Own::included, schedule);
}

// Scan in a hypercube: in step k a rank exchanges the combination of its block of 2^k ranks with
// the rank that differs in bit k; the upper one prepends what it gets to its own. Only what is
// needed is sent. Any number of ranks, also for operations that do not commute.
extern const Algorithm scan_hypercube = {
    .name = "hypercube",
    .source = sanders_2019,
    .reproducible = Reproducible::always,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = scan_in_hypercube,
};

static void exscan_in_hypercube(const Problem& in, ScheduleBuilder& schedule) {
    prefix_by_hypercube(in, Own::excluded, schedule);
}

// Exclusive scan in a hypercube: scan's algorithm, without this rank's operand. Any number of
// ranks, also for operations that do not commute.
extern const Algorithm exscan_hypercube = {
    .name = "hypercube",
    .source = sanders_2019,
    .reproducible = Reproducible::always,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * ceil_log2(a.ranks); },
    .build = exscan_in_hypercube,
};

static void scan_along_line(const Problem& in, ScheduleBuilder& schedule) {
    const Region sum = in.recv.block();
    OpId ready = schedule.start();
    if (!in.in_place) ready = schedule.copy(in.send.block(), sum);
    if (in.rank > 0) {
        const Region below = schedule.scratch(sum.bytes);
        ready = schedule.reduce(below, sum, {ready, schedule.recv(below, in.rank - 1)});
    }
    if (in.rank + 1 < in.ranks()) schedule.send(sum, in.rank + 1, {ready});
}

// Scan along a line: every rank combines the result of the rank below it with its own operand, and
// passes that on. Any number of ranks, also for operations that do not commute.
extern const Algorithm scan_linear = {
    .name = "linear",
    .source = hoefler_2007,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = scan_along_line,
};

static void exscan_along_line(const Problem& in, ScheduleBuilder& schedule) {
    const Region own = in.send.block();
    const bool is_last = in.rank + 1 == in.ranks();
    if (in.rank == 0) {
        if (!is_last) schedule.send(own, 1);
        return;
    }
    const Region below = in.recv.block();
    if (is_last) {
        schedule.recv(below, in.rank - 1);
        return;
    }
    const Region sum = schedule.scratch(below.bytes);
    const OpId copied = schedule.copy(own, sum);
    const OpId arrived = schedule.recv(below, in.rank - 1, {in.in_place ? copied : no_op});
    schedule.send(sum, in.rank + 1, {schedule.reduce(below, sum, {copied, arrived})});
}

// Exclusive scan along a line: every rank gets the combination of the operands of the ranks below
// it, and passes it on combined with its own operand. Any number of ranks, also for operations that
// do not commute.
extern const Algorithm exscan_linear = {
    .name = "linear",
    .source = hoefler_2007,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = exscan_along_line,
};

}  // namespace weft::algorithm
