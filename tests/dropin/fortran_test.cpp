// Fortran programs with the MPI whose mpifort is in the PATH (Debian's packages mpich, libmpich-dev, gfortran),
// alone and with Weft's library before them.
#include <gtest/gtest.h>

#include "dropin/preload.h"
#include "support/process.h"

namespace weft::test {
namespace {

struct Program {
    const char* name;
    const char* ending;
};
inline void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

class Fortran : public testing::TestWithParam<std::tuple<Program, bool>> {};

INSTANTIATE_TEST_SUITE_P(By, Fortran,
                         testing::Combine(testing::Values(Program{"with_mpif_h", ".f"},
                                                          Program{"with_use_mpi", ".f90"},
                                                          Program{"with_mpi_f08", ".f90"}),
                                          testing::Bool()),
                         [](const auto& test) {
                             return std::string(std::get<0>(test.param).name) +
                                    (std::get<1>(test.param) ? "_with_weft" : "_alone");
                         });

TEST_P(Fortran, ProgramsGiveTheSame) {
    const auto& [program, is_preloaded] = GetParam();
    const std::string name = program.name;
    if (run("command -v mpifort && command -v mpiexec").status != 0) {
        GTEST_SKIP() << "there is no mpifort with an mpiexec";
    }
    const Preload preload = preload_of("system");
    if (is_preloaded && !preload.absence.empty()) GTEST_SKIP() << preload.absence;
    const Folder folder;
    // Calls by mpif.h and the module mpi pass buffers of all types, which gfortran takes for a mistake.
    const Finished built =
        run("mpifort -fallow-argument-mismatch -w " WEFT_SOURCE_DIR "/tests/dropin/fortran/" +
            name + program.ending + " -o " + (folder / name));
    ASSERT_EQ(built.status, 0) << built.out << built.err;
    const std::string before =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_rmaps_base_oversubscribe=1 timeout -k 2 55 mpiexec -n ";
    for (const char* ranks : {"1", "2", "4"}) {
        const Finished done = run(before + ranks + " env " +
                                  (is_preloaded ? preload.settings + " " : "") + (folder / name));
        EXPECT_EQ(done.status, 0) << ranks << " ranks\n" << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "ok "));
    }
}

}  // namespace
}  // namespace weft::test
