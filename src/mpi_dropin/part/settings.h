// Settings from the environment. All ranks must agree on them: otherwise some would take a call and
// others not.
#pragma once

#include <cstdint>
#include <string>

#include "mpi_dropin/part/program_call.h"

namespace weft::dropin {

constexpr int forms = 3;
constexpr int functions = static_cast<int>(MpiCollective::number) * forms;

inline int function_of(MpiCollective collective, Form form) {
    return static_cast<int>(collective) * forms + static_cast<int>(form);
}
// "MPI_Ibcast"
const char* name_of(int function);

struct DropInSettings {
    bool takes[functions] = {};
    std::int64_t min_bytes = 0;  // of a call with a size that all ranks know
    bool prints_statistics = false;
    bool prints_all_ranks = false;              // not rank 0's alone
    bool tries_all_pairs = false;               // WEFT_PRELOAD_CHECK=1
    std::int64_t patience_ns = 60'000'000'000;  // until MPI_Init gives the other ranks up
    // Reductions may ask the MPI to combine: each rank runs with MPI_THREAD_MULTIPLE, or its MPI
    // has a progress hook.
    bool calls_back = false;
    std::uint64_t agreed = 0;  // a hash of what must be the same on all ranks
    std::string refusal;       // what is wrong with WEFT_DISABLE
};

// Reads WEFT_DISABLE, WEFT_BLOCKING, WEFT_MIN_BYTES, WEFT_STATS, WEFT_PRELOAD_CHECK and
// WEFT_STARTUP_TIMEOUT. A malformed setting counts as not set: joining refuses it, as all other
// settings; only what WEFT_DISABLE names is refused here.
DropInSettings read_settings();

}  // namespace weft::dropin
