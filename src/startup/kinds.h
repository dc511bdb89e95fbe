// The kinds of startup, among which the environment chooses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "startup/startup.h"

namespace weft {

struct JobRank {
    Rank rank = 0;
    Rank ranks = 1;
    std::int64_t timeout_ns = 60'000'000'000;
};

// Where ranks without a launcher's help find rank 0.
struct MeetingPoint {
    std::vector<std::string> hosts;    // names or addresses of one machine, the best first
    std::vector<std::uint16_t> ports;  // rank 0 takes the first that is free
    std::string job;                   // names the job: the same on all its ranks
    std::string said_by;               // "MASTER_ADDR = 'node1', MASTER_PORT = 29500"

    // "port 7000", "ports 29510 to 29517"
    std::string ports_text() const {
        const std::string first = std::to_string(ports.front());
        if (ports.size() == 1) return "port " + first;
        return "ports " + first + " to " + std::to_string(ports.back());
    }
};

// `fd`: the socket of `weft run`.
std::unique_ptr<Startup> startup_by_weft_run(const JobRank& place, int fd);
// `setting` has named the path.
std::unique_ptr<Startup> startup_in_directory(const JobRank& place, std::string path,
                                              std::string setting);
// `fd` stays open: an MPI in this process uses it too.
std::unique_ptr<Startup> startup_by_pmi(const JobRank& place, int fd);
// REQUIRES: PMIX_NAMESPACE and PMIX_RANK are set.
Result<std::unique_ptr<Startup>> startup_by_pmix(std::int64_t timeout_ns);
// Rank 0 listens from now on.
Result<std::unique_ptr<Startup>> startup_at(const JobRank& place, const MeetingPoint& point);

}  // namespace weft
