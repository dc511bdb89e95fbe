// How the ranks of a job find each other: this rank, the number of ranks, the exchange of cards,
// the key.
#pragma once

#include <string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/job_key.h"
#include "base/random.h"
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

    // Every rank gives a card and gets all cards, by rank. Collective and blocking; also a barrier.
    // Fails when a rank ends before it gives its card, or does not give it in time.
    virtual Result<std::vector<std::string>> exchange(const std::string& card) = 0;

    // The address by which the other ranks reach this one over a network, if the startup knows it:
    // a text as WEFT_INTERFACES takes it. Empty: it does not. Collective and blocking, before the
    // exchange of cards.
    virtual Result<std::string> own_address() { return std::string(); }

    // After an exchange: what to report for `seen`, a failure to reach a rank. If the launcher
    // knows that another rank ended first, it names that one instead.
    virtual Status cause_of(const Status& seen) { return seen; }

    // Random, the same on every rank of the job and on no other; valid after an exchange.
    const JobKey& key() const { return key_; }

    // What told this process its rank: "weft run".
    const std::string& source() const { return source_; }
    void set_source(std::string source) { source_ = std::move(source); }

  protected:
    JobKey key_{};

  private:
    std::string source_;
};

// The startup that the environment asks for (environment.cpp).
Result<std::unique_ptr<Startup>> startup_from_environment();

// Its source, without joining.
std::string startup_source();

// Whether the environment says that a launcher has started this process as a rank.
bool is_rank_of_a_job();

// A process that no launcher started as a rank: a job of one rank.
class Alone final : public Startup {
  public:
    Rank rank() const override { return 0; }
    Rank ranks() const override { return 1; }
    Result<std::vector<std::string>> exchange(const std::string& card) override {
        WEFT_RETURN_IF_NOT_OK(random_bytes(key_));
        return std::vector<std::string>{card};
    }
};

}  // namespace weft
