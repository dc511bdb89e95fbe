#include "engine/short_slice.h"

#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
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

// Changes how the calling thread is scheduled, unless the program has chosen another policy for it.
template <class Change>
bool change_attributes(Change change) {
    SchedAttributes attributes{};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return false;
    if (attributes.policy != 0) return false;  // not SCHED_OTHER
    attributes.size = sizeof attributes;
    change(attributes);
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

bool request_short_slice() {
    return kernel_has_slices() &&
           change_attributes([](SchedAttributes& thread) { thread.runtime = short_slice_ns; });
}

bool request_more_weight() {
    static constexpr std::int32_t steps = 10;
    static constexpr std::int32_t nice_min = -20;
    return change_attributes(
        [](SchedAttributes& thread) { thread.nice = std::max(thread.nice - steps, nice_min); });
}

}  // namespace weft
