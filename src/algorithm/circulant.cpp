#include "algorithm/circulant.h"

#include <algorithm>

#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

std::size_t index_of(const std::vector<int>& numbers, int number) {
    return static_cast<std::size_t>(std::ranges::find(numbers, number) - numbers.begin());
}

}  // namespace

CirculantRounds::CirculantRounds(const GlobalArgs& a, Rank rank, std::int64_t blocks)
    : rank_(rank),
      root_(a.root),
      skips_(circulant_skips(a.ranks)),
      numbers_(circulant_blocks(around(rank, -a.root, a.ranks), a.ranks)),
      blocks_(blocks) {
    const auto q = static_cast<std::int64_t>(in_phase());
    const std::int64_t rounds = blocks - 1 + q;
    phases_ = (rounds + q - 1) / q;
    skipped_ = phases_ * q - rounds;
    if (rank != root_) first_round_ = index_of(numbers_.recv, numbers_.first);
}

Rank CirculantRounds::from(std::size_t k) const { return around(rank_, -skips_[k], skips_.back()); }
Rank CirculantRounds::to(std::size_t k) const { return around(rank_, skips_[k], skips_.back()); }

std::optional<std::int64_t> CirculantRounds::block(std::int64_t phase, int number) const {
    const std::int64_t block = phase * static_cast<std::int64_t>(in_phase()) - skipped_ + number;
    if (block < 0) return std::nullopt;
    return std::min(block, blocks_ - 1);
}

std::optional<std::int64_t> CirculantRounds::received(std::int64_t phase, std::size_t k) const {
    if (rank_ == root_) return std::nullopt;
    return block(phase, numbers_.recv[k]);
}

std::optional<std::int64_t> CirculantRounds::sent(std::int64_t phase, std::size_t k) const {
    if (to(k) == root_) return std::nullopt;
    return block(phase, numbers_.send[k]);
}

CirculantRounds::Arrival CirculantRounds::arrival(std::size_t k) const {
    const int number = numbers_.send[k];
    if (number == numbers_.first - static_cast<int>(in_phase())) return {first_round_, true};
    return {index_of(numbers_.recv, number), false};
}

std::int64_t CirculantRounds::sent_bytes(std::int64_t bytes, std::int64_t last_bytes) const {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < in_phase(); ++k) {
        // Messages for blocks that do not exist would fall into the first two phases, those for the
        // last block into the last phase.
        std::int64_t phase = 0;
        while (phase < phases_ && !sent(phase, k)) ++phase;
        sum += (phases_ - phase) * bytes;
        if (phase < phases_ && *sent(phases_ - 1, k) == blocks_ - 1) sum -= bytes - last_bytes;
    }
    return sum;
}

std::int64_t circulant_rounds(const GlobalArgs& a, std::int64_t blocks) {
    return blocks == 0 || a.ranks == 1 ? 0 : blocks - 1 + ceil_log2(a.ranks);
}

}  // namespace weft::algorithm
