// Builds a collective's promise from the problems of all ranks.
#pragma once

#include <span>
#include <vector>

#include "algorithm/problem.h"
#include "schedule/postcondition.h"

namespace weft::algorithm {

// Block `block` of what `rank` contributes, or gets.
struct BlockOf {
    Rank rank = 0;
    Rank block = 0;
};

class Postconditions {
  public:
    // The problems say what the ranks contribute. REQUIRES: one problem per rank.
    explicit Postconditions(std::span<const Problem> problems);

    Rank ranks() const { return problems_.front().ranks(); }
    Rank root() const { return problems_.front().root(); }
    const Neighborhood& neighbors(Rank rank) const { return *problem(rank).neighbors; }

    // At the end `into` holds what `from` held.
    void move(BlockOf from, BlockOf into);
    // At the end `into` holds the combination of block `block` of all `sources`.
    void combine(Sources sources, Rank block, BlockOf into);
    Sources everyone() const { return {0, ranks() - 1}; }
    // No rank leaves before every rank has entered.
    void synchronize() { promise_.synchronizes = true; }

    Postcondition take() { return std::move(promise_); }

  private:
    const Problem& problem(Rank rank) const { return problems_[static_cast<std::size_t>(rank)]; }
    void hold(Sources sources, Rank block, BlockOf into);

    std::span<const Problem> problems_;
    std::vector<std::vector<std::int64_t>> origins_;  // by rank and block: within its contribution
    Postcondition promise_;
};

}  // namespace weft::algorithm
