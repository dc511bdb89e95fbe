// The page of algorithms is what their comments and schedules say; that of the papers is what their
// ledger says, whose items name what exists.
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

TEST_F(Docs, OfThePapersNameWhatExistsAndJudgeByTheirRules) {
    const Finished check =
        run("python3 -B " WEFT_SOURCE_DIR "/tools/docs/papers.py " WEFT_BUILD_DIR "/weft --check");
    EXPECT_EQ(check.status, 0) << check.err;
}

TEST_F(Docs, AnItemOfAPaperThatLacksSomethingIsNamed) {
    const Folder folder;
    std::ofstream(folder / "p.json") << R"({"key": "p", "name": "P", "source": "", "items": [
      {"id": "p-0", "kind": "finding", "where": "1", "says": "All is well.",
       "command": "weft schedule barrier -n 4", "rule": {"prints": "barrier dissemination"},
       "verdict": {"verdict": "confirmed", "why": "", "date": "2026-11-27", "machine": "any"}},
      {"id": "p-1", "kind": "finding", "where": "1", "says": "x",
       "verdict": {"verdict": "not run"}},
      {"id": "p-2", "kind": "finding", "where": "1", "says": "x", "files": ["docs/none.md"],
       "ruled_out": "no hardware"},
      {"id": "p-3", "kind": "finding", "where": "1", "says": "x", "command": "weft none",
       "rule": {"metric": "end", "at_least": 1}, "verdict": {"verdict": "not run"}},
      {"id": "p-4", "kind": "finding", "where": "1", "says": "x", "rule": {"test": "passes"},
       "command": "./dev test unit/No.Test", "verdict": {"verdict": "not run"}},
      {"id": "p-5", "kind": "finding", "where": "1", "says": "x",
       "command": "weft simulate barrier --none",
       "rule": {"metric": "end", "at_least": 1}, "verdict": {"verdict": "not run"}},
      {"id": "p-6", "kind": "finding", "where": "1", "says": "x",
       "command": "weft bench none.json",
       "rule": {"metric": "hidden", "at_least": 1}, "verdict": {"verdict": "not run"}},
      {"id": "p-7", "kind": "finding", "where": "1", "says": "x",
       "command": "weft simulate barrier",
       "rule": {"metric": "end"}, "verdict": {"verdict": "not run"}},
      {"id": "p-8", "kind": "finding", "where": "1", "says": "x",
       "command": "weft simulate barrier -n 16",
       "rule": {"metric": "end", "at_most": 1},
       "verdict": {"verdict": "confirmed", "why": "y", "date": "2026-11-27", "machine": "any"}},
      {"id": "p-9", "kind": "finding", "where": "1", "says": "x",
       "command": "weft bench bench/scenarios/paper/case.json",
       "rule": {"scenario": "case-fig3", "metric": "luck", "of": "nobody", "over": ["bytes>>1"]},
       "verdict": {"verdict": "not run"}},
      {"id": "p-10", "kind": "finding", "where": "1", "says": "x",
       "command": "weft bench bench/scenarios/paper/case.json",
       "rule": {"scenario": "case-fig3", "metric": "hidden", "of": "mpi", "to": "auto blocking",
                "over": ["nodes>=2"], "to_where": ["bytes>=1G", "collective=iscan"],
                "cells": "all", "at_least": 1},
       "verdict": {"verdict": "not run"}},
      {"id": "p-11", "kind": "finding", "where": "1", "says": "x",
       "command": "weft bench bench/scenarios/paper/case.json",
       "rule": {"scenario": "case-1-skew", "metric": "blocking", "of": "auto",
                "of_where": ["late=600us"], "to": "auto", "to_where": ["late=much"],
                "cells": "all", "at_least": 1},
       "verdict": {"verdict": "not run"}},
      {"id": "p-12", "kind": "finding", "where": "1", "says": "x",
       "command": "weft bench bench/scenarios/paper/case.json",
       "rule": {"scenario": "case-1-skew", "metric": "blocking", "of": "auto",
                "over": ["late=600us"], "cells": "all", "at_least": 1},
       "verdict": {"verdict": "not run"}},
      {"id": "p-13", "kind": "finding", "where": "1", "says": "x",
       "command": "./dev bench --apps=all --none 1",
       "rule": {"metric": "total", "at_least": 1}, "verdict": {"verdict": "not run"}},
      {"id": "p-14", "kind": "finding", "where": "1", "says": "x",
       "command": "./dev bench --apps=all --links 10gbit",
       "rule": {"scenario": "app none", "metric": "total", "of": "weft", "cells": "all",
                "at_least": 1},
       "verdict": {"verdict": "not run"}},
      {"id": "p-15", "kind": "finding", "where": "1", "says": "x",
       "command": "./dev bench --apps=all",
       "rule": {"scenario": "sci-fig4-fft", "metric": "total", "of": "nobody", "cells": "all",
                "at_least": 1},
       "verdict": {"verdict": "not run"}},
      {"id": "p-8", "kind": "opinion", "where": "1", "says": "x", "missing": "a tool",
       "verdict": {"verdict": "confirmed"}}], "simulated": [
      {"scenario": "case-none", "command": "weft simulate barrier -n {ranks}", "metric": "end",
       "as": "time_us", "member": "m", "collective": "ibarrier", "ranks": [4], "bytes": ["8"]},
      {"scenario": "case-fig1", "command": "weft simulate barrier -n {ranks} --none",
       "metric": "end", "as": "time_us", "member": "m", "collective": "ibarrier", "ranks": [4],
       "bytes": ["8"]}]})";
    const Finished check = run("python3 -B " WEFT_SOURCE_DIR "/tools/docs/papers.py " WEFT_BUILD_DIR
                               "/weft --check '" +
                               (folder / "") + "'");
    EXPECT_EQ(check.status, 1);
    for (const char* fault :
         {"p-0: a verdict without why\n",
          "p-1: expected a command, what is missing, or both; or ruled_out alone\n",
          "p-2: no file docs/none.md\n",
          "p-3: weft has no subcommand none: weft none\n",
          "p-4: no such test: unit/No.Test: ./dev test unit/No.Test\n",
          "p-5: unknown options: --none: weft simulate barrier --none\n",
          "p-6: no such scenarios: none.json: weft bench none.json\n",
          "p-7: a rule says what is measured (metric) and a bound (at_least, at_most), or that a "
          "test passes\n",
          "p-8: confirmed, but its rule does not hold: 2.2e+04\n",
          "p-8: unknown kind\n",
          "p-9: no member nobody in case-fig3\n",
          "p-9: unknown metric luck\n",
          "p-9: no condition: bytes>>1\n",
          "p-9: a rule about samples has of, cells (all, any, mean, median) and a bound\n",
          "p-10: hidden, but nobody computes in these cells of case-fig3\n",
          "p-10: no cell of case-fig3 has nodes>=2 and bytes>=1G and collective=iscan\n",
          "p-11: no condition: late=much\n",
          "p-12: blocking is measured without lateness where ranks compute",
          "p-13: unknown options: --none: ./dev bench --apps=all --none 1\n",
          "p-14: no scenario app none\n",
          "p-15: no member nobody in sci-fig4-fft\n",
          "p-8: a verdict without why\n",
          "p-8: a verdict without a command\n",
          "p-8: twice\n",
          "p, simulated for case-none: no such scenario\n",
          "p, simulated for case-fig1: weft simulate barrier -n 4 --none prints no end\n"})
        EXPECT_TRUE(contains(check.err, fault)) << fault << "in\n" << check.err;
}

}  // namespace weft::test::docs_test
