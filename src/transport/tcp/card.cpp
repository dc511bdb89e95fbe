// Making and reading cards: "weft-tcp-1/10.0.0.1:4000,[fd00::1]:4001" has two links, and
// "weft-tcp-1/10.0.0.1:4000;10.1.0.1:4001;10.2.0.1:4002" one, with two more addresses to be tried.
#include "transport/tcp/card.h"

#include <string_view>

#include "base/setting.h"

namespace weft::tcp {
namespace {

constexpr std::string_view card_version = "weft-tcp-1/";

// Nothing: some of them are none.
std::optional<std::vector<Address>> parse_list(std::string_view words, const char* separator) {
    std::vector<Address> addresses;
    while (!words.empty()) {
        const std::optional<Address> address =
            Address::parse(std::string(take_until(words, separator)));
        if (!address) return std::nullopt;
        addresses.push_back(*address);
    }
    if (addresses.empty()) return std::nullopt;
    return addresses;
}

std::string list_text(const std::vector<Address>& addresses, char separator) {
    std::string text;
    for (const Address& address : addresses) {
        if (!text.empty()) text += separator;
        text += address.text();
    }
    return text;
}

}  // namespace

std::optional<Card> Card::parse(const std::string& text) {
    if (!text.starts_with(card_version)) return std::nullopt;
    const std::string_view lists = std::string_view(text).substr(card_version.size());
    const std::size_t end = lists.find(';');
    const std::optional<std::vector<Address>> links = parse_list(lists.substr(0, end), ",");
    if (!links) return std::nullopt;
    Card card{.addresses = *links};
    if (end == lists.npos) return card;
    const std::optional<std::vector<Address>> others = parse_list(lists.substr(end + 1), ";");
    if (!others || links->size() > 1) return std::nullopt;
    card.others = *others;
    return card;
}

std::string Card::text() const {
    std::string text = std::string(card_version) + list_text(addresses, ',');
    if (!others.empty()) text += ";" + list_text(others, ';');
    return text;
}

}  // namespace weft::tcp
