// What a rank tells the others: where it is, and how to reach it through shared memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>

#include "base/status.h"

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
