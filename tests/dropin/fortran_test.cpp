// Fortran programs with Debian's MPIs (packages gfortran, mpich and libmpich-dev, openmpi-bin and libopenmpi-dev), or
// the MPI whose mpifort is in the PATH: alone and with Weft's library preloaded.
#include <gtest/gtest.h>

#include "dropin/preload.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test::fortran_test {

struct Program {
    const char* name;
    const char* ending;
};
inline void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

// The second: the suffix of the MPI's program names.
class Fortran : public testing::TestWithParam<std::tuple<Program, const char*, bool>> {};

bool is_there(const std::string& ending) {
    return run("command -v mpifort" + ending + " && command -v mpiexec" + ending).status == 0;
}

INSTANTIATE_TEST_SUITE_P(By, Fortran,
                         testing::Combine(testing::Values(Program{"with_mpif_h", ".f"},
                                                          Program{"with_use_mpi", ".f90"},
                                                          Program{"with_mpi_f08", ".f90"}),
                                          testing::Values("", ".mpich", ".openmpi"),
                                          testing::Bool()),
                         [](const auto& test) {
                             const std::string ending = std::get<1>(test.param);
                             return std::string(std::get<0>(test.param).name) +
                                    (ending.empty() ? "" : "_on_" + ending.substr(1)) +
                                    (std::get<2>(test.param) ? "_with_weft" : "_alone");
                         });

TEST_P(Fortran, ProgramsGiveTheSame) {
    const auto& [program, mpi, is_preloaded] = GetParam();
    const std::string name = program.name, ending = mpi;
    if (!is_there(ending))
        GTEST_SKIP() << "there is no mpifort" << ending << " with an mpiexec" << ending;
    if (ending.empty() && (is_there(".mpich") || is_there(".openmpi")))
        GTEST_SKIP() << "this mpifort is tried by its longer name";
    const Preload preload = preload_of("system");
    if (is_preloaded && !preload.absence.empty()) GTEST_SKIP() << preload.absence;
    const Folder folder;
    // Calls by mpif.h and the module mpi pass buffers of all types, which gfortran would report as a mistake.
    const Finished built =
        run("mpifort" + ending +
            " -fallow-argument-mismatch -w " WEFT_SOURCE_DIR "/tests/dropin/fortran/" + name +
            program.ending + " -o " + (folder / name));
    ASSERT_EQ(built.status, 0) << built.out << built.err;
    const std::string before =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none timeout -k 2 "
        "55 mpiexec" +
        ending + " -n ";
    for (const char* ranks : {"1", "2", "4"}) {
        if (!runs_all() && ranks != std::string("2")) continue;
        const Finished done = run(before + ranks + " env " +
                                  (is_preloaded ? preload.settings + " " : "") + (folder / name));
        EXPECT_EQ(done.status, 0) << ranks << " ranks\n" << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "ok "));
        if (is_preloaded) {
            EXPECT_FALSE(matches_in(done.err, "MPI_I\\w+ +[1-9]").empty()) << done.err;
        }
    }
}

}  // namespace weft::test::fortran_test
