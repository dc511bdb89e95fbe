// A program without an MPI that a launcher starts, and what shows that its ranks are one job.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "support/process.h"

namespace weft::test {

// Joins the job; with "key" it swaps cards of many sizes and prints the job's key.
inline const std::string startup_rank = WEFT_BUILD_DIR "/tests/tools/startup_test --rank ";

// The key that all these ranks have printed.
inline std::string shared_key(const Finished& done, int ranks) {
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    std::istringstream lines(done.out);
    std::multiset<std::string> keys;
    for (std::string key; std::getline(lines, key);) keys.insert(key);
    EXPECT_EQ(keys.size(), static_cast<std::size_t>(ranks)) << done.out << done.err;
    if (keys.empty()) return "";
    EXPECT_EQ(keys.count(*keys.begin()), keys.size()) << "not one job: " << done.out;
    return *keys.begin();
}

// The path of a script in place of torchrun, which an MPI's launcher starts on each of two nodes: it
// starts two workers there, which print their job's key.
inline std::string torchrun_in(const Folder& folder) {
    const std::string path = folder / "torchrun";
    std::ofstream(path) << "node=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\nfor local in 0 1; do\n"
                           "    RANK=$((2 * node + local)) LOCAL_RANK=$local LOCAL_WORLD_SIZE=2 "
                           "WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT="
                        << 20'000 + getpid() % 10'000 << " TORCHELASTIC_RUN_ID=none "
                        << startup_rank << "key &\ndone\nwait\n";
    return path;
}

}  // namespace weft::test
