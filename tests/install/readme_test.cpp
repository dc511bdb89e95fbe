// README's programs compile as its lines say, and run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/process.h"

namespace weft::test {
namespace {

// The text of each block that begins with ```language.
std::vector<std::string> blocks(const std::string& language) {
    std::vector<std::string> found;
    std::istringstream lines(content(WEFT_SOURCE_DIR "/README.md"));
    bool is_inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) {
            is_inside = line == "```" + language;
            if (is_inside) found.emplace_back();
        } else if (is_inside) {
            found.back() += line + "\n";
        }
    }
    return found;
}

// What two ranks print.
Lines printed_by(const std::string& text, const std::string& compiler, const std::string& suffix) {
    const Folder folder;
    const std::string source = folder / ("program." + suffix);
    const std::string program = folder / "program";
    std::ofstream(source) << text;
    const Finished compiled =
        run(compiler + " -Wall -Wextra -Werror -I" WEFT_SOURCE_DIR "/include " + source + " -o " +
            program + " -L" WEFT_BUILD_DIR " -lweft -Wl,-rpath," WEFT_BUILD_DIR);
    EXPECT_EQ(compiled.status, 0) << compiled.err;
    const Finished done = run(WEFT_BUILD_DIR "/weft run -n 2 " + program);
    EXPECT_EQ(done.status, 0) << done.err;
    return sorted_lines(done.out);
}

TEST(Readme, ItsCProgramAddsTheRanksUp) {
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "built without it";
    const std::vector<std::string> programs = blocks("c");
    ASSERT_EQ(programs.size(), 2u) << "one of them is for an MPI: tests/mpi";
    const Lines lines = printed_by(programs[0], WEFT_C_COMPILER " " WEFT_C_FLAGS, "c");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_TRUE(lines[0].starts_with("rank 0: 1 ")) << lines[0];
    EXPECT_TRUE(lines[1].starts_with("rank 1: 1 ")) << lines[1];
}

TEST(Readme, ItsCxxProgramGivesEveryRankWhatTheRootHad) {
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "built without it";
    const std::vector<std::string> programs = blocks("cpp");
    ASSERT_EQ(programs.size(), 1u);
    EXPECT_EQ(printed_by(programs[0], WEFT_CXX_COMPILER " " WEFT_CXX_FLAGS " -std=c++20", "cpp"),
              (Lines{"rank 0: 2.09715e+06", "rank 1: 2.09715e+06"}));
}

}  // namespace
}  // namespace weft::test
