#include "engine/short_slice.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace weft {
namespace {

constexpr std::uint64_t slice_ns = 100'000;

// As in <linux/sched/types.h>, which C libraries of the time do not declare.
struct SchedAttributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;
    std::uint64_t deadline;
    std::uint64_t period;
};

// Older kernels accept the value and ignore it.
bool kernel_has_slices() {
    utsname name;
    int major = 0;
    int minor = 0;
    if (uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
    return major > 6 || (major == 6 && minor >= 12);
}

}  // namespace

bool request_short_slice() {
    if (!kernel_has_slices()) return false;
    SchedAttributes attributes{};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return false;
    if (attributes.policy != 0)
        return false;  // not SCHED_OTHER: somebody has chosen another policy
    attributes.size = sizeof attributes;
    attributes.runtime = slice_ns;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace weft
