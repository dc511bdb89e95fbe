// Loops in several versions, of which the processor's best is used: those of the 16-bit formats and
// of complex products.
//
// All versions of a loop give the same bits for all operands, because the ranks of a job may run on
// different processors.
#pragma once

#include <cstdint>

namespace weft {

#if defined(__aarch64__)

enum class LoopVersion : std::uint8_t {
    portable,
    neon,  // which each has
};
inline constexpr unsigned loop_versions = 2;
inline constexpr const char* loop_version_names[loop_versions] = {"portable", "neon"};

#else

// Each needs what those before it need.
enum class LoopVersion : std::uint8_t {
    portable,
    avx2,         // and F16C
    avx512,       // F, BW, DQ and VL
    avx512_bf16,  // converts to bfloat16 by an instruction where that gives the same
};
inline constexpr unsigned loop_versions = 4;
inline constexpr const char* loop_version_names[loop_versions] = {"portable", "avx2", "avx512",
                                                                  "avx512_bf16"};

#endif

// The last version that this processor can run, unless a test asks for an earlier one.
LoopVersion best_loops();

}  // namespace weft
