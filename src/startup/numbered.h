// Launchers that number a job's processes and name a host, and leave it to them to find each other:
// torchrun and others that set what PyTorch reads, indexed jobs of Kubernetes, and srun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "startup/kinds.h"

namespace weft {

struct Numbered {
    JobRank place;
    MeetingPoint point;
    std::string source;  // the variables
};

// What the innermost of them says. Nothing: there is none, or it has started one process. Refused:
// a variable is malformed.
Result<std::optional<Numbered>> numbered_by_launcher();

// A process that is one of several, but cannot join the others, says so.
void warn_of_lone_rank();

// A job of one rank, by this source, beside a WORLD_SIZE of more, says so.
void warn_of_world_size(const std::string& source);

// The first host of a list as Slurm writes it: "node[07-09,12],other" has "node07". Empty: there is
// none.
std::string first_host(std::string_view list);

}  // namespace weft
