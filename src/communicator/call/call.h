// Where a call is made, and which part of it counts on this rank. The call itself is a weft_call
// (weft/call.h).
#pragma once

#include "algorithm/collective_spec.h"
#include "reduce/wire.h"
#include "shape/neighborhood.h"
#include "shape/topology.h"
#include "weft/call.h"

namespace weft {

class Torus;

// What a communicator tells about its rank.
struct CallContext {
    Rank rank = 0;
    Rank ranks = 1;
    bool combines = false;  // all ranks' transports combine on arrival; the same on all ranks
    const Topology* topology = nullptr;       // of the communicator
    const Torus* torus = nullptr;             // null: its network was not declared to be one
    const Neighborhood* neighbors = nullptr;  // null: it has no Cartesian or graph topology
    bool reproducible = false;                // its setting
    bool accumulates = false;                 // its setting "accumulate=float32"
    WireFormat wire = WireFormat::exact;      // its setting
    float* wire_error = nullptr;              // keeps the largest bound on an error of a result
};

// A buffer of blocks of `count` bytes.
inline weft_side bytes_at(const void* data, std::size_t count) {
    return {const_cast<void*>(data), count, nullptr, nullptr, WEFT_BYTE, nullptr};
}

inline Collective collective_of(const weft_call& call) {
    return static_cast<Collective>(call.collective);
}

// Which buffers of a call this rank uses.
struct UsedSides {
    bool send;
    bool recv;

    UsedSides(const algorithm::CollectiveSpec& spec, bool is_root, bool is_in_place) {
        using algorithm::Blocks;
        using algorithm::InPlace;
        const bool spares_recv = spec.in_place == InPlace::recv_at_root;
        send = spec.send_blocks(is_root) != Blocks::none &&
               spec.in_place != InPlace::root_has_one_buffer && !(is_in_place && !spares_recv);
        recv = spec.recv_blocks(is_root) != Blocks::none && !(is_in_place && spares_recv);
    }
    // The buffer that tells the count and type of this rank's blocks.
    const weft_side& own(const weft_call& call) const { return send ? call.send : call.recv; }
};

}  // namespace weft
