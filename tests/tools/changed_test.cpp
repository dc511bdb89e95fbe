// `./dev test --changed` chooses the tests that a change can affect: tried in a copy of the sources.
#include <gtest/gtest.h>

#include <fstream>

#include "support/process.h"

namespace weft::test {
namespace {

class Changed : public testing::Test {
  protected:
    void SetUp() override {
        if (run("git --version && python3 --version").status != 0)
            GTEST_SKIP() << "no git, python3";
        const Finished copied =
            run("cd " WEFT_SOURCE_DIR
                " && cp -r --parents dev *.md docs/man src include tests tools '" +
                tree() + "'" + " && cd '" + tree() + "' && git init -q . && git add -A -f && " +
                "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm all");
        ASSERT_EQ(copied.status, 0) << copied.err;
    }

    std::string tree() { return folder_ / ""; }
    void change(const std::string& file) { std::ofstream(tree() + file, std::ios::app) << "\n"; }
    // One line per test: its name, and why.
    std::string chosen(const std::string& base = "") {
        const Finished list =
            run("cd '" + tree() + "' && python3 -B dev test --list --changed" + base);
        EXPECT_EQ(list.status, 0) << list.out << list.err;
        return list.out;
    }
    static bool has(const std::string& list, const std::string& test) {
        return list.find("    " + test + " ") != std::string::npos;
    }

    Folder folder_;
};

TEST_F(Changed, NothingRunsForWhatNoTestReads) {
    EXPECT_FALSE(has(chosen(), "unit/select"));
    change("README.md");
    EXPECT_NE(chosen().find("chosen: no test"), std::string::npos) << chosen();
}

TEST_F(Changed, AManualPageIsReadByTheSuiteInstallAlone) {
    change("docs/man/weft.1");
    const std::string list = chosen();
    EXPECT_TRUE(has(list, "install/man")) << list;
    EXPECT_FALSE(has(list, "tools/info") || has(list, "unit/select")) << list;
}

// select may use algorithm, and not the other way round.
TEST_F(Changed, AFolderAffectsThoseThatMayUseIt) {
    change("src/select/select.cpp");
    const std::string list = chosen();
    EXPECT_TRUE(has(list, "unit/select") && has(list, "fault/kill")) << list;
    EXPECT_FALSE(has(list, "unit/builder") || has(list, "unit/reduce")) << list;

    change("src/base/status.h");
    const std::string more = chosen();
    EXPECT_TRUE(has(more, "unit/builder") && has(more, "unit/reduce")) << more;
}

TEST_F(Changed, ATestIsAffectedByItselfAndByTheSupportThatItIncludes) {
    change("tests/unit/pack_test.cpp");
    const std::string one = chosen();
    EXPECT_TRUE(has(one, "unit/pack")) << one;
    EXPECT_FALSE(has(one, "unit/select") || has(one, "fault/kill")) << one;

    change("tests/support/world.cpp");
    EXPECT_TRUE(has(chosen(), "unit/executor")) << chosen();
}

TEST_F(Changed, AProgramAffectsWhatStartsRanks) {
    change("tests/fault/kill_program.cpp");
    const std::string list = chosen();
    EXPECT_TRUE(has(list, "fault/kill") && has(list, "conformance/jobs")) << list;
    EXPECT_FALSE(has(list, "unit/pack")) << list;
}

TEST_F(Changed, WhatBuildsEverythingAffectsEverything) {
    change("CMakeLists.txt");  // unknown to git
    EXPECT_TRUE(has(chosen(), "unit/pack") && has(chosen(), "mpi/startup")) << chosen();
}

TEST_F(Changed, AnUnknownCommitIsRefused) {
    const Finished list =
        run("cd '" + tree() + "' && python3 -B dev test --list --changed=nowhere");
    EXPECT_EQ(list.status, 2);
    EXPECT_NE(list.out.find("nowhere"), std::string::npos) << list.out;
}

}  // namespace
}  // namespace weft::test
