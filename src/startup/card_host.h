// Rank 0's part where no launcher serves the cards: it listens, and a thread of its own hears
// callers out and serves those that prove to be ranks of the job (CardServer). Strangers have no
// effect: they are dropped when they answer wrongly, say nothing for some seconds, or are too many.
// The thread ends when rank 0 has hung up and the others have their answers.
//
// Thread safety: none. The thread has all state; others only start it and wait for its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/job_key.h"
#include "base/status.h"
#include "base/thread.h"
#include "startup/card_server.h"
#include "startup/kinds.h"
#include "tcp/handshake.h"

namespace weft {

class CardHost {
  public:
    // Listens at all addresses of this machine, at the first free port of the meeting point.
    // Refused, too: at a port before that one listens rank 0 of a job of the same names, whose
    // ranks would be mixed with this one's.
    // `greeting`: the key by which callers prove that they mean this job. `salt`: given to all.
    static Result<std::unique_ptr<CardHost>> open(const JobRank& place, const MeetingPoint& point,
                                                  const JobKey& greeting, const JobKey& salt);
    // Waits until the others have their answers, for a bounded time.
    // REQUIRES: rank 0's own socket is closed.
    ~CardHost();
    CardHost(const CardHost&) = delete;
    CardHost& operator=(const CardHost&) = delete;

    // Starts the thread; the other end of rank 0's own socket.
    Result<Fd> start();

  private:
    struct Unproven {
        Fd socket;
        tcp::Handshake handshake;
        std::int64_t deadline_ns;
        short events;
    };

    CardHost(const JobRank& place, const JobKey& greeting, const JobKey& salt);
    void serve();
    void wait_for_events(std::int64_t until_ns);
    void accept_callers();
    void make_room();
    void drop_slow_callers(std::int64_t now);
    void hear(Unproven& caller);
    void take_in(Unproven& caller);

    const std::size_t ranks_;
    const std::int64_t timeout_ns_;
    const JobKey greeting_;
    Fd listener_;
    CardServer cards_;
    std::vector<Unproven> callers_;  // that are not proven, the oldest first
    bool said_shortage_ = false;     // of descriptors
    Thread thread_;
};

}  // namespace weft
