#include "base/thread.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

#include "base/float_state.h"

namespace weft {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;
// Only pages that are used take memory.
constexpr std::size_t unlimited_stack_bytes = 256 * MiB;
constexpr std::size_t smallest_stack_bytes = 8 * MiB;
// Of a limited address space the stack takes such a part at most.
constexpr std::size_t part_of_address_space = 16;

bool limit_of(__rlimit_resource resource, std::size_t& bytes) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    bytes = static_cast<std::size_t>(limit.rlim_cur);
    return true;
}

// As the program's first thread has. Where that has no limit, other threads get 2 MiB by default,
// too little for functions with large automatic arrays, as Fortran compilers make them.
std::size_t wanted_stack_bytes() {
    std::size_t bytes = unlimited_stack_bytes;
    if (!limit_of(RLIMIT_STACK, bytes)) {
        std::size_t address_space = 0;
        if (limit_of(RLIMIT_AS, address_space))
            bytes = std::min(bytes, address_space / part_of_address_space);
    }
    return std::max(bytes, smallest_stack_bytes);
}

void* run(void* main) {
    const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(main));
    const FloatScope here;
    (*owned)();
    return nullptr;
}

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

Thread::~Thread() {
    if (is_started_) std::terminate();
}

int Thread::start(std::function<void()> main) {
    auto owned = std::make_unique<std::function<void()>>(std::move(main));
    pthread_attr_t attributes;
    if (const int error = pthread_attr_init(&attributes); error != 0) return error;
    std::size_t usual_bytes = 0;
    pthread_attr_getstacksize(&attributes, &usual_bytes);
    std::size_t bytes = std::max(wanted_stack_bytes(), usual_bytes);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    // With less if there is no room for so much.
    for (;; bytes = std::max(bytes / 2, usual_bytes)) {
        pthread_attr_setstacksize(&attributes, bytes);
        error = pthread_create(&thread_, &attributes, run, owned.get());
        if (error != EAGAIN || bytes <= usual_bytes) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (error != 0) return error;
    owned.release();
    is_started_ = true;
    return 0;
}

void Thread::join() {
    pthread_join(thread_, nullptr);
    is_started_ = false;
}

void Thread::detach() {
    pthread_detach(thread_);
    is_started_ = false;
}

int run_in_thread(std::function<void()> main) {
    Thread thread;
    if (const int error = thread.start(std::move(main)); error != 0) return error;
    thread.join();
    return 0;
}

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
