#include "startup/oob.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/random.h"
#include "startup/key_value.h"

namespace weft {

Status OobStartup::allgather(const weft_oob& oob, Bytes mine, MutBytes all) {
    const int error =
        oob.allgather(oob.context, mine.data(), all.data(), static_cast<int>(mine.size()));
    if (error == 0) return ok;
    return failure(
        WEFT_REFUSED_UNSUPPORTED,
        "the allgather of an out-of-band group of %d ranks failed on rank %d with error %d",
        oob.ranks, oob.rank, error);
}

struct OobStartup::Head {
    JobKey key{};        // of rank 0, if it is no member yet
    WireSize bytes = 0;  // of the rank's card
    Membership membership = Membership::none;
};

Result<std::vector<OobStartup::Head>> OobStartup::gather_heads(const weft_oob& oob,
                                                               const Head& mine) {
    std::vector<Head> heads(static_cast<std::size_t>(oob.ranks));
    WEFT_RETURN_IF_NOT_OK(allgather(oob, std::as_bytes(std::span(&mine, 1)),
                                    std::as_writable_bytes(std::span(heads))));
    const Status alike = compare(heads);
    if (alike.is_ok()) return heads;
    ::explicit_bzero(&heads.front().key, sizeof heads.front().key);
    return alike;
}

Status OobStartup::compare(const std::vector<Head>& heads) {
    const auto left = std::ranges::find(heads, Membership::left, &Head::membership);
    if (left != heads.end()) {
        const auto rank = static_cast<Rank>(left - heads.begin());
        return failure_of_rank(WEFT_REFUSED_STATE, rank,
                               "rank %d of the group has finalized Weft; a process can join its "
                               "job only once",
                               rank);
    }
    return ok;
}

Status OobStartup::agree_on_membership(const weft_oob& oob, Membership mine) {
    return gather_heads(oob, {.membership = mine}).status();
}

Result<std::vector<std::string>> OobStartup::exchange(const std::string& card) {
    Head mine{.bytes = static_cast<WireSize>(card.size())};
    if (rank() == 0) {
        if (key_ == JobKey{}) WEFT_RETURN_IF_NOT_OK(random_bytes(key_));
        mine.key = key_;
    }
    const auto count = static_cast<std::size_t>(ranks());
    Result<std::vector<Head>> gathered = gather_heads(oob_, mine);
    ::explicit_bzero(&mine, sizeof mine);
    if (!gathered.is_ok()) return gathered.status();
    std::vector<Head>& heads = *gathered;
    key_ = heads.front().key;
    ::explicit_bzero(&heads.front().key, sizeof heads.front().key);
    const auto member = std::ranges::find(heads, Membership::member, &Head::membership);
    if (member != heads.end()) {
        if (others_are_members_ != nullptr) *others_are_members_ = true;
        const auto rank = static_cast<Rank>(member - heads.begin());
        return failure_of_rank(WEFT_REFUSED_STATE, rank, "rank %d of the group is in a job already",
                               rank);
    }

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
