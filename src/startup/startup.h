// How the ranks of a job find each other: who am I, how many are we, and swap cards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace weft {

class Startup {
  public:
    virtual ~Startup() = default;

    virtual Rank rank() const = 0;
    virtual Rank ranks() const = 0;

    // Every rank gives a card and gets everybody's, by rank. Collective and blocking; it also acts
    // as a barrier. Fails when a rank ends before it gave its card.
    virtual Result<std::vector<std::string>> exchange(const std::string& card) = 0;
};

// The way the environment says: a job of `weft run`, or a job of one rank.
Result<std::unique_ptr<Startup>> startup_from_environment();

}  // namespace weft
