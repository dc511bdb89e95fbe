// What bench/alternate.py promises, tried with programs that print a given table.
#include "support/pattern.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::alternate_test {

const std::string alternate = "python3 " WEFT_SOURCE_DIR "/bench/alternate.py ";

// A program `weft` in this folder, which prints one row.
void make_program(const std::string& folder, const std::string& row) {
    std::ofstream(folder + "/weft") << "#!/bin/sh\necho \"" + row + "\"\n";
    std::filesystem::permissions(folder + "/weft", std::filesystem::perms::owner_all);
}

TEST(Alternate, ComparesTwoBuilds) {
    const Folder old_build, new_build;
    make_program(old_build / "", "$1 $2  thread  10.0  4");
    make_program(new_build / "", "$1 $2  thread  20.0  3");
    const Finished done = expect_success(alternate + "--rounds 2 " + (old_build / "") + " " +
                                         (new_build / "") + " -- overlap");
    EXPECT_FALSE(matches_in(done.out, "bench overlap thread 1 +10 +20 +2\\.000 +2\\.000\n").empty())
        << done.out;
    EXPECT_FALSE(matches_in(done.out, "bench overlap thread 2 +4 +3 +0\\.750 +0\\.750\n").empty())
        << done.out;
}

// A sixth of the rounds' ratios differ, and no more rounds than these: the interval is from the least to the largest.
TEST(Alternate, SaysHowSureTheRatioOfRoundsIs) {
    const Folder old_build, new_build;
    make_program(old_build / "", "row  10");
    make_program(new_build / "", "row  $(cat " + (new_build / "next") +
                                     " 2> /dev/null || echo 11)\n$(echo 12 > " +
                                     (new_build / "next") + ")");
    const std::string builds = (old_build / "") + " " + (new_build / "") + " -- overlap";
    const Finished done = run(alternate + "--rounds 6 " + builds);
    EXPECT_FALSE(
        matches_in(done.out, "row 1 +10 +12 +1\\.200 +1\\.200 \\(1\\.100-1\\.200\\)\n").empty())
        << done.out << done.err;
}

TEST(Alternate, ComparesTwoSettings) {
    const Folder build;
    make_program(build / "", "row  ${FIRST:-1}  ${SECOND:-1}");
    const std::string builds = (build / "") + " " + (build / "") + " -- overlap";
    const Finished done = expect_success(
        alternate + "--rounds 1 --old-env FIRST=2 --new-env FIRST=3 --new-env SECOND=4 " + builds);
    EXPECT_FALSE(matches_in(done.out, "row 1 +2 +3 +1\\.500 +1\\.500\n").empty()) << done.out;
    EXPECT_FALSE(matches_in(done.out, "row 2 +1 +4 +4\\.000 +4\\.000\n").empty()) << done.out;
    for (const char* setting : {"FIRST", "=2"}) {
        expect_refusal(alternate + "--new-env " + setting + " " + builds, 2, "expected NAME=VALUE");
    }
}

}  // namespace weft::test::alternate_test
