// ./dev beside another one, and when it is ended: tried in a tree whose build takes for ever.
#include <signal.h>

#include "support/process.h"
#include "support/test.h"

namespace weft::test::dev_test {

class Dev : public testing::Test {
  protected:
    void SetUp() override {
        if (run("python3 --version").status != 0) GTEST_SKIP() << "no python3";
        std::filesystem::copy(WEFT_SOURCE_DIR "/dev", folder_ / "dev");
        std::filesystem::copy(WEFT_SOURCE_DIR "/CMakePresets.json", folder_ / "CMakePresets.json");
        std::ofstream(folder_ / "CMakeLists.txt")
            << "cmake_minimum_required(VERSION 3.22)\n"
               "project(slow NONE)\n"
               "add_custom_target(weft_without_tests COMMAND sh -c \"echo >> started; exec sleep "
               "1000\" WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)\n";
    }

    void TearDown() override {
        run("for link in /proc/[0-9]*/cwd; do case $(readlink $link) in " + tree() +
            "*) link=${link%/cwd}; kill -9 ${link#/proc/};; esac; done");
    }

    std::string tree() {
        const std::string path = folder_ / "";
        return path.substr(0, path.size() - 1);
    }
    std::string build() {
        return "cd " + tree() + " && exec python3 -B dev build --preset minimal";
    }
    // How often a build has begun.
    long begun() {
        const std::string started = folder_ / "started";
        return std::filesystem::exists(started) ? std::ranges::count(content(started), '\n') : 0;
    }
    bool begins(long builds) {
        return becomes_true([&] { return begun() == builds; });
    }
    // The processes in the tree and below: cmake, ninja, what they run.
    std::string processes() {
        return run("ls -l /proc/[0-9]*/cwd 2> /dev/null | grep -F ' " + tree() + "'").out;
    }

    Folder folder_;
};

TEST_F(Dev, ASignalEndsWhatItRuns) {
    for (const int number : {SIGTERM, SIGINT}) {
        ChildProcess dev(build());
        ASSERT_TRUE(begins(number == SIGTERM ? 1 : 2));
        EXPECT_NE(processes(), "");
        kill(dev.pid(), number);
        dev.finish();
        EXPECT_EQ(dev.status, 128 + number) << dev.out << dev.err;
        EXPECT_TRUE(becomes_true([&] { return processes().empty(); })) << processes();
    }
}

TEST_F(Dev, ASecondOneWaitsAndSaysForWhom) {
    ChildProcess first(build());
    ASSERT_TRUE(begins(1));
    ChildProcess second(build() + " > " + (folder_ / "said"));
    const std::string sentence = "waiting for another ./dev that works on build/minimal: process " +
                                 std::to_string(first.pid()) + ", ./dev build --preset minimal\n";
    EXPECT_TRUE(becomes_true([&] { return content(folder_ / "said").starts_with(sentence); }))
        << content(folder_ / "said");
    EXPECT_EQ(begun(), 1);
    kill(first.pid(), SIGTERM);
    first.finish();
    EXPECT_TRUE(begins(2)) << "it goes on";
    kill(second.pid(), SIGTERM);
    second.finish();
}

}  // namespace weft::test::dev_test
