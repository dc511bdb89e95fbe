// `./dev test --changed` chooses the tests that a change can affect: tried in a copy of the sources.
#include "support/process.h"
#include "support/test.h"

namespace weft::test::changed_test {

class Changed : public testing::Test {
  protected:
    void SetUp() override {
        if (run("git --version && python3 --version").status != 0)
            GTEST_SKIP() << "no git, python3";
        const Finished copied =
            run("cd " WEFT_SOURCE_DIR
                " && cp -r --parents dev *.md docs/man src include python tests tools '" +
                tree() + "'" + " && cd '" + tree() + "' && git init -q . && git add -A -f && " +
                "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm all");
        ASSERT_EQ(copied.status, 0) << copied.err;
    }

    std::string tree() { return folder_ / ""; }
    void change(const std::string& file) { std::ofstream(tree() + file, std::ios::app) << "\n"; }
    std::string chosen() {
        const Finished list =
            expect_success("cd '" + tree() + "' && python3 -B dev test --list --changed");
        const std::size_t begin = list.out.find("chosen: ");
        return begin == std::string::npos ? list.out : list.out.substr(begin);
    }

    Folder folder_;
};

TEST_F(Changed, ATestAffectsItsSuiteAPageTheInstallation) {
    EXPECT_EQ(chosen(), "chosen: no suite\n");
    change("tests/unit/pack_test.cpp");
    EXPECT_EQ(chosen(), "chosen: unit\n");
    change("README.md");
    EXPECT_EQ(chosen(), "chosen: unit, install\n");
}

TEST_F(Changed, TheProgramAffectsWhatStartsRanks) {
    change("tools/weft/main.cpp");
    EXPECT_EQ(chosen(),
              "chosen: conformance, fault, tools, install, python, torch, mpi, dropin, apps\n");
}

TEST_F(Changed, TheReportAffectsItself) {
    change("report/stats.py");
    change("tests/report/stats_test.py");
    EXPECT_EQ(chosen(), "chosen: report\n");
}

TEST_F(Changed, ThePythonModuleAffectsItself) {
    change("python/weft/__init__.py");
    change("tests/python/run.py");
    EXPECT_EQ(chosen(), "chosen: python, torch\n");
}

TEST_F(Changed, TheLibraryAndProgramsOfTestsAffectEverything) {
    change("tests/fault/kill_program.cpp");
    const std::string all =
        "chosen: unit, sim, spec, kernel, conformance, fault, tools, install, python, torch, mpi, "
        "dropin, apps\n";
    EXPECT_EQ(chosen(), all);
    ASSERT_EQ(run("cd '" + tree() + "' && git checkout -q .").status, 0);
    change("src/base/status.h");
    EXPECT_EQ(chosen(), all);
}

TEST_F(Changed, AnUnknownCommitIsRefused) {
    const Finished list =
        run("cd '" + tree() + "' && python3 -B dev test --list --changed=nowhere");
    EXPECT_EQ(list.status, 2);
    EXPECT_NE(list.out.find("nowhere"), std::string::npos) << list.out;
}

}  // namespace weft::test::changed_test
