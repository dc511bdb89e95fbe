// The kinds of startup, among which the environment chooses.
#pragma once

#include <memory>
#include <string>

#include "startup/startup.h"

namespace weft {

struct JobRank {
    Rank rank = 0;
    Rank ranks = 1;
    std::int64_t timeout_ns = 60'000'000'000;
};

// `fd`: the socket of `weft run`.
std::unique_ptr<Startup> startup_by_weft_run(const JobRank& place, int fd);
std::unique_ptr<Startup> startup_in_directory(const JobRank& place, std::string path);
// `fd` stays open: an MPI in this process uses it too.
std::unique_ptr<Startup> startup_by_pmi(const JobRank& place, int fd);
// REQUIRES: PMIX_NAMESPACE and PMIX_RANK are set.
Result<std::unique_ptr<Startup>> startup_by_pmix(std::int64_t timeout_ns);

}  // namespace weft
