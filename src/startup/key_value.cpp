#include "startup/key_value.h"

#include <errno.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"

namespace weft {

Status StartupDeadline::passed() const {
    return failure(WEFT_REFUSED_STATE,
                   "not all ranks had started after %g s; WEFT_STARTUP_TIMEOUT sets how long "
                   "to wait",
                   static_cast<double>(timeout_ns) / 1e9);
}

Status wait_for_launcher(int fd, short events, const StartupDeadline& deadline) {
    for (;;) {
        const std::int64_t left_ns = deadline.at_ns - now_ns();
        if (left_ns <= 0) return deadline.passed();
        pollfd entry{fd, events, 0};
        int ready = ::poll(&entry, 1, static_cast<int>(left_ns / 1'000'000 + 1));
        if (ready > 0) return ok;
        if (ready < 0 && errno != EINTR) {
            return failure(WEFT_REFUSED_STATE, "cannot wait for the launcher: %s",
                           std::strerror(errno));
        }
    }
}

namespace {

constexpr char digits[] = "0123456789abcdef";

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::optional<std::string> from_hexadecimal(std::string_view text) {
    constexpr std::string_view known = digits;
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const std::size_t high = known.find(text[i]);
        const std::size_t low = known.find(text[i + 1]);
        if (high >= 16 || low >= 16) return std::nullopt;
        bytes += static_cast<char>(high << 4 | low);
    }
    return bytes;
}

// Before the first piece: the number of all digits, so that a reader knows when to stop.
constexpr std::size_t length_digits = 8;

std::string length_text(std::size_t length) {
    std::string text(length_digits, '0');
    for (std::size_t i = length_digits; i-- > 0; length >>= 4) text[i] = digits[length & 15];
    return text;
}

std::optional<std::size_t> parse_length(std::string_view text) {
    std::optional<std::string> bytes = from_hexadecimal(text.substr(0, length_digits));
    if (!bytes || bytes->size() != length_digits / 2) return std::nullopt;
    std::size_t length = 0;
    for (const char c : *bytes) length = length << 8 | static_cast<unsigned char>(c);
    return length;
}

std::string piece_name(const std::string& name, Rank rank, std::size_t piece) {
    return name + "-" + std::to_string(rank) + "-" + std::to_string(piece);
}

}  // namespace

Status KeyValueStartup::put_all(const std::string& name, const std::string& bytes) {
    const std::string text = hexadecimal(bytes);
    const std::string all = length_text(text.size()) + text;
    for (std::size_t at = 0, piece = 0; at < all.size(); at += value_bytes_max_, ++piece) {
        WEFT_RETURN_IF_NOT_OK(
            put(piece_name(name, rank_, piece), all.substr(at, value_bytes_max_)));
    }
    return ok;
}

Result<std::string> KeyValueStartup::get_all(Rank owner, const std::string& name) {
    std::string all;
    std::optional<std::size_t> length;  // of all digits
    for (std::size_t piece = 0; !length || all.size() < length_digits + *length; ++piece) {
        Result<std::string> value = get(owner, piece_name(name, owner, piece));
        if (!value.is_ok()) return value.status();
        all += *value;
        if (piece == 0) length = parse_length(all);
        if (!length || *length > 2 * wire_card_bytes_max || value->empty()) break;
    }
    std::optional<std::string> bytes;
    if (length && all.size() == length_digits + *length) {
        bytes = from_hexadecimal(std::string_view(all).substr(length_digits));
    }
    if (bytes) return *bytes;
    return failure_of_rank(
        WEFT_REFUSED_STATE, owner,
        "the launcher's value of rank %d for '%s' is not one that Weft has put there", owner,
        name.c_str());
}

Result<std::vector<std::string>> KeyValueStartup::exchange(const std::string& card) {
    if (card.size() > wire_card_bytes_max) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "a card of %zu bytes; the limit is %u",
                       card.size(), wire_card_bytes_max);
    }
    // A new name for each exchange of this process: a slow rank may still read the last one.
    static std::atomic<unsigned> exchanges{0};
    const std::string name = "weft-" + std::to_string(exchanges++);
    deadline_.at_ns = now_ns() + deadline_.timeout_ns;

    if (rank_ == 0) {
        if (key_ == JobKey{}) WEFT_RETURN_IF_NOT_OK(random_bytes(key_));
        WEFT_RETURN_IF_NOT_OK(
            put_all(name + "-key", {reinterpret_cast<const char*>(key_.data()), key_.size()}));
    }
    WEFT_RETURN_IF_NOT_OK(put_all(name, card));
    WEFT_RETURN_IF_NOT_OK(fence());

    if (rank_ != 0) {
        Result<std::string> key = get_all(0, name + "-key");
        if (!key.is_ok()) return key.status();
        if (key->size() != key_.size()) {
            return failure_of_rank(WEFT_REFUSED_STATE, 0, "rank 0 gave a key of %zu bytes",
                                   key->size());
        }
        std::ranges::copy(std::as_bytes(std::span(*key)), key_.begin());
        ::explicit_bzero(key->data(), key->size());
    }
    std::vector<std::string> cards;
    for (Rank rank = 0; rank < ranks_; ++rank) {
        Result<std::string> theirs = rank == rank_ ? card : get_all(rank, name);
        if (!theirs.is_ok()) return theirs.status();
        cards.push_back(std::move(*theirs));
    }
    return cards;
}

}  // namespace weft
