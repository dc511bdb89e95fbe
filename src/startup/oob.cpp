#include "startup/oob.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "startup/wire.h"

namespace weft {

Status OobStartup::allgather(const weft_oob& oob, Bytes mine, MutBytes all) {
    const int error =
        oob.allgather(oob.context, mine.data(), all.data(), static_cast<int>(mine.size()));
    if (error == 0) return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED, "the out-of-band allgather failed with error %d",
                   error);
}

Result<std::vector<std::string>> OobStartup::exchange(const std::string& card) {
    struct Head {
        JobKey key{};  // of rank 0
        WireSize bytes = 0;
    };
    Head mine{.bytes = static_cast<WireSize>(card.size())};
    if (rank() == 0) {
        if (key_ == JobKey{}) WEFT_RETURN_IF_NOT_OK(random_bytes(key_));
        mine.key = key_;
    }
    const auto count = static_cast<std::size_t>(ranks());
    std::vector<Head> heads(count);
    WEFT_RETURN_IF_NOT_OK(allgather(oob_, std::as_bytes(std::span(&mine, 1)),
                                    std::as_writable_bytes(std::span(heads))));
    key_ = heads.front().key;
    ::explicit_bzero(&mine, sizeof mine);
    ::explicit_bzero(&heads.front().key, sizeof heads.front().key);

    std::size_t longest = 1;
    for (const Head& head : heads) longest = std::max<std::size_t>(longest, head.bytes);
    if (longest > wire_card_bytes_max) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "a card of %zu bytes; the limit is %u", longest,
                       wire_card_bytes_max);
    }
    std::vector<std::byte> padded(longest);
    std::memcpy(padded.data(), card.data(), card.size());
    std::vector<std::byte> all(longest * count);
    WEFT_RETURN_IF_NOT_OK(allgather(oob_, padded, all));
    std::vector<std::string> cards;
    for (std::size_t r = 0; r < count; ++r) {
        cards.emplace_back(reinterpret_cast<const char*>(all.data()) + r * longest, heads[r].bytes);
    }
    return cards;
}

}  // namespace weft
