// A rank's record for the others: how to reach it over TCP.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tcp/address.h"

namespace weft::tcp {

struct Card {
    std::vector<Address> addresses;  // one for each of its links, where it listens
    std::vector<Address> others{};   // where it listens, too: called if the single link fails

    static std::optional<Card> parse(const std::string& text);
    std::string text() const;
};

}  // namespace weft::tcp
