// Two ranks that exchange the bytes of a collective over one TCP connection, written without the
// library: a baseline.
#pragma once

#include <memory>
#include <vector>

#include "bench/player/plain_blocks.h"
#include "bench/player/player.h"
#include "bench/player/socket_pair.h"

namespace weft::bench {

class Sockets final : public Player {
  public:
    // What a wait does when neither end can go on: sleeps (epoll), blocks in send and recv, or spins.
    enum class Waits { sleeping, blocking, spinning };
    Sockets(const Job& job, Waits waits) : job_(job), waits_(waits) {}

    std::string absence(const Collective& collective, const Job& job) const override {
        return PlainBlocks::absence(collective, job, /*can_add=*/true);
    }
    void start(const Collective& collective, Case& c) override;
    bool test() override;
    void wait() override;
    void barrier() override { must(weft_barrier(job_.comm), "weft_barrier"); }

  private:
    // False: nothing could be moved now.
    bool move();
    bool has_ended() const { return blocks_.outgoing.empty() && blocks_.incoming.empty(); }
    void add_terms();

    const Job job_;
    const Waits waits_;
    std::unique_ptr<SocketPair> pair_;  // made by the first start
    PlainBlocks blocks_;
    std::vector<double> terms_;  // of a sum: what comes
    std::span<double> sum_;
    std::span<const double> own_terms_;
};

}  // namespace weft::bench
