// A mismatched call ends on every rank in a status that names a rank and both sizes.
#include <gtest/gtest.h>

#include <string>

#include "tools/process.h"

namespace weft::test {
namespace {

TEST(Mismatch, IsToldToEveryRank) {
    const std::string build = WEFT_BUILD_DIR;
    for (const char* engine : {"manual", "thread"}) {
        for (int ranks : {2, 3, 4, 5}) {
            for (const char* counts : {"2 3", "3 2", "10000 2", "2 10000", "100000 100001"}) {
                std::string command = std::string("WEFT_ENGINE=") + engine + " " + build +
                                      "/weft run --timeout 30 -n " + std::to_string(ranks) + " " +
                                      build + "/tests/fault/mismatch_program " + counts;
                Process job(command);
                job.finish();
                ASSERT_EQ(job.status, 0) << "repeat with: " << command << "\n"
                                         << job.out << job.err;
            }
        }
    }
}

}  // namespace
}  // namespace weft::test
