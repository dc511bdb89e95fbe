// Startup under `weft run`: the launcher distributes the cards over a socket.
#pragma once

#include "startup/key_value.h"
#include "startup/startup.h"

namespace weft {

class Launched final : public Startup {
  public:
    Launched(Rank rank, Rank ranks, int fd, std::int64_t timeout_ns)
        : rank_(rank), ranks_(ranks), fd_(fd), timeout_ns_(timeout_ns) {}
    ~Launched() override;

    Rank rank() const override { return rank_; }
    Rank ranks() const override { return ranks_; }
    Result<std::vector<std::string>> exchange(const std::string& card) override;
    Status cause_of(const Status& seen) override;

  private:
    // All bytes or a failure, within the deadline of the exchange. The descriptor stays blocking: a
    // shell between the launcher and this process may share it.
    Status send_all(const void* data, std::size_t bytes);
    Status recv_all(void* data, std::size_t bytes);
    Status recv_answer(std::vector<std::string>& cards);

    Rank rank_;
    Rank ranks_;
    int fd_;
    std::int64_t timeout_ns_;
    StartupDeadline deadline_;
};

}  // namespace weft
