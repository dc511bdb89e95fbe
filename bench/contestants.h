// Engines that are compared within one job.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/engines.h"
#include "bench/job.h"
#include "bench/rivals/rival.h"

namespace weft::bench {

// An engine, and the job with a communicator that was made while it was in force on every rank:
// what an engine needs of connections is agreed on when a communicator is made.
// Or an MPI's own calls: then the engine has that MPI's name, and stands for manual.
struct Contestant {
    Engine engine;
    Job job;
    const Rival* rival = nullptr;
};

// None, and rank 0 prints why, when the library refuses this engine on some rank. Collective; the
// engine in force afterwards is manual.
std::optional<Contestant> contestant(const Job& job, const Engine& engine);

// All of `wanted` that there are. Fails when there is none.
std::vector<Contestant> contestants(const Job& job, std::span<const Engine> wanted);

// The MPI's own calls.
Contestant contestant(const Job& job, const Rival& rival);

// Where a contestant is a kernel engine, rank 0 prints of every rank which operations were handed to
// the operating system and which not, and how many threads io_uring has started beside the program,
// as seen when engines were switched. Collective.
void print_offload(const Job& job, std::span<const Contestant> chosen);

// Puts an engine in force when all ranks have left the operations before, so that none sees its
// peers change engines within one. Collective.
void switch_engine(const Job& job, weft_engine engine);

}  // namespace weft::bench
