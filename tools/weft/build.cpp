#include "weft/build.h"

#include "base/transport_kind.h"
#include "commit.h"

namespace weft {
namespace {

// Removes the blanks that CMake leaves around empty variables.
std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == text.npos) return "";
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

Build this_build() {
#ifdef __clang__
    const char* const compiler = "clang " __clang_version__;
#else
    const char* const compiler = "gcc " __VERSION__;
#endif
    return {WEFT_VERSION, WEFT_COMMIT, compiler, WEFT_BUILD_TYPE, trimmed(WEFT_CXX_FLAGS)};
}

std::vector<const char*> transports() {
    std::vector<const char*> names;
    for (const TransportTraits& one : transport_list)
        if (one.is_built) names.push_back(one.name);
    return names;
}

const char* tcp_absence() {
#if WEFT_HAS_TCP
    return nullptr;
#else
    return WEFT_TCP_ABSENCE;
#endif
}

const char* ucx_absence() {
#if WEFT_HAS_UCX
    return nullptr;
#else
    return WEFT_UCX_ABSENCE;
#endif
}

const char* fiber_absence() { return *WEFT_FIBER_ABSENCE ? WEFT_FIBER_ABSENCE : nullptr; }

}  // namespace weft
