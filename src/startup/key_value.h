// Startup over a launcher's key-value space: PMI, PMIx.
//
// Every rank puts its card there, and rank 0 also the job's key; once all have done so, each rank
// gets all cards. The job's key is as secret as that space. Launchers keep it in memory, and send
// it over sockets to the processes that they started, and between nodes over their own connections,
// which most do not encrypt. Anyone who can read those can join the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "startup/startup.h"

namespace weft {

// Waiting for a launcher's socket, until the deadline of an exchange.
struct StartupDeadline {
    std::int64_t at_ns = 0;
    std::int64_t timeout_ns = 0;  // for the message

    Status passed() const;
};

// Waits until the socket is ready for `events` (of poll), or closed.
Status wait_for_launcher(int fd, short events, const StartupDeadline& deadline);

// The protocol between a rank and the server of cards: its launcher, over the socket
// WEFT_STARTUP_FD, or rank 0 (card_host.h).
//
// An exchange, in the byte order of the machines:
//   rank to server    WireSize n, then the n bytes of its card
//   server to rank    once all have asked: WireAnswer::cards, a JobKey, then by rank WireSize n
//                     and n bytes
//                  or WireAnswer::rank_ended, then WireSize: the first rank that ended
// A rank may do several exchanges; its k-th matches the k-th of every other rank. The key is always
// the same.
// Rank 0 says `joined` when it has taken a rank in. It may also answer by rank_missing, and the
// rank that has not come in time; or at once, by rank_taken and the rank, to a second process of
// that number.

using WireSize = std::uint32_t;

enum class WireAnswer : std::uint32_t {
    cards = 0x57454654,
    rank_ended = 0x57454645,
    rank_missing = 0x5745464d,
    rank_taken = 0x57454653,
    joined = 0x5745464a,
};

inline constexpr WireSize wire_card_bytes_max = 1u << 20;
inline constexpr WireSize wire_ranks_max = 1u << 16;

class KeyValueStartup : public Startup {
  public:
    Rank rank() const final { return rank_; }
    Rank ranks() const final { return ranks_; }
    Result<std::vector<std::string>> exchange(const std::string& card) final;

  protected:
    // value_bytes_max: the limit for a value, which is hexadecimal digits.
    KeyValueStartup(Rank rank, Rank ranks, std::int64_t timeout_ns, std::size_t value_bytes_max)
        : rank_(rank),
          ranks_(ranks),
          value_bytes_max_(value_bytes_max),
          deadline_{.timeout_ns = timeout_ns} {}

    virtual Status put(const std::string& key, const std::string& value) = 0;
    // A barrier; afterwards every rank sees what any rank has put before.
    virtual Status fence() = 0;
    // The value that rank `owner` has put.
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
