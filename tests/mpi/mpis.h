// The MPIs that the tests run on, as Python's packages bring them: below WEFT_TEST_MPI, or .cache/mpi
// of the source, a folder each. `./dev test` installs them. What is not there is skipped by name.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test {

// Makes a file of the build, unless it is newer than all sources: files, and folders with all below
// them. Tests run side by side: one makes it, and the others wait for that. `make` gets the path to
// make. Returns `path`.
template <class Make>
std::string made_once(const std::string& path, const std::vector<std::string>& sources, Make make) {
    namespace fs = std::filesystem;
    fs::create_directories(fs::path(path).parent_path());
    const Fd lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    EXPECT_TRUE(lock && ::flock(lock.get(), LOCK_EX) == 0) << path;
    auto newest = fs::file_time_type::min();
    for (const std::string& source : sources) {
        if (!fs::is_directory(source)) {
            newest = std::max(newest, fs::last_write_time(source));
            continue;
        }
        for (const auto& file : fs::recursive_directory_iterator(source))
            if (file.is_regular_file()) newest = std::max(newest, file.last_write_time());
    }
    if (fs::exists(path) && newest < fs::last_write_time(path)) return path;
    make(path + ".new");
    if (fs::exists(path + ".new")) fs::rename(path + ".new", path);
    return path;
}

struct Mpi {
    const char* name;
    const char* settings;     // of the environment, with %s for its folder
    bool is_usual;            // tried outside of a run of all tests
    bool is_debians = false;  // "debian_mpich": its programs are called mpicc.mpich, ...

    // The version does not matter here.
    bool is_openmpi() const { return std::string(name).ends_with("openmpi"); }
    // Debian 12's Open MPI is of MPI 3.1.
    bool has_persistent_collectives() const { return !(is_debians && is_openmpi()); }

    std::string folder() const {
        if (is_debians) return WEFT_BUILD_DIR "/tests/mpi/" + std::string(name);
        const char* set = std::getenv("WEFT_TEST_MPI");
        return (set ? std::string(set) : std::string(WEFT_SOURCE_DIR "/.cache/mpi")) + "/" + name;
    }

    // Why it is not tried; empty: it is.
    std::string absence() const {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return "programs of an MPI's compiler cannot load a library with a sanitizer";
#else
        return absence_of_itself();
#endif
    }
    // ... if its programs get what a sanitizer needs (tests/dropin/preload.h).
    std::string absence_of_itself() const {
        if (!is_usual && !runs_all()) return std::string(name) + " is for a run of all tests";
        if (is_debians) return absence_of_debians();
        if (std::filesystem::exists(folder() + "/bin/mpicc")) return "";
        return "no " + std::string(name) + " in " + folder() + "; ./dev test installs it";
    }

    // Gives the programs their usual names, in a folder of the build.
    std::string absence_of_debians() const {
        const std::string kind = is_openmpi() ? "openmpi" : "mpich", bin = folder() + "/bin";
        const std::string links = "mkdir -p " + bin +
                                  " && for name in mpicc mpiexec; do path=$(command -v $name." +
                                  kind + ") && printf '#!/bin/sh\\nexec %s \"$@\"\\n' $path > " +
                                  bin + "/$name.$$ && chmod +x " + bin + "/$name.$$ && mv " + bin +
                                  "/$name.$$ " + bin + "/$name || exit 1; done";
        if (run(links).status == 0) return "";
        return "no mpicc." + kind + " and mpiexec." + kind + " (Debian's packages lib" + kind +
               "-dev, " + kind + (is_openmpi() ? "-bin)" : ")");
    }

    // A shell command with this MPI around it. More ranks than cores are fine, and running as root.
    std::string around(const std::string& command) const {
        std::string text = settings;
        for (std::size_t at; (at = text.find("%s")) != std::string::npos;) {
            text.replace(at, 2, folder());
        }
        // Open MPI takes a second to look for networks.
        if (!runs_all()) text += " OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm";
        return "export PATH=" + folder() + "/bin:$PATH " + text + "; " + command;
    }

    // Starts a job. It ends in time: mpiexec does not always. Nor does Open MPI's always begin: what
    // it then says has nothing to do with the program, and a second one does.
    std::string job(int ranks, const std::string& program, const std::string& env = "",
                    int seconds = sanitizer_slowdown * 55) const {
        const std::string start = "timeout -k 2 " + std::to_string(seconds) + " mpiexec -n " +
                                  std::to_string(ranks) + " env " + env + " " + program;
        return around("said=$(mktemp); " + start +
                      " 2> $said; status=$?; if grep -q \"server's listener thread failed to "
                      "start\" $said; then " +
                      start + " 2> $said; status=$?; fi; cat $said >&2; rm $said; exit $status");
    }

    // Compiles once a C program of this folder, or a library to preload ("lib....so"), with the MPI's
    // compiler, against the headers and libweft.so as a user does. Returns its path.
    std::string compiled(const std::string& source, const std::string& output,
                         const std::string& compiler = "mpicc") const {
        const std::string kind = output.ends_with(".so") ? "-shared -fPIC " : "";
        const std::string headers = WEFT_SOURCE_DIR "/include -I" WEFT_SOURCE_DIR "/compat/nbc ";
        std::vector<std::string> sources = {WEFT_SOURCE_DIR "/include",
                                            WEFT_SOURCE_DIR "/compat/nbc",
                                            WEFT_SOURCE_DIR "/tests/mpi"};
        if (!is_debians) sources.push_back(folder() + "/bin/" + compiler);  // another version
        return made_once(
            WEFT_BUILD_DIR "/tests/mpi/" + std::string(name) + "/" + output, sources,
            [&](const std::string& path) {
                expect_success(
                    around(compiler + " -std=c99 -pedantic -Wall -Wextra -Werror -I" + headers +
                           kind + WEFT_SOURCE_DIR "/tests/mpi/" + source + " -o " + path +
                           " -L" WEFT_BUILD_DIR " -lweft -ldl -Wl,-rpath," WEFT_BUILD_DIR));
            });
    }

    // Loaded before a program: where that calls weft_init it begins with MPI_Init_thread and
    // weft_comm_from_mpi.
    std::string preloaded() const { return compiled("start_by_mpi.c", "libstart_by_mpi.so"); }
};

inline void PrintTo(const Mpi& mpi, std::ostream* out) { *out << mpi.name; }

inline std::vector<Mpi> mpis() {
    return {
        // Its waiting ranks let others have their core.
        {"mpich", "MPIR_CVAR_ENABLE_HEAVY_YIELD=1", true},
        {"openmpi",
         "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
         "PRTE_MCA_hwloc_default_binding_policy=none",
         true},
        {"impi", "I_MPI_ROOT=%s LD_LIBRARY_PATH=%s/lib FI_PROVIDER_PATH=%s/lib I_MPI_PIN=0", false},
    };
}

// And as Debian has them: older ones with the same binary interface.
inline std::vector<Mpi> mpis_and_debians() {
    std::vector<Mpi> all = mpis();
    all.push_back({"debian_mpich", "", false, true});
    all.push_back({"debian_openmpi",
                   "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                   "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none",
                   false, true});
    return all;
}

// A suite of tests that hold on every MPI.
class OnEveryMpi : public testing::TestWithParam<Mpi> {
  protected:
    void SetUp() override {
        if (const std::string absence = mpi().absence(); !absence.empty()) GTEST_SKIP() << absence;
    }
    static const Mpi& mpi() { return GetParam(); }
};

// With one of the MPIs, unless all tests run: what the MPI does hardly matters.
class OnOneMpi : public OnEveryMpi {
  protected:
    void SetUp() override {
        OnEveryMpi::SetUp();
        if (!IsSkipped() && !is_its_turn(3)) GTEST_SKIP() << not_its_turn;
    }
};

inline std::string name_of_mpi(const testing::TestParamInfo<Mpi>& test) { return test.param.name; }

}  // namespace weft::test
