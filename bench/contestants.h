// Engines compared within one job.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/engines.h"
#include "bench/job.h"
#include "bench/plain/copy_thread.h"
#include "bench/rivals/rival.h"

namespace weft::bench {

// An engine, and the job with a communicator made while that engine was in force on every rank:
// ranks agree on an engine's connections when a communicator is made. Or an MPI's own calls: then
// the engine has that MPI's name and is manual. Or a plain copy thread, likewise.
struct Contestant {
    Engine engine;
    Job job;
    const Rival* rival = nullptr;
    CopyThread* copies = nullptr;
};

// None if the library refuses this engine on some rank; rank 0 prints why. Collective; afterwards
// the engine manual is in force.
std::optional<Contestant> contestant(const Job& job, const Engine& engine);

// All of `wanted` that can be used. Fails if there is none.
std::vector<Contestant> contestants(const Job& job, std::span<const Engine> wanted);

// The MPI's own calls.
Contestant contestant(const Job& job, const Rival& rival);

inline constexpr const char* copy_thread_name = "copy thread";
Contestant contestant(const Job& job, CopyThread& copies);

// If a contestant offloads, rank 0 prints for every rank which operations were handed to
// the operating system and which not, and how many threads io_uring had started when engines were
// switched. Collective.
void print_offload(const Job& job, std::span<const Contestant> chosen);

// Puts an engine in force once all ranks have left earlier operations, so that no peer changes
// engines within one. Collective.
void switch_engine(const Job& job, weft_engine engine);

}  // namespace weft::bench
