// Two ranks that exchange the bytes of a collective over one TCP connection, written without the
// library: a baseline. It ends the process with a sentence if the peer is gone.
#pragma once

#include <vector>

#include "bench/player/plain_blocks.h"
#include "bench/player/player.h"

namespace weft::bench {

class Sockets final : public Player {
  public:
    // What a wait does when neither end can go on: sleeps (epoll), blocks in send and recv, or spins.
    enum class Waits { sleeping, blocking, spinning };
    Sockets(const Job& job, Waits waits) : job_(job), waits_(waits) {}
    ~Sockets() override;
    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;

    std::string absence(const Collective& collective, const Job& job) const override {
        return PlainBlocks::absence(collective, job, /*can_add=*/true);
    }
    void start(const Collective& collective, Case& c) override;
    bool test() override;
    void wait() override;
    void barrier() override { must(weft_barrier(job_.comm), "weft_barrier"); }

  private:
    // By the first start. On one host it uses loopback, otherwise the first network interface that is
    // up and has an IPv4 address.
    void connect_ranks();
    void set_blocking(bool blocks);
    // False: nothing could be moved now.
    bool move();
    bool has_ended() const { return blocks_.outgoing.empty() && blocks_.incoming.empty(); }
    void add_terms();

    const Job job_;
    const Waits waits_;
    int fd_ = -1;
    int epoll_ = -1;
    PlainBlocks blocks_;         // what is left
    std::vector<double> terms_;  // of a sum: what comes
    std::span<double> sum_;
    std::span<const double> own_terms_;
};

}  // namespace weft::bench
