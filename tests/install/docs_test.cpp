// The page of algorithms is what their comments and schedules say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/process.h"

namespace weft::test::docs_test {

class Docs : public testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "built without it";
        if (run("python3 --version").status != 0) GTEST_SKIP() << "no python3";
    }
};

TEST_F(Docs, AreUpToDate) {
    const Finished check = run("python3 -B " WEFT_SOURCE_DIR
                               "/tools/docs/algorithms.py " WEFT_BUILD_DIR "/weft --check");
    EXPECT_EQ(check.status, 0) << check.err;
}

// Tried in a copy of the sources, with a program that knows barrier alone.
TEST_F(Docs, ACheckNamesWhatDiffers) {
    const Folder folder;
    const std::string tree = folder / "";
    ASSERT_EQ(
        run("cd " WEFT_SOURCE_DIR " && cp -r --parents tools/docs src/algorithm '" + tree + "'")
            .status,
        0);
    const std::string program = folder / "weft";
    std::ofstream(program) << "#!/bin/sh\n"
                              "[ \"$2\" = --list ] && set -- \"$@\" barrier\n"
                              "exec " WEFT_BUILD_DIR "/weft \"$@\"\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const std::string docs = "python3 -B '" + tree + "tools/docs/algorithms.py' '" + program + "' ";
    const std::string page = tree + "docs/algorithms.md";
    const std::string drawing = tree + "docs/algorithms/barrier_dissemination.svg";

    EXPECT_EQ(run(docs).status, 0);
    EXPECT_EQ(run(docs + "--check").status, 0);
    EXPECT_TRUE(contains(content(page), "\n### barrier dissemination\n")) << content(page);
    EXPECT_TRUE(contains(content(page), "(algorithms/barrier_dissemination.svg)"));
    EXPECT_EQ(content(drawing).substr(0, 5), "<svg ");

    const std::string source = tree + "src/algorithm/barrier.cpp";
    std::string text = content(source);
    const std::size_t comment = text.find("// Barrier by dissemination");
    ASSERT_NE(comment, std::string::npos);
    text.insert(comment, "// Barrier by other words.\n//\n");
    std::ofstream(source) << text;
    std::ofstream(drawing) << "nothing";
    std::ofstream(tree + "docs/algorithms/barrier_gone.svg") << "of an algorithm that is gone";
    const Finished check = run(docs + "--check");
    EXPECT_EQ(check.status, 1);
    EXPECT_TRUE(contains(check.err,
                         "docs/algorithms.md, docs/algorithms/barrier_dissemination.svg, "
                         "docs/algorithms/barrier_gone.svg: no longer what"))
        << check.err;
    EXPECT_TRUE(contains(check.err, "run ./dev docs")) << check.err;
    EXPECT_EQ(content(drawing), "nothing") << "--check writes nothing";

    EXPECT_EQ(run(docs).status, 0);
    EXPECT_TRUE(contains(content(page), "\n\nBarrier by other words.\n"));
    EXPECT_FALSE(std::filesystem::exists(tree + "docs/algorithms/barrier_gone.svg"));
    EXPECT_EQ(run(docs + "--check").status, 0);
}

}  // namespace weft::test::docs_test
