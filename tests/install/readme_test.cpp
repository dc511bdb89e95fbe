// The programs in README.md and docs/*.md compile without warnings, run, and say why if Weft refuses to start.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "mpi/mpis.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test::readme_test {

// A block of code: what stands between two lines of three backquotes.
struct Block {
    std::string where;     // "README.md:24"
    std::string language;  // what the first of these lines says; often nothing
    std::string text;

    bool is_c() const { return language == "c"; }
    bool is_program() const { return is_c() || language == "cpp"; }
    bool has(const std::string& part) const { return text.find(part) != text.npos; }
};

std::vector<Block> blocks_of(const std::string& page) {
    std::vector<Block> found;
    std::istringstream lines(content(WEFT_SOURCE_DIR "/" + page));
    bool is_inside = false;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.starts_with("```")) {
            is_inside = !is_inside;
            if (is_inside)
                found.push_back({page + ":" + std::to_string(number), line.substr(3), ""});
        } else if (is_inside) {
            found.back().text += line + "\n";
        }
    }
    return found;
}

std::vector<Block> all_blocks() {
    std::vector<Block> all = blocks_of("README.md");
    for (const auto& page : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/docs")) {
        if (page.path().extension() != ".md") continue;
        for (const Block& block : blocks_of("docs/" + page.path().filename().string()))
            all.push_back(block);
    }
    return all;
}

// A program in a folder of its own.
class Program {
  public:
    Program(const Block& block, const std::string& compiler) {
        const std::string source = folder_ / (block.is_c() ? "program.c" : "program.cpp");
        std::ofstream(source) << block.text;
        const bool has_fibers = block.has("weft/fiber.hpp");
        compiled_ = run(compiler + " -Wall -Wextra -Werror -I" WEFT_SOURCE_DIR "/include " +
                        source + " -o " + path() + " -L" WEFT_BUILD_DIR +
                        (has_fibers ? " -lweft_fiber" : "") + " -lweft -Wl,-rpath," WEFT_BUILD_DIR);
        EXPECT_EQ(compiled_.status, 0) << block.where << "\n" << compiled_.err;
    }
    std::string path() const { return folder_ / "program"; }
    bool is_there() const { return compiled_.status == 0; }

  private:
    Folder folder_;
    Finished compiled_;
};

const char* const refusing = "WEFT_ENGINE=refused";

void expect_right(const Block& block, const Finished& done) {
    EXPECT_EQ(done.status, 0) << block.where << "\n" << done.out << done.err;
    EXPECT_EQ(done.err, "") << block.where;
    if (!block.where.starts_with("README.md") && !block.where.starts_with("docs/using.md")) return;
    const Lines lines = sorted_lines(done.out);
    ASSERT_EQ(lines.size(), 2u) << block.where;
    for (std::size_t rank = 0; rank < 2; ++rank) {
        const std::string result = block.is_c() ? "1 " : "2.09715e+06";
        EXPECT_TRUE(lines[rank].starts_with("rank " + std::to_string(rank) + ": " + result))
            << block.where << ": " << lines[rank];
    }
}

// It ends, not successfully, and its user learns the reason.
void expect_refused(const Block& block, const Finished& done) {
    EXPECT_NE(done.status, 0) << block.where << " went on: " << done.out;
    EXPECT_NE(done.status, 124) << block.where << " had to be stopped";
    EXPECT_TRUE(contains(done.err, "WEFT_ENGINE = 'refused'; expected ")) << block.where;
    EXPECT_EQ(done.out, "") << block.where << " went on";
}

std::string on_two_ranks(const Program& program, const std::string& settings = "") {
    return "env " + settings + " timeout 50 " WEFT_BUILD_DIR "/weft run -n 2 " + program.path();
}

TEST(Readme, BlocksOfCodeSayTheirLanguage) {
    for (const Block& block : all_blocks()) {
        const bool is_code = block.has("#include") || block.has(";\n");
        EXPECT_EQ(block.is_program(), is_code) << block.where;
        EXPECT_TRUE(!is_code || block.has("int main(")) << block.where << " is no whole program";
    }
}

TEST(Readme, ProgramsRunAndSayWhyTheyCannotStart) {
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "built without it";
    int tried = 0;
    for (const Block& block : all_blocks()) {
        if (!block.is_program() || block.has("<mpi.h>")) continue;
        if (block.has("weft/fiber.hpp") &&
            !std::filesystem::exists(WEFT_BUILD_DIR "/libweft_fiber.so"))
            continue;
        const Program program(block, block.is_c() ? WEFT_C_COMPILER " " WEFT_C_FLAGS
                                                  : WEFT_CXX_COMPILER " " WEFT_CXX_FLAGS
                                                                      " -std=c++20");
        if (!program.is_there()) continue;
        ++tried;
        expect_right(block, run(on_two_ranks(program)));
        expect_refused(block, run(on_two_ranks(program, refusing)));
    }
    EXPECT_GE(tried, 4);
}

class ReadmeOnMpi : public OnEveryMpi {};

INSTANTIATE_TEST_SUITE_P(On, ReadmeOnMpi, testing::ValuesIn(mpis()), name_of_mpi);

TEST_P(ReadmeOnMpi, ProgramsRunAndSayWhyTheyCannotStart) {
    if (const std::string absence = mpi().absence(); !absence.empty()) GTEST_SKIP() << absence;
    int tried = 0;
    for (const Block& block : all_blocks()) {
        if (!block.is_program() || !block.has("<mpi.h>")) continue;
        const Program program(block, mpi().around("mpicc"));
        if (!program.is_there()) continue;
        ++tried;
        const Finished done = run(mpi().job(2, program.path()));
        EXPECT_EQ(done.status, 0) << block.where << "\n" << done.out << done.err;
        EXPECT_EQ(done.out, "2 ranks\n") << block.where;
        // (MPICH's launcher sometimes loses what a program wrote right before its end.)
        Finished refused = run(mpi().job(2, program.path(), refusing));
        for (int i = 0; i < 3 && refused.err.empty(); ++i)
            refused = run(mpi().job(2, program.path(), refusing));
        expect_refused(block, refused);
    }
    EXPECT_EQ(tried, 1) << "docs/using.md has one";
}

std::string replaced(std::string text, const std::string& old, const std::string& other) {
    for (std::size_t at = 0; (at = text.find(old, at)) != text.npos; at += other.size())
        text.replace(at, old.size(), other);
    return text;
}

// What a reader pastes after MPICH and Weft are there, over a faster link and with little to compute.
TEST_P(ReadmeOnMpi, TheTryOutRunsAProgramWithoutWeftAndWithIt) {
    std::string absence = mpi().absence();
    if (mpi().name != std::string("mpich")) absence = "README names MPICH";
    if (!WEFT_HAS_TCP) absence = "without tcp there is nothing between nodes";
    for (const std::string built : {"weft", "weft_mpi_mpich.so"}) {
        if (!std::filesystem::exists(WEFT_BUILD_DIR "/" + built)) absence = built + " is not built";
    }
    if (absence.empty())
        absence = absence_of_nodes(geteuid() == 0 ? "unshare " : "unshare --user --map-root-user ");
    if (!absence.empty()) GTEST_SKIP() << absence;

    std::string pasted;
    for (const Block& block : blocks_of("README.md")) {
        if (block.has("weft preload ./mpi_overlap")) pasted = block.text;
    }
    pasted.erase(0, pasted.find("cat > launch"));
    ASSERT_NE(pasted, "") << "README has the commands";
    pasted = replaced(replaced(pasted, "1gbit", "10gbit"), "./mpi_overlap", "./mpi_overlap 1000");

    const Folder folder;
    std::ofstream(folder / "pasted") << "set -e\n" << pasted;
    expect_success(
        mpi().around("mpicc -std=c99 -pedantic -O2 -Wall -Wextra -Werror " WEFT_SOURCE_DIR
                     "/examples/mpi_overlap.c -o " +
                     (folder / "mpi_overlap")));
    const Finished done = run(mpi().around("cd " + (folder / "") +
                                           "; WEFT_STATS=1 PATH=" WEFT_BUILD_DIR
                                           ":$PATH:/usr/sbin:/sbin timeout -k 2 50 sh pasted"));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(matches_in(done.out, "2 ranks: [0-9.]+ s").size(), 2u) << done.out;
    // The second time Weft has taken all 50 operations.
    EXPECT_EQ(matches_in(done.err, "weft: MPI_Ibcast +50 +0 ").size(), 1u) << done.err;
}

}  // namespace weft::test::readme_test
