// How the ranks of a job find each other: who am I, how many are we, swap cards, share a key.
#pragma once

#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include "base/job_key.h"
#include "base/status.h"

namespace weft {

class Startup {
  public:
    Startup() = default;
    virtual ~Startup() { ::explicit_bzero(key_.data(), key_.size()); }
    Startup(const Startup&) = delete;
    Startup& operator=(const Startup&) = delete;

    virtual Rank rank() const = 0;
    virtual Rank ranks() const = 0;

    // Every rank gives a card and gets everybody's, by rank. Collective and blocking; it also acts
    // as a barrier. Fails when a rank ends before it gave its card, or does not give it in time.
    virtual Result<std::vector<std::string>> exchange(const std::string& card) = 0;

    // After an exchange: what to report of `seen`, a failure to reach a rank. That one may have ended
    // because of another, which is named instead where the launcher knows.
    virtual Status cause_of(const Status& seen) { return seen; }

    // Random, the same on every rank of the job and on no other; valid after an exchange.
    const JobKey& key() const { return key_; }

  protected:
    JobKey key_{};
};

// The way the environment says: a job of `weft run`, of any other launcher with a directory, of a
// launcher that speaks PMIx or PMI, or of one rank.
Result<std::unique_ptr<Startup>> startup_from_environment();

// Whether the environment says that a launcher has started this process as a rank.
bool is_rank_of_a_job();

}  // namespace weft
