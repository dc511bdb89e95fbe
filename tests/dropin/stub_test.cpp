// The preloaded library by itself: its jumps, with an MPI and a part that only print their arguments. For this
// machine's processor and, if a compiler and an emulator are available, for another one.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test::stub_test {

struct Processor {
    const char* name;
    const char* compiler;
    const char* with;  // the words before a setting of the environment and a program
};

class Stub : public testing::TestWithParam<Processor> {
  protected:
    void SetUp() override {
        if (GetParam().name == std::string("native")) return;
        if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
        const std::string look = std::string("command -v ") + GetParam().compiler + " qemu-aarch64";
        if (run(look).status != 0)
            GTEST_SKIP() << "no " << GetParam().compiler
                         << " or no qemu-aarch64 (Debian's packages "
                         << "gcc-aarch64-linux-gnu and qemu-user)";
    }

    void compile(const std::string& output, const std::string& what) {
        const Finished done = run(std::string(GetParam().compiler) + " -O1 -fPIC " + what + " -o " +
                                  (folder_ / output) + " -ldl");
        ASSERT_EQ(done.status, 0) << done.err;
    }

    // Everything but the part of Weft.
    void compile_all(const std::string& kind = "") {
        const std::string fake = WEFT_SOURCE_DIR "/tests/dropin/programs/fake_mpi.c";
        compile("libmpi.so.12", "-shared -Wl,-soname,libmpi.so.12 -DIS_MPI " + fake);
        compile("program", "-Wl,--no-as-needed " + kind + fake + " " + (folder_ / "libmpi.so.12") +
                               " -Wl,-rpath," + (folder_ / "."));
        const std::string sources = WEFT_SOURCE_DIR "/src/mpi_dropin/";
        compile("libweft_mpi.so", "-shared " + sources + "stub.c " + sources + "stand_ins.c");
    }

    Finished run_program() {
        return run(std::string(GetParam().with) + " LD_PRELOAD=" + (folder_ / "libweft_mpi.so") +
                   " " + (folder_ / "program"));
    }

    Folder folder_;
};

const std::string from_mpi = "mpi 1 2 3 4 5 6 7 8 9 10\n";  // some in registers, some on the stack

TEST_P(Stub, WithoutAPartTheMpiGetsEverything) {
    compile_all();
    const Finished done = run_program();
    const std::string turn = "mpi 1 2 3 4 5 6\n" + from_mpi;
    EXPECT_EQ(done.out, turn + turn + "returned 2424\n") << done.err;
    EXPECT_TRUE(contains(done.err, "weft_mpi_mpich.so"));
}

TEST_P(Stub, APartGetsWhatItWraps) {
    compile_all();
    compile("weft_mpi_mpich.so",
            "-shared -DIS_PART " WEFT_SOURCE_DIR "/tests/dropin/programs/fake_mpi.c");
    const Finished done = run_program();
    const std::string turn = "part 1 2 3 4 5 6\n" + from_mpi;
    EXPECT_EQ(done.out, turn + turn + "returned 3434\n") << done.err;
    EXPECT_EQ(done.err, "");
}

// Without a part, too.
TEST_P(Stub, AFunctionThatTheMpiLacksIsServedByAnother) {
    compile_all("-DLARGE ");
    const Finished done = run_program();
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, from_mpi + "returned 4\nerror 2 of 9\nreturned 2\n") << done.err;
}

TEST_P(Stub, TheMpiMayBeOpenedLater) {
    compile_all();
    compile("weft_mpi_mpich.so",
            "-shared -DIS_PART " WEFT_SOURCE_DIR "/tests/dropin/programs/fake_mpi.c");
    compile("opener", "-DOPENS_MPI " WEFT_SOURCE_DIR "/tests/dropin/programs/fake_mpi.c");
    for (const char* names : {"local", "global"}) {
        const Finished done =
            run(std::string(GetParam().with) + " LD_PRELOAD=" + (folder_ / "libweft_mpi.so") + " " +
                (folder_ / "opener") + " " + (folder_ / "libmpi.so.12") + " " + names);
        EXPECT_EQ(done.out, "part 1 2 3 4 5 6\nreturned 3\n") << names << done.err;
        EXPECT_EQ(done.err, "") << names;
    }
}

INSTANTIATE_TEST_SUITE_P(On, Stub,
                         testing::Values(Processor{"native", WEFT_C_COMPILER, "env"},
                                         Processor{"aarch64", "aarch64-linux-gnu-gcc",
                                                   "qemu-aarch64 -L /usr/aarch64-linux-gnu -E"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace weft::test::stub_test
