#include "communicator/call/signature.h"

#include <algorithm>

#include "base/hash.h"

namespace weft {

std::vector<std::int64_t> copy_arrays(Signature& signature) {
    std::size_t all = 0;
    for (const auto& array : signature.arrays()) all += array.size();
    std::vector<std::int64_t> copy;
    copy.reserve(all);
    for (auto* array : {&signature.send.counts, &signature.send.displacements,
                        &signature.recv.counts, &signature.recv.displacements}) {
        const std::size_t begin = copy.size();
        copy.insert(copy.end(), array->begin(), array->end());
        *array = std::span<const std::int64_t>(copy).subspan(begin);
    }
    return copy;
}

bool operator==(const Signature& left, const Signature& right) {
    if (left.collective != right.collective || left.in_place != right.in_place ||
        left.commutative != right.commutative || left.of_library != right.of_library ||
        left.combines != right.combines || left.reproducible != right.reproducible ||
        left.scale != right.scale || left.accumulates != right.accumulates ||
        left.wire != right.wire || left.root != right.root || left.bytes != right.bytes ||
        left.element_bytes != right.element_bytes || left.unit_bytes != right.unit_bytes) {
        return false;
    }
    if (!left.has_arrays() && !right.has_arrays()) return true;
    return std::ranges::equal(
        left.arrays(), right.arrays(),
        [](const auto& one, const auto& other) { return std::ranges::equal(one, other); });
}

std::uint64_t hash_of(const Signature& s) {
    std::uint64_t hash = static_cast<std::uint64_t>(s.bytes) * 0x9e3779b97f4a7c15u;
    // Bits 32 to 37 and 54 to 59 of the hash choose a set of the cache.
    hash ^= static_cast<std::uint64_t>(s.collective) << 32 | std::uint64_t{s.in_place} << 59;
    hash ^= std::uint64_t{s.commutative} << 58 | static_cast<std::uint64_t>(s.scale) << 56;
    hash ^= static_cast<std::uint64_t>(s.root) * 0xbf58476d1ce4e5b9u;
    hash ^= static_cast<std::uint64_t>(s.element_bytes ^ s.unit_bytes) << 52;
    if (!s.has_arrays()) return hash;
    Hash all(hash);
    for (const auto& array : s.arrays()) {
        for (const std::int64_t value : array) all.add(static_cast<std::uint64_t>(value));
    }
    return all.value();
}

}  // namespace weft
