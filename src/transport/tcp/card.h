// A rank's record for the others: how to reach it over TCP.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tcp/address.h"

namespace weft::tcp {

struct Card {
    std::vector<Address> addresses;  // one for each of its interfaces, where it listens

    static std::optional<Card> parse(const std::string& text);
    std::string text() const;
};

}  // namespace weft::tcp
