// Whether this process can use the kernel engine, and what carries out its task lists.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run/offload.h"

namespace weft {

// Why it cannot: not in this build, refused by the operating system, too old. Empty: it can. Found
// out once, by trying.
const std::string& kernel_engine_absence();

// WEFT_QUEUE_DEPTH: entries that the operating system is handed at a time.
Result<unsigned> queue_depth_from_environment();

// Null: kernel_engine_absence() says why. `routes`: by rank of the job.
std::unique_ptr<Offload> make_offload(const std::vector<Transport*>& routes, unsigned queue_depth);

}  // namespace weft
