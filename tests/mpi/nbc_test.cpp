// LibNBC's interface, <nbc.h>: programs of the MPIs' compilers against it.
#include "mpi/mpis.h"

#include "support/test.h"

namespace weft::test::nbc_test {

class Nbc : public OnOneMpi {
  protected:
    static std::string program() {
        return mpi().compiled("nbc.c " WEFT_SOURCE_DIR "/tests/mpi/nbc_unit.c -lm", "nbc") + " ";
    }
    // What is tried in a process, on 3 ranks and, in turn, on 1 or 2. When all is run, on all of these and on 4, which
    // MPIs that poll take long for on few cores.
    static void expect(const std::string& names) {
        const std::string command = program() + names;
        const int few = 1 + static_cast<int>(test_turn() % 2);
        for (int ranks : runs_all() ? std::vector{1, 2, 3, 4} : std::vector{few, 3}) {
            SCOPED_TRACE(ranks);
            expect_success(mpi().job(ranks, command));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(On, Nbc, testing::ValuesIn(mpis()), name_of_mpi);

TEST_P(Nbc, CollectivesMoveWhatTheMpisDo) { expect("collectives types_on_two_sides neighbors"); }
TEST_P(Nbc, BlocksMayHaveSeveralTypes) { expect("blocks_of_several_types"); }
TEST_P(Nbc, ReductionsGiveWhatTheMpisDo) { expect("reductions"); }

TEST_P(Nbc, OperationsOfTheProgramGiveWhatTheMpisDo) { expect("own_operations"); }
TEST_P(Nbc, RefusesWhatItCannotDo) { expect("refused"); }
TEST_P(Nbc, CommunicatorsAreMadeAtFirstUse) { expect("communicators"); }
TEST_P(Nbc, WhatBeginsAsAPartMayGoOnAsAWhole) { expect("a_part_first"); }
TEST_P(Nbc, LeavesWeftToTheProgramThatHasStartedIt) { expect("weft_of_the_program"); }
TEST_P(Nbc, UnitsOfAProgramShareCommunicators) { expect("two_units many"); }
TEST_P(Nbc, AWaitLetsTheMpiWork) { expect("mpi_works_meanwhile"); }
TEST_P(Nbc, ProgramsBuildSchedules) { expect("own_barrier own_ring own_reduce own_steps"); }
TEST_P(Nbc, ThePapersPrograms) { expect("compression poisson"); }

TEST_P(Nbc, RunsWithOtherSettings) {
    const std::string command = program();
    // On one MPI these take their turn, on the other those.
    std::size_t turn = test_turn() + (mpi().is_openmpi() ? 1 : 0);
    for (const std::string settings :
         {"WEFT_ENGINE=manual", "WEFT_CHECK=1", "WEFT_TRANSPORT=mpi", "WEFT_TRANSPORT=tcp"}) {
        if (turn++ % 2 == 0 && !runs_all()) continue;
        SCOPED_TRACE(settings);
        expect_success(
            mpi().job(3, command + "collectives communicators own_ring own_reduce", settings));
    }
}

// Its functions are compiled with programs that have warnings of their own, and that are older than Weft.
TEST_P(Nbc, TheHeaderCompilesAsOldCAndAsCxx) {
    const Folder folder;
    const std::string c = folder / "program.c";
    const std::string cpp = folder / "program.cpp";
    const std::string text =
        "#include <nbc.h>\n#include <nbc.h>\n"
        "int main(void) {\n"
        "    NBC_Handle handle;\n"
        "    MPI_Status status;\n"
        "    int flag;\n"
        "    NBC_Ibarrier(MPI_COMM_WORLD, &handle);\n"
        "    NBC_Test(&handle, &flag, &status);\n"
        "    return NBC_Wait(&handle, &status);\n"
        "}\n";
    std::ofstream(c) << text;
    std::ofstream(cpp) << text;
    const std::string strict = " -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror ";
    const std::string only =
        " -fsyntax-only -I" WEFT_SOURCE_DIR "/include -I" WEFT_SOURCE_DIR "/compat/nbc ";
    expect_success(mpi().around("mpicc -std=c89" + only + c));
    expect_success(mpi().around("mpicc -std=c99" + strict + only + c));
    expect_success(mpi().around("mpicxx -std=c++11" + strict + only + cpp));
    expect_success(mpi().around("mpicxx -std=c++20" + strict + only + cpp));
}

}  // namespace weft::test::nbc_test
