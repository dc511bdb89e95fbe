#include "reduce/versions.h"

#include <algorithm>
#include <string>

#include "base/setting.h"

namespace weft {
namespace {

LoopVersion best_of_processor() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c"))
        return LoopVersion::portable;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
        return LoopVersion::avx2;
    }
    return __builtin_cpu_supports("avx512bf16") ? LoopVersion::avx512_bf16 : LoopVersion::avx512;
#elif defined(__aarch64__)
    return LoopVersion::neon;
#else
    return LoopVersion::portable;
#endif
}

LoopVersion find_best_loops() {
    const LoopVersion best = best_of_processor();
    const std::string asked_for = test_hooks().loops;
    for (unsigned version = 0; version < loop_versions; ++version) {
        if (asked_for == loop_version_names[version])
            return std::min(best, static_cast<LoopVersion>(version));
    }
    return best;
}

}  // namespace

LoopVersion best_loops() {
    static const LoopVersion best = find_best_loops();
    return best;
}

}  // namespace weft
