// Preloads Weft's library into MPI programs: the one place that knows how.
#pragma once

#include <filesystem>
#include <string>

#include "support/process.h"

namespace weft::test {

// How a program gets Weft's library, as settings of its environment; or why it cannot.
struct Preload {
    std::string settings;
    std::string absence;
};

// A library with AddressSanitizer needs the sanitizer's runtime preloaded, if the program does not have it. The MPI's
// leaks do not matter, nor how MPICH's UCX tries out process_vm_readv, which the sanitizer would report.
inline std::string preload_settings(const std::string& library) {
#if defined(__SANITIZE_ADDRESS__)
    const auto runtime = [](const std::string& name) {
        const std::string path = run(WEFT_C_COMPILER " -print-file-name=" + name).out;
        return path.substr(0, path.find('\n')) + ":";
    };
    return "LD_PRELOAD=" + runtime("libasan.so") + runtime("libubsan.so") + library +
           " ASAN_OPTIONS=detect_leaks=0 UCX_TLS=^cma CORPUS_SECONDS=250 WEFT_STATS=all";
#else
    return "LD_PRELOAD=" + library + " WEFT_STATS=all";
#endif
}

// `mpi`: its name in mpis(), or "system".
inline Preload preload_of(const std::string& mpi) {
    (void)mpi;
    const std::string library = WEFT_BUILD_DIR "/libweft_mpi.so";
    if (!std::filesystem::exists(library)) return {"", "there is no " + library};
#if defined(__SANITIZE_THREAD__)
    return {"", "ThreadSanitizer would report the MPI, which is built without it"};
#endif
    return {preload_settings(library), ""};
}

// Why a program cannot get the library without more; empty: it can.
inline std::string absence_of_library_alone() {
#if defined(__SANITIZE_ADDRESS__)
    return "AddressSanitizer's runtime must be preloaded, too";
#else
    return "";
#endif
}

// Whether the MPI calls Weft from inside its own blocking calls: not Intel's, nor MPICH before 4.3. `mpi`: its name in
// mpis().
inline bool has_progress_hook(const std::string& mpi) {
    return mpi == "mpich" || mpi.ends_with("openmpi");
}

}  // namespace weft::test
