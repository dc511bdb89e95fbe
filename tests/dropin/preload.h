// Weft's library before the programs of an MPI: the one place that knows how.
#pragma once

#include <filesystem>
#include <string>

namespace weft::test {

// How a program gets Weft's library, as settings of its environment; or why it cannot.
struct Preload {
    std::string settings;
    std::string absence;
};

// `mpi`: its name in mpis(), or "system".
inline Preload preload_of(const std::string& mpi) {
    (void)mpi;
    const std::string library = WEFT_BUILD_DIR "/libweft_mpi.so";
    if (!std::filesystem::exists(library)) return {"", "there is no " + library};
    return {"LD_PRELOAD=" + library + " WEFT_STATS=all", ""};
}

// Whether the MPI calls Weft from inside its own blocking calls: not Intel's, nor MPICH before 4.3. `mpi`: its name in
// mpis().
inline bool has_progress_hook(const std::string& mpi) {
    return mpi == "mpich" || mpi.ends_with("openmpi");
}

}  // namespace weft::test
