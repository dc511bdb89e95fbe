// How evenly a job has used the links of its emulated nodes.
#pragma once

#include "bench/job.h"
#include "bench/testbed.h"

namespace weft::bench {

// Prints the bytes that each node has sent over each of its links in this job, and how much less the least used link
// carried than the most used one. Prints nothing if nodes have one link. Collective.
void print_links(const Job& job, const Testbed& testbed);

}  // namespace weft::bench
