// What a schedule depends on: calls with equal signatures share one.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "algorithm/collective.h"
#include "base/status.h"
#include "reduce/kernel_types.h"
#include "reduce/wire.h"

namespace weft {

// Blocks that differ, in units (Signature::unit_bytes), by rank or neighbor. Empty: none.
struct BlockSpans {
    std::span<const std::int64_t> counts = {};
    std::span<const std::int64_t> displacements = {};
};

// Its arrays belong to others: to the caller, or to the cache.
struct Signature {
    Collective collective = Collective::barrier;
    bool in_place = false;                // on this rank
    bool commutative = true;              // the operation
    bool of_library = false;              // the library's own call: forced algorithms do not apply
    bool combines = false;                // see algorithm::GlobalArgs
    bool reproducible = false;            // the same
    Scale scale = Scale::none;            // the operation
    bool accumulates = false;             // in float32, elements of 16 bits
    WireFormat wire = WireFormat::exact;  // of its elements in messages
    std::int32_t root = 0;
    // See algorithm::GlobalArgs; if each rank knows only its own blocks, see
    // algorithm::LocalBlocks.
    std::int64_t bytes = 0;
    std::int64_t element_bytes = 1;
    std::int64_t unit_bytes = 1;  // bytes of an element in the arrays; types that differ: 1
    BlockSpans send = {};
    BlockSpans recv = {};

    // The bytes of a block; if blocks differ, of all blocks in the call's arrays (if it has two
    // arrays: of those received).
    std::int64_t total_bytes() const {
        const std::span<const std::int64_t> counts =
            recv.counts.empty() ? send.counts : recv.counts;
        if (counts.empty()) return bytes;
        return std::reduce(counts.begin(), counts.end()) * unit_bytes;
    }
    bool has_arrays() const { return !send.counts.empty() || !recv.counts.empty(); }
    std::array<std::span<const std::int64_t>, 4> arrays() const {
        return {send.counts, send.displacements, recv.counts, recv.displacements};
    }
};

// Copies the arrays; the signature then refers to the copy.
std::vector<std::int64_t> copy_arrays(Signature& signature);

bool operator==(const Signature& left, const Signature& right);
std::uint64_t hash_of(const Signature& signature);

}  // namespace weft
