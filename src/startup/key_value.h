// A rank of a launcher that keeps a space of keys and values for its job: PMI, PMIx.
//
// Every rank puts its card there, rank 0 also the job's key; when all have, each gets everybody's.
// The job's key is as secret as that space: launchers keep it in their own memory and hand it to the
// processes they have started over sockets, between nodes over their own connections, which most of
// them do not encrypt. Who can read those can join the job.
#pragma once

#include <string>
#include <vector>

#include "startup/startup.h"
#include "startup/wait.h"

namespace weft {

class KeyValueStartup : public Startup {
  public:
    Rank rank() const final { return rank_; }
    Rank ranks() const final { return ranks_; }
    Result<std::vector<std::string>> exchange(const std::string& card) final;

  protected:
    // value_bytes_max: of values, which are words of hexadecimal digits.
    KeyValueStartup(Rank rank, Rank ranks, std::int64_t timeout_ns, std::size_t value_bytes_max)
        : rank_(rank),
          ranks_(ranks),
          value_bytes_max_(value_bytes_max),
          deadline_{.timeout_ns = timeout_ns} {}

    virtual Status put(const std::string& key, const std::string& value) = 0;
    // Until every rank has come here; afterwards all of them see what any has put before.
    virtual Status fence() = 0;
    // What rank `owner` has put.
    virtual Result<std::string> get(Rank owner, const std::string& key) = 0;

    const StartupDeadline& deadline() const { return deadline_; }

  private:
    Status put_all(const std::string& name, const std::string& bytes);
    Result<std::string> get_all(Rank owner, const std::string& name);

    Rank rank_;
    Rank ranks_;
    std::size_t value_bytes_max_;
    StartupDeadline deadline_;
};

}  // namespace weft
