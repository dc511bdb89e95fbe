// Joins the job: exchanges cards with the other ranks, compares settings, connects the transports.
// And communicators of ranks of the job that have an out-of-band exchange (adopt.cpp).
#pragma once

#include <memory>

#include "process/process.h"
#include "weft/oob.h"

namespace weft {

// Joins the job that the environment describes. Collective over the job.
Result<std::unique_ptr<Process>> join_job();

// Joins the job that is the group of `oob`. Collective over the group. Refused if some of its
// processes are in a job already: then `others_are_members` is set.
Result<std::unique_ptr<Process>> join_job(const weft_oob& oob, bool& others_are_members);

// Joins a job of this process alone.
Result<std::unique_ptr<Process>> join_alone();

// Makes the communicator of a group, all of whose processes are members of jobs. Collective over
// the group; blocks. The engine must not be held.
Result<Communicator*> adopt(Process& process, const weft_oob& oob);
// Takes part in it for a process that could not join a job. Returns why.
Status refuse_group(const weft_oob& oob, const Status& why);

// The part of it for processes of several jobs (across.cpp).
struct GroupAcrossJobs {
    std::uint64_t context = 0;
    std::vector<std::uint64_t> processes{};  // by rank (Outside::process())
};
Result<Communicator*> adopt_across_jobs(Process& process, const weft_oob& oob,
                                        const GroupAcrossJobs& group);

// Makes the communicator of the group with which this process has just joined the job (join_job()):
// its ranks know all about it. Does not block. The engine must not be held.
Result<Communicator*> adopt_job(Process& process);

}  // namespace weft
