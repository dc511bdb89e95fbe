// A communicator's settings, the same on all its ranks, which agree on them when it is made.
// Communicators made from it inherit them.
#pragma once

#include <cstdint>
#include <string_view>

#include "reduce/wire.h"
#include "select/select.h"

namespace weft {

struct CommunicatorSettings {
    Selector selector;          // forced algorithms
    bool reproducible = false;  // reductions combine by one association (algorithm::GlobalArgs)
    bool accumulates = false;   // sums and products of 16-bit elements stay float32 until the end
    WireFormat wire = WireFormat::exact;  // of float32 in messages of some collectives
    std::uint32_t links = 0;              // of a node's, that messages use; 0: all
    bool offloads = true;  // a kernel engine may take operations; ranks may differ in this

    // These settings with changes such as "allreduce=ring bcast=chain:segment=64K links=1". Refuses
    // unknown words.
    Result<CommunicatorSettings> changed(std::string_view words) const;
    // Equal if the settings lead to the same messages.
    // Never 0.
    std::uint64_t digest() const;
};

}  // namespace weft
