// Making and reading cards: "weft-shm-2/<node>/<pid>/<socket>/<key>".
#include "transport/shm/card.h"

#include <unistd.h>

#include <charconv>
#include <span>
#include <vector>

#include "base/node.h"
#include "base/random.h"

namespace weft::shm {
namespace {

constexpr const char* card_version = "weft-shm-2";

std::string hex(const Key& key) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (unsigned char byte : key) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::optional<Key> parse_hex(const std::string& text) {
    Key key;
    if (text.size() != 2 * key.size()) return std::nullopt;
    auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    for (std::size_t i = 0; i < key.size(); ++i) {
        const int high = digit(text[2 * i]);
        const int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        key[i] = static_cast<unsigned char>(high * 16 + low);
    }
    return key;
}

}  // namespace

Result<Card> Card::make() {
    Key name;
    Key key;
    WEFT_RETURN_IF_NOT_OK(random_bytes(std::as_writable_bytes(std::span(name))));
    WEFT_RETURN_IF_NOT_OK(random_bytes(std::as_writable_bytes(std::span(key))));
    return Card{this_node(), getpid(), "weft-" + hex(name), key};
}

std::optional<Card> Card::parse(const std::string& text) {
    std::vector<std::string> fields(1);
    for (char c : text) {
        if (c == '/')
            fields.emplace_back();
        else
            fields.back() += c;
    }
    if (fields.size() != 5 || fields[0] != card_version) return std::nullopt;
    pid_t pid = 0;
    const char* pid_end = fields[2].data() + fields[2].size();
    const auto [stop, error] = std::from_chars(fields[2].data(), pid_end, pid);
    const std::optional<Key> key = parse_hex(fields[4]);
    if (error != std::errc{} || stop != pid_end || pid <= 0 || !key) return std::nullopt;
    return Card{fields[1], pid, fields[3], *key};
}

std::string Card::text() const {
    return std::string(card_version) + "/" + node + "/" + std::to_string(pid) + "/" + socket + "/" +
           hex(key);
}

}  // namespace weft::shm
