// The launcher's side of the card exchange: collects one card per rank, then sends all ranks all
// cards and the job's key. Not thread safe. When a rank ends, every unfinished and later exchange
// fails. Each failure names the first rank that ended: others may have ended because of it.
#pragma once

#include <poll.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/job_key.h"

namespace weft {

class CardServer {
  public:
    explicit CardServer(const JobKey& key) : key_(key) {}
    ~CardServer();
    CardServer(const CardServer&) = delete;
    CardServer& operator=(const CardServer&) = delete;

    // Serves the next rank on this non-blocking socket, which it then owns.
    void add(int fd);

    // What to poll for a rank; the descriptor is -1 once it has left.
    pollfd interest(std::size_t rank) const;
    void on_ready(std::size_t rank, short events);
    void rank_ended(std::size_t rank);

  private:
    struct Peer {
        int fd;
        bool asked = false;
        bool was_answered = false;  // with the cards: now it may close the socket and go on
        std::string in;             // received and not yet answered: size and card
        std::string out;            // to be sent
    };

    void receive(Peer& peer);
    void send(Peer& peer);
    void leave(Peer& peer);
    void answer();

    JobKey key_;
    std::vector<Peer> peers_;
    std::optional<std::size_t> first_ended_;
};

}  // namespace weft
