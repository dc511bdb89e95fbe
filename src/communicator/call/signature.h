// What a schedule depends on: calls with equal signatures share one.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "algorithm/collective.h"
#include "base/status.h"

namespace weft {

// The part that every call has.
struct FixedSignature {
    Collective collective = Collective::barrier;
    bool in_place = false;      // on this rank
    bool commutative = true;    // the operation
    bool of_library = false;    // see Call
    bool combines = false;      // see algorithm::Agreed
    bool reproducible = false;  // the same
    std::int32_t root = 0;
    // See algorithm::Agreed; if each rank knows only its own blocks, see algorithm::OwnBlocks.
    std::int64_t bytes = 0;
    std::int64_t element_bytes = 1;
    std::int64_t unit_bytes = 1;  // bytes of an element in the arrays; types that differ: 1

    friend bool operator==(const FixedSignature&, const FixedSignature&) = default;
};

// Blocks that differ, in units (FixedSignature), by rank or neighbor: see Call. Empty: none.
struct BlockSpans {
    std::span<const std::int64_t> counts = {};
    std::span<const std::int64_t> displacements = {};
};

// One call's signature. Its arrays are the caller's own; they are not copied.
struct SignatureView {
    FixedSignature fixed;
    BlockSpans send = {};
    BlockSpans recv = {};

    // The bytes of a block; if blocks differ, of all blocks in the call's arrays (if it has two arrays: of those
    // received).
    std::int64_t bytes() const {
        const std::span<const std::int64_t> counts =
            recv.counts.empty() ? send.counts : recv.counts;
        if (counts.empty()) return fixed.bytes;
        return std::reduce(counts.begin(), counts.end()) * fixed.unit_bytes;
    }
    bool has_arrays() const { return !send.counts.empty() || !recv.counts.empty(); }
    std::array<std::span<const std::int64_t>, 4> arrays() const {
        return {send.counts, send.displacements, recv.counts, recv.displacements};
    }
};

// A copy that owns its arrays.
class Signature {
  public:
    Signature() = default;
    explicit Signature(const SignatureView& view);

    SignatureView view() const;
    bool is_of(const SignatureView& call) const;
    std::int64_t memory_bytes() const {
        return static_cast<std::int64_t>(arrays_.capacity() * sizeof(std::int64_t));
    }

  private:
    FixedSignature fixed_;
    std::array<std::size_t, 4> lengths_ = {};
    std::vector<std::int64_t> arrays_;  // concatenated
};

std::uint64_t hash_of(const SignatureView& call);

}  // namespace weft
