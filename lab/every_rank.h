// A call on all ranks, for tools, the bench and tests: every rank's problem, and the arrays it refers to.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "algorithm/collective_spec.h"

namespace weft {

class EveryRank {
  public:
    // Bytes that one rank sends to another. Among neighbors, `block` is its number at the source.
    using Amount = std::function<std::int64_t(Rank from, Rank to, std::size_t block)>;

    // Blocks whose sizes all ranks know are agreed.sizes, at `offsets`; the caller keeps both. Other blocks have the
    // sizes that `amount` returns: contiguous, or with gaps and the last one first. `neighbors`: by rank, if the
    // collective is among neighbors; the caller keeps them too.
    EveryRank(const algorithm::CollectiveSpec& spec, const algorithm::GlobalArgs& agreed,
              bool in_place, std::span<const std::int64_t> offsets = {}, const Amount& amount = {},
              std::int64_t gap = 0, std::span<const Neighborhood> neighbors = {});

    EveryRank(const EveryRank&) = delete;
    EveryRank& operator=(const EveryRank&) = delete;

    const std::vector<algorithm::Problem>& problems() const { return problems_; }

  private:
    algorithm::BlockList list(std::vector<std::int64_t> sizes, std::int64_t gap);

    std::vector<algorithm::Problem> problems_;
    std::deque<std::vector<std::int64_t>> arrays_;
};

}  // namespace weft
