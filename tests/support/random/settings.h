// The settings that the seed of a random program chooses: forced algorithms, engines, and ways
// through shared memory and over tcp.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "select/select.h"
#include "support/random/program.h"
#include "support/tori.h"
#include "transport/mpi/settings.h"
#include "transport/shm/settings.h"
#if WEFT_HAS_TCP
#include "transport/tcp/settings.h"
#endif
#if WEFT_HAS_UCX
#include "transport/ucx/settings.h"
#endif

namespace weft::test::random {

struct Settings {
    std::vector<std::pair<Collective, std::string>> forced;
    Sizes torus;  // declared to be the network; empty: none is
    EngineKind engine = EngineKind::thread;
    std::optional<std::size_t> ring_bytes;
    std::optional<std::size_t> eager_threshold;
    std::uint32_t connections = 0;  // of each pair; 0: one for each link
    std::uint64_t links = 1;
    bool offers_all = false;  // to a kernel engine
    std::optional<unsigned> queue_depth;
    bool checks_calls = false;
    bool dedicates = false;  // connections to streams
    bool dedicated_rendezvous = false;
    bool sets_core_aside = false;  // for the progress threads of processes, which share another one
    shm::LargeMethod large = shm::LargeMethod::ring;

    static Settings of(const Case& c);

    Selector selector() const;
    std::string interfaces() const;
    shm::Settings of_shm(int ranks) const;
    mpi::Settings of_mpi() const;
#if WEFT_HAS_TCP
    tcp::Settings of_tcp() const;
#endif
#if WEFT_HAS_UCX
    // Of what a job has, with what the seed chooses.
    ucx::Settings of_ucx(ucx::Settings result) const;
#endif
    // For processes: "WEFT_ENGINE=manual WEFT_ALGORITHM=bcast=chain:segment=512,window=2"
    std::string environment() const;
};

}  // namespace weft::test::random
