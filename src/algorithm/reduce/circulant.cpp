// Reduction over a circulant graph in blocks: the broadcast's rounds backwards. In every round a
// rank sends a block for which no more operands will come, and combines an arriving operand into
// another block. Any number of ranks, any root; the operation commutes; zero bytes need no
// messages.
//
// Blocks are numbered from the end of the vector, so that a repeated block moves forward in it.
// Every rank has the same number of operations in every round, as in the broadcast.
#include <algorithm>
#include <map>
#include <utility>

#include "algorithm/circulant.h"
#include "algorithm/segments.h"

namespace weft::algorithm {
namespace {

class Reducer {
  public:
    Reducer(const Problem& in, std::int64_t blocks, ScheduleBuilder& schedule)
        : in_(in), blocks_(blocks), rounds_(in.agreed, in.rank, blocks), schedule_(schedule) {
        for (std::size_t k = 0; k < rounds_.in_phase(); ++k) has_carried_ |= is_carried(k);
        if (has_carried_) carried_ = schedule.scratch(bytes_);
    }

    void build() {
        // All phases but the last, which comes first, and the first two are alike: a repeated
        // block. The window counts phases.
        const std::int64_t last = rounds_.phases() - 1;
        const std::int64_t alike = std::min<std::int64_t>(2, last);
        phase(last);
        if (alike < last) {
            const auto in_phase = static_cast<std::int64_t>(rounds_.in_phase());
            const std::uint32_t window = in_.agreed.tuning.window.value_or(8);
            schedule_.repeat_begin({.total_bytes = (last - alike) * in_phase * bytes_,
                                    .block_bytes = bytes_,
                                    .window = window,
                                    .per_iteration = in_phase});
            phase(last - 1);
            if (has_carried_ && window > 1) schedule_.order(carried_there_, carried_read_, 1);
            carried_there_ = schedule_.repeat_end();
        }
        for (std::int64_t j = alike - 1; j >= 0; --j) phase(j);
    }

  private:
    // A block's operands that have been combined so far, among them this rank's own.
    struct PartialSum {
        Region region;
        OpId last = no_op;
    };

    // Whether the block that arrives in round k is sent in the next phase. There is one such block.
    // Its operands wait in `carried_`, without this rank's own.
    bool is_carried(std::size_t k) const {
        return !in_.is_root() && rounds_.to(k) != in_.root() && rounds_.arrival(k).is_phase_before;
    }

    Region part(Region vector, std::int64_t block) const {
        const std::int64_t at = (blocks_ - 1 - block) * bytes_;
        return vector.part(at, std::min(bytes_, in_.agreed.bytes - at));
    }

    void phase(std::int64_t j) {
        sums_.clear();
        operand_ = other_operand_ = {};
        free_ = other_free_ = no_op;
        take_carried(j);
        for (std::size_t k = rounds_.in_phase(); k-- > 0;) {
            if (const std::optional<std::int64_t> block = rounds_.received(j, k)) {
                const auto sum = sums_.find(*block);
                const Region given =
                    sum == sums_.end() ? part(in_.send.block(), *block) : sum->second.region;
                schedule_.send(given, rounds_.from(k),
                               {sum == sums_.end() ? no_op : sum->second.last});
            } else {
                schedule_.join({});
            }
            const std::optional<std::int64_t> block = rounds_.sent(j, k);
            if (!block) {
                schedule_.join({});
                schedule_.join({});
            } else if (is_carried(k)) {
                carry(carried_.part(0, part(in_.send.block(), *block).bytes), rounds_.to(k));
            } else {
                combine(*block, rounds_.to(k));
            }
        }
    }

    // What was carried from the phase before becomes part of its block's sum.
    void take_carried(std::int64_t j) {
        const std::optional<std::int64_t> block = has_carried_ && j < rounds_.phases() - 1
                                                      ? rounds_.received(j, rounds_.first_round())
                                                      : std::nullopt;
        carried_read_ = no_op;
        if (!block) {
            schedule_.join({});
            schedule_.join({});
            return;
        }
        const Region own = part(in_.send.block(), *block);
        const Region sum = schedule_.scratch(own.bytes);
        const OpId copied = schedule_.copy(own, sum);
        carried_read_ =
            schedule_.reduce(carried_.part(0, own.bytes), sum, {copied, carried_there_});
        sums_[*block] = {sum, carried_read_};
        is_carrying_ = false;
    }

    void carry(Region room, Rank peer) {
        if (!is_carrying_) {
            carried_there_ = schedule_.join({schedule_.recv(room, peer, {carried_read_})});
            is_carrying_ = true;
            return;
        }
        carried_there_ = add_operand(room, carried_there_, peer);
    }

    // The first operand lands where the sum will be, unless this rank's own is there.
    void combine(std::int64_t block, Rank peer) {
        const Region own = part(in_.send.block(), block);
        const auto [at, is_first] = sums_.try_emplace(block);
        PartialSum& sum = at->second;
        if (is_first) {
            sum.region =
                in_.is_root() ? part(in_.recv.block(), block) : schedule_.scratch(own.bytes);
            if (!in_.in_place) {
                const OpId arrived = schedule_.recv(sum.region, peer);
                sum.last = schedule_.reduce(own, sum.region, {arrived});
                return;
            }
        }
        sum.last = add_operand(sum.region, sum.last, peer);
    }

    // Others land in two alternating buffers.
    OpId add_operand(Region sum, OpId last, Rank peer) {
        if (operand_.bytes == 0) operand_ = schedule_.scratch(bytes_);
        const Region room = operand_.part(0, sum.bytes);
        const OpId arrived = schedule_.recv(room, peer, {free_});
        const OpId added = schedule_.reduce(room, sum, {arrived, last});
        free_ = std::exchange(other_free_, added);
        std::swap(operand_, other_operand_);
        return added;
    }

    const Problem& in_;
    std::int64_t blocks_;
    std::int64_t bytes_ =
        segment_bytes(in_.agreed.bytes, in_.agreed.element_bytes, in_.agreed.tuning);
    CirculantRounds rounds_;
    ScheduleBuilder& schedule_;

    bool has_carried_ = false;
    Region carried_ = {};
    bool is_carrying_ = false;                 // something was carried in this phase
    OpId carried_there_ = no_op;               // all that this phase, or the one before, carries
    OpId carried_read_ = no_op;                // what the phase before has carried
    std::map<std::int64_t, PartialSum> sums_;  // of this phase, by block
    Region operand_ = {};
    Region other_operand_ = {};
    OpId free_ = no_op;
    OpId other_free_ = no_op;
};

void build(const Problem& in, ScheduleBuilder& schedule) {
    const std::int64_t blocks = segment_count(in.agreed);
    if (blocks == 0 || in.ranks() == 1) {
        if (!in.in_place && blocks > 0) schedule.copy(in.send.block(), in.recv.block());
        return;
    }
    Reducer(in, blocks, schedule).build();
}

std::int64_t sent_messages(const GlobalArgs& a) { return a.ranks == 1 ? 0 : segment_count(a); }

}  // namespace

extern const Algorithm reduce_circulant = {
    .name = "circulant",
    .source = traff_2024_broadcast,
    .needs = {.commutative = true},
    .tunes = Tunes::segments,
    .rounds = [](const GlobalArgs& a) { return circulant_rounds(a, segment_count(a)); },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
