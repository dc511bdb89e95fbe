// What surrounds the ranks of the LogGP machine: who advances a collective, the ends of messages,
// nodes and tori.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/loggp.h"
#include "shape/topology.h"
#include "shape/torus.h"

namespace weft::simulate {

using model::LogGpParameters;
using model::time_max_ps;  // later times are refused

// Who advances a collective while its rank computes beside it.
struct Progress {
    enum class By : std::uint8_t {
        // The CPU that computes: it looks every `poll_ps` of computing, which costs `look_ps`;
        // while it finds work it goes on, and once all is computed it does nothing else.
        host,
        // A CPU of its own, unless it shares_core: it sleeps while there is nothing to do and takes
        // `wake_ps` to wake.
        thread,
        // A card, which takes `trigger_ps` for a message. It carries out the lists of
        // compile_tasks() of all lanes that it reaches; the rest is the host's, which also takes
        // `list_ps` at the start to hand over each list. A CTS comes unasked. Unlike there, joins
        // never need the host.
        offload,
    };
    By by = By::host;
    std::int64_t compute_ps = 0;  // of each rank, from its start
    std::int64_t poll_ps = 0;     // 0: it looks when all is computed
    std::int64_t look_ps = 0;
    std::int64_t wake_ps = 0;
    bool shares_core = false;  // the thread: it takes the core from what is computed, while awake
    std::int64_t trigger_ps = 0;
    std::int64_t list_ps = 0;

    bool has_own_core() const { return by == By::thread && !shares_core; }
    bool is_plain() const { return by == By::host && compute_ps == 0; }
};

// Where the two ends of a message between nodes do not do the same.
struct MessageEnds {
    // Instead of o and O.
    std::optional<std::int64_t> recv_overhead_ps;
    std::optional<std::int64_t> recv_byte_overhead_ps;
    // The sender's CPU stores every byte into the network: the first leaves after o, and the CPU is
    // busy until the last has left. Only without a card that handles messages (Progress).
    bool cpu_sends = false;
    // The receiver's CPU takes bytes as they come: after the last one it is busy for o, unless it
    // came to them late. Not on a torus.
    bool cpu_receives_along = false;
};

// A torus. One rank at each node, unless ranks share nodes.
struct TorusParameters {
    Torus torus;
    std::int64_t link_byte_ps = 6'000;  // of a link; an interface takes G
    std::int64_t hop_ps = 0;            // for each link on the way
};

// Nodes with several ranks. Rank r is at node r / ranks_per_node.
struct NodesParameters {
    Rank nodes = 1;
    Rank ranks_per_node = 1;
    std::int64_t link_byte_ps = 6'000;  // of a node's link, in each direction
    std::int64_t burst_bytes = 0;       // that a link lets through unshaped after a pause
    LogGpParameters inside;             // of messages within a node, but for their eager_bytes_max
    Rank cores = 0;              // rank r has core r % cores, also of other nodes; 0: each has one
    std::int64_t switch_ps = 0;  // until a shared core works for another rank than before
    // Whether a card (Progress::By::offload) handles messages within a node, too.
    bool has_card_inside = false;

    Rank ranks() const { return nodes * ranks_per_node; }
    Topology topology() const {
        std::vector<Rank> marks;
        std::vector<Rank> of_ranks;
        for (Rank r = 0; r < ranks(); ++r) {
            marks.push_back(r / ranks_per_node);
            if (cores > 0) of_ranks.push_back(r % cores);
        }
        return Topology(marks, std::move(of_ranks));
    }
    std::uint32_t node_of(std::uint32_t rank) const {
        return rank / static_cast<std::uint32_t>(ranks_per_node);
    }
};

// All of it, but for disturbances and shared cores, which make nothing faster.
struct Surroundings {
    const LogGpParameters& parameters;
    const MessageEnds& ends;
    const Progress& progress;
    const TorusParameters* torus = nullptr;
    const NodesParameters* nodes = nullptr;
};

}  // namespace weft::simulate
