// The spinning process, and the page that it shares with its parent.
#include "bench/spinner.h"

#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/clock.h"
#include "bench/job.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

constexpr std::int64_t unit_iterations = 200;  // about 300 ns
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct Spinner::Shared {
    std::atomic<std::uint32_t> runs = 0;
    std::atomic<std::uint64_t> done = 0;
    std::atomic<std::int64_t> mark_ns = never;  // reset to `never` by the mark
    std::atomic<std::uint64_t> marked = 0;

    [[noreturn]] void spin() {
        for (;;) {
            while (runs.load(std::memory_order_acquire) == 0) {
                syscall(SYS_futex, &runs, FUTEX_WAIT, 0, nullptr, nullptr, 0);
            }
            work(unit_iterations);
            const std::uint64_t now_done = done.load(std::memory_order_relaxed) + 1;
            done.store(now_done, std::memory_order_relaxed);
            if (now_ns() < mark_ns.load(std::memory_order_acquire)) continue;
            marked.store(now_done, std::memory_order_relaxed);
            mark_ns.store(never, std::memory_order_release);
        }
    }
};

Spinner::Spinner() {
    void* const page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (page == MAP_FAILED) fail("mmap: %s", std::strerror(errno));
    shared_ = new (page) Shared;
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) fail("fork: %s", std::strerror(errno));
    if (process_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    // If it kept inherited descriptors, others would not notice its parent's end.
    close_range(0, ~0U, 0);
    const sched_param lowest{};
    if (sched_setscheduler(0, SCHED_IDLE, &lowest) != 0) _exit(1);
    shared_->spin();
}

Spinner::~Spinner() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    munmap(shared_, sizeof(Shared));
}

void Spinner::resume() {
    shared_->runs.store(1, std::memory_order_release);
    syscall(SYS_futex, &shared_->runs, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Spinner::pause() { shared_->runs.store(0, std::memory_order_release); }

std::uint64_t Spinner::done() const { return shared_->done.load(std::memory_order_relaxed); }

void Spinner::mark_at(std::int64_t time_ns) {
    shared_->mark_ns.store(time_ns, std::memory_order_release);
}

std::uint64_t Spinner::marked() const {
    if (shared_->mark_ns.load(std::memory_order_acquire) != never) return done();
    return shared_->marked.load(std::memory_order_relaxed);
}

}  // namespace weft::bench
