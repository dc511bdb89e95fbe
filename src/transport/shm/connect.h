// Connecting the ranks of one node: who is on it, and the exchange of descriptors.
//
// A rank listens on an abstract Unix socket with a random name. Its card holds the name and a
// random key. When all cards are known, each pair on the same node exchanges the descriptors of
// segment and doorbells; then the sockets are closed. Only processes of the same user that know the
// key are accepted.
//
// Thread safety: none.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/status.h"
#include "transport/shm/shm.h"

namespace weft {

class ShmNode {
  public:
    // Opens the socket. Returns at once. WEFT_REFUSED_UNSUPPORTED: this process, perhaps in a
    // sandbox, may not use shared memory.
    static Result<std::unique_ptr<ShmNode>> prepare();

    // What the other ranks must pass to connect(); a word without spaces.
    const std::string& card() const { return card_; }

    // Collective over the ranks whose cards name this node: waits for them, at most 30 s.
    // cards[r] is rank r's card; a rank whose card is empty or foreign will not be reachable.
    Result<std::unique_ptr<ShmTransport>> connect(Rank rank, std::span<const std::string> cards);

  private:
    ShmNode() = default;

    Fd listener_;
    std::string card_;
};

}  // namespace weft
