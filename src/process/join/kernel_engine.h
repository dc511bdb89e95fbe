// Whether this process can use the kernel engine, and what carries out its task lists.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process/process.h"
#include "run/offload.h"

namespace weft {

// Why it cannot: not in this build, refused by the operating system, or too old. Empty: it can.
// Tried once, then remembered.
const std::string& kernel_engine_absence();

// queue_depth in WEFT_RESOURCES: how many entries the operating system gets at a time.
Result<unsigned> queue_depth_from_environment();

// Null: kernel_engine_absence() says why. `routes`: by rank of the job.
std::unique_ptr<Offload> make_offload(const std::vector<Transport*>& routes,
                                      Offload::Options options);

// How many operations were offloaded, and why others were not. Empty: the engine offloads none.
std::string offload_account(Process& process);

}  // namespace weft
