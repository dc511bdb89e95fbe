// Making and reading cards: "weft-tcp-1/10.0.0.1:4000,[fd00::1]:4001".
#include "transport/tcp/card.h"

#include <string_view>

#include "base/setting.h"

namespace weft::tcp {
namespace {

constexpr const char* card_version = "weft-tcp-1/";

}  // namespace

std::optional<Card> Card::parse(const std::string& text) {
    if (!text.starts_with(card_version)) return std::nullopt;
    Card card;
    std::string_view words = text;
    words.remove_prefix(std::string_view(card_version).size());
    while (!words.empty()) {
        std::optional<Address> address = Address::parse(std::string(take_until(words, ",")));
        if (!address) return std::nullopt;
        card.addresses.push_back(*address);
    }
    if (card.addresses.empty()) return std::nullopt;
    return card;
}

std::string Card::text() const {
    std::string text = card_version;
    for (const Address& address : addresses) {
        if (&address != addresses.data()) text += ",";
        text += address.text();
    }
    return text;
}

}  // namespace weft::tcp
