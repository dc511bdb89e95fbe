// Connecting the ranks of one node: which ranks share it, and the exchange of descriptors.
//
// A rank listens on an abstract Unix socket with a random name. Its card holds the name and a
// random key. When all cards are known, each pair on the same node exchanges the descriptors of
// segment and doorbells; then the sockets are closed. Only processes of the same user that know the
// key are accepted.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/status.h"
#include "transport/shm/shm.h"

// A rank's record for the others: its node, and how to reach it through shared memory.
namespace weft::shm {

using Key = std::array<unsigned char, 16>;

struct Card {
    std::string node;  // equal on ranks that can reach each other
    pid_t pid = 0;
    std::string socket;  // the name of an abstract Unix socket
    Key key{};           // known only to the job: other users can see socket names

    // A card for this process with a new name and key. Refused if there are no random numbers.
    static Result<Card> make();
    static std::optional<Card> parse(const std::string& text);
    std::string text() const;
};

}  // namespace weft::shm

namespace weft {

class ShmNode {
  public:
    // Opens the socket. Returns at once. WEFT_REFUSED_UNSUPPORTED: this process, perhaps in a
    // sandbox, may not use shared memory.
    static Result<std::unique_ptr<ShmNode>> prepare();

    // The other ranks must pass this to connect(); a word without spaces.
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
