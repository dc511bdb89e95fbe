// The serving side of the card exchange (key_value.h): collects one card per rank, then sends all
// ranks all cards and a key. `weft run` has one, and so has rank 0 of a job without a launcher
// (card_host.h). Not thread safe. When a rank ends, or is given up, every unfinished and later
// exchange fails. Each failure names the first such rank: others may have ended because of it.
#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/job_key.h"
#include "startup/key_value.h"

namespace weft {

class CardServer {
  public:
    // The first `ranks` of them come by join(); add() adds further ones.
    explicit CardServer(const JobKey& key, std::size_t ranks = 0) : key_(key), clients_(ranks) {}
    ~CardServer();
    CardServer(const CardServer&) = delete;
    CardServer& operator=(const CardServer&) = delete;

    // Serves the next rank on this socket, which it then owns.
    void add(int fd);
    // Serves this rank on the socket, which it then owns. REQUIRES: it has not joined.
    void join(std::size_t rank, int fd);
    bool has_joined(std::size_t rank) const { return clients_[rank].has_joined; }
    // It has joined, and hung up.
    bool has_left(std::size_t rank) const { return has_joined(rank) && clients_[rank].fd < 0; }

    // What to poll for a rank; the descriptor is -1 once it has left.
    pollfd interest(std::size_t rank) const;
    void on_ready(std::size_t rank, short events);
    void rank_ended(std::size_t rank);
    // It does not come.
    void give_up(std::size_t rank);

    // The first rank for which others wait.
    std::optional<std::size_t> awaited() const;
    // Some answers are not sent yet.
    bool has_answers() const;

  private:
    struct Client {
        int fd = -1;
        bool has_joined = false;
        bool asked = false;
        bool was_answered = false;  // with the cards: now it may close the socket and go on
        std::string in{};           // received and not yet answered: size and card
        std::shared_ptr<const std::string> out{};  // to be sent, and shared: all cards may be large
        std::size_t sent = 0;                      // of it
    };
    // Why exchanges fail.
    struct Loss {
        WireAnswer how;
        std::size_t rank;
    };

    void receive(Client& client);
    void send(Client& client);
    void leave(Client& client);
    void lose(WireAnswer how, std::size_t rank);
    void answer();

    JobKey key_;
    std::vector<Client> clients_;
    std::optional<Loss> first_lost_;
};

}  // namespace weft
