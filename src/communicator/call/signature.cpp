#include "communicator/call/signature.h"

#include <algorithm>

#include "base/hash.h"

namespace weft {

Signature::Signature(const SignatureView& view) : fixed_(view.fixed) {
    const auto arrays = view.arrays();
    std::size_t all = 0;
    for (std::size_t i = 0; i < arrays.size(); ++i) all += lengths_[i] = arrays[i].size();
    arrays_.reserve(all);
    for (const auto& array : arrays) arrays_.insert(arrays_.end(), array.begin(), array.end());
}

SignatureView Signature::view() const {
    SignatureView view{fixed_};
    std::span<const std::int64_t> rest = arrays_;
    std::size_t i = 0;
    for (auto* array : {&view.send.counts, &view.send.displacements, &view.recv.counts,
                        &view.recv.displacements}) {
        *array = rest.first(lengths_[i]);
        rest = rest.subspan(lengths_[i++]);
    }
    return view;
}

bool Signature::is_of(const SignatureView& call) const {
    if (fixed_ != call.fixed) return false;
    if (arrays_.empty() && !call.has_arrays()) return true;
    const auto equal = [](const auto& left, const auto& right) {
        return std::ranges::equal(left, right);
    };
    return std::ranges::equal(view().arrays(), call.arrays(), equal);
}

std::uint64_t hash_of(const SignatureView& call) {
    const FixedSignature& s = call.fixed;
    std::uint64_t hash = static_cast<std::uint64_t>(s.bytes) * 0x9e3779b97f4a7c15u;
    // Bits 32 to 37 and 54 to 59 of the hash choose a set of the cache.
    hash ^= static_cast<std::uint64_t>(s.collective) << 32 | std::uint64_t{s.in_place} << 59;
    hash ^= std::uint64_t{s.commutative} << 58;
    hash ^= static_cast<std::uint64_t>(s.root) * 0xbf58476d1ce4e5b9u;
    hash ^= static_cast<std::uint64_t>(s.element_bytes ^ s.unit_bytes) << 52;
    if (!call.has_arrays()) return hash;
    Hash all(hash);
    for (const auto& array : call.arrays()) {
        for (const std::int64_t value : array) all.add(static_cast<std::uint64_t>(value));
    }
    return all.value();
}

}  // namespace weft
