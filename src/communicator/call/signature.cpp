#include "communicator/call/signature.h"

#include <algorithm>

namespace weft {

Signature::Signature(const SignatureView& view) : fixed_(view.fixed), counts_(view.counts.size()) {
    arrays_.reserve(view.counts.size() + view.displacements.size());
    arrays_.assign(view.counts.begin(), view.counts.end());
    arrays_.insert(arrays_.end(), view.displacements.begin(), view.displacements.end());
}

SignatureView Signature::view() const {
    const std::span<const std::int64_t> all = arrays_;
    return {fixed_, all.first(counts_), all.subspan(counts_)};
}

bool Signature::is_of(const SignatureView& call) const {
    if (fixed_ != call.fixed) return false;
    if (arrays_.empty() && call.counts.empty()) return true;
    const SignatureView own = view();
    return std::ranges::equal(own.counts, call.counts) &&
           std::ranges::equal(own.displacements, call.displacements);
}

std::uint64_t hash_of(const SignatureView& call) {
    const FixedSignature& s = call.fixed;
    std::uint64_t hash = static_cast<std::uint64_t>(s.bytes) * 0x9e3779b97f4a7c15u;
    // Bits 32 to 37 and 54 to 59 of the hash choose a set of the cache.
    hash ^= static_cast<std::uint64_t>(s.collective) << 32 | std::uint64_t{s.in_place} << 59;
    hash ^= std::uint64_t{s.commutative} << 58;
    hash ^= static_cast<std::uint64_t>(s.root) * 0xbf58476d1ce4e5b9u;
    hash ^= static_cast<std::uint64_t>(s.element_bytes ^ s.unit_bytes) << 52;
    for (const auto& array : {call.counts, call.displacements}) {
        for (const std::int64_t value : array)
            hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3u;
    }
    return hash;
}

}  // namespace weft
