// The ranks of a node within one process, over one mapping: as threads, ThreadSanitizer sees
// everything that goes on between them.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "transport/shm/shm.h"

namespace weft::test {

class ShmRanks {
  public:
    // `pid`: whose memory the ranks believe to read when they read one another's.
    ShmRanks(Rank ranks, shm::Settings settings, pid_t pid = getpid()) {
        const auto count = static_cast<std::size_t>(ranks);
        std::vector<shm::Doorbells> doorbells;
        for (std::size_t r = 0; r < count; ++r) {
            segments_.push_back(std::move(
                *must(shm::Segment::create({.rings = count, .ring_bytes = settings.ring_bytes}))));
            doorbells.push_back(std::move(*must(shm::Doorbells::create())));
            lives_.emplace_back(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        }
        for (std::size_t r = 0; r < count; ++r) {
            ShmTransport::Parts parts;
            parts.ranks = ranks;
            parts.index = r;
            parts.segment = segments_[r];
            parts.doorbells = std::move(*must(doorbells[r].duplicate()));
            parts.settings = settings;
            for (std::size_t p = 0; p < count; ++p) {
                if (p == r) continue;
                shm::PeerParts peer;
                peer.rank = static_cast<Rank>(p);
                peer.index = p;
                peer.segment = segments_[p];
                peer.doorbells = std::move(*must(doorbells[p].duplicate()));
                peer.life = Fd(fcntl(lives_[p].get(), F_DUPFD_CLOEXEC, 0));
                peer.pid = pid;
                parts.peers.push_back(std::move(peer));
            }
            ends_.push_back(std::move(*must(ShmTransport::create(std::move(parts)))));
        }
    }
    explicit ShmRanks(Rank ranks)
        : ShmRanks(ranks, shm::Settings::defaults(static_cast<std::size_t>(ranks))) {}

    ShmTransport& at(Rank rank) { return *ends_[static_cast<std::size_t>(rank)]; }

    // The rank's end, for somebody who owns it from now on.
    std::unique_ptr<ShmTransport> take(Rank rank) {
        return std::move(ends_[static_cast<std::size_t>(rank)]);
    }

    // The memory of the ring from one rank to another, to write records by hand.
    shm::RingMemory ring(Rank from, Rank to) {
        return segments_[static_cast<std::size_t>(to)]->ring(static_cast<std::size_t>(from));
    }

    // To the others it looks as if the rank's process had ended. Nobody may use the rank again.
    void kill(Rank rank) { eventfd_write(lives_[static_cast<std::size_t>(rank)].get(), 1); }

    // The rank leaves in good order.
    void leave(Rank rank) { ends_[static_cast<std::size_t>(rank)].reset(); }

  private:
    template <class T>
    static Result<T> must(Result<T> result) {
        WEFT_ASSERT(result.is_ok());
        return result;
    }

    std::vector<std::shared_ptr<shm::Segment>> segments_;
    std::vector<Fd> lives_;
    std::vector<std::unique_ptr<ShmTransport>> ends_;
};

}  // namespace weft::test
