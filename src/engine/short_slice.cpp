#include "engine/short_slice.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>

namespace weft {
namespace {

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
    if (attributes.policy != 0) return false;  // not SCHED_OTHER: leave it as it is
    attributes.size = sizeof attributes;
    attributes.runtime = short_slice_ns;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace weft
