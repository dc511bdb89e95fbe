// SECONDS [LATE]: after some operations, with nothing pending, the library's thread makes no context switch
// and takes no CPU time for so long; with engine manual there is no thread. Otherwise exits with status 1 and a
// sentence. Two system calls mark these seconds for a tracer.
// With LATE: instead, rank 1 waits for rank 0, which comes so many seconds later, and must sleep.
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

// What the kernel has counted for a thread: context switches and time.
std::string counters(const std::string& task) {
    std::ifstream status(task + "/status");
    std::string found;
    for (std::string line; std::getline(status, line);) {
        if (line.find("ctxt_switches") != std::string::npos) found += line + "; ";
    }
    // On-CPU nanoseconds, nanoseconds of waiting for a core, slices.
    std::ifstream schedstat(task + "/schedstat");
    std::string line;
    if (std::getline(schedstat, line)) found += "schedstat: " + line;
    return found;
}

// The folder of the library's thread in /proc; empty: there is none.
std::string progress_thread() {
    DIR* tasks = opendir("/proc/self/task");
    std::string found;
    while (dirent* entry = tasks ? readdir(tasks) : nullptr) {
        std::string task = std::string("/proc/self/task/") + entry->d_name;
        std::ifstream comm(task + "/comm");
        std::string name;
        if (std::getline(comm, name) && name == "weft-progress") found = task;
    }
    if (tasks) closedir(tasks);
    return found;
}

// It has the process's cores, or the one of WEFT_PROGRESS_CPUS, and a short slice if the kernel supports that. Empty: all is well.
std::string where_it_must_not_be(const std::string& task) {
    auto thread = static_cast<pid_t>(std::stol(task.substr(task.rfind('/') + 1)));
    cpu_set_t own;
    cpu_set_t its;
    if (sched_getaffinity(0, sizeof own, &own) != 0 ||
        sched_getaffinity(thread, sizeof its, &its) != 0) {
        return "sched_getaffinity failed";
    }
    if (const char* set_aside = std::getenv("WEFT_PROGRESS_CPUS")) {
        CPU_ZERO(&own);
        CPU_SET(static_cast<std::size_t>(std::atoi(set_aside)), &own);
    }
    if (!CPU_EQUAL(&own, &its)) return "the thread may run on other cores than it should";
    // As sched_setattr(2) lays it out.
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime, deadline, period;
    } attributes{};
    utsname kernel;
    int major = 0;
    int minor = 0;
    if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
        return "uname";
    if (major < 6 || (major == 6 && minor < 12)) return "";
    if (syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) != 0) return "";
    if (attributes.policy != SCHED_OTHER || attributes.runtime == 100'000) return "";
    return "its slice is " + std::to_string(attributes.runtime) + " ns; expected 100000";
}

// A system call that does nothing but be seen.
void mark(const char* text) { (void)!write(-1, text, std::char_traits<char>::length(text)); }

int fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
}

// Of all threads of this process.
double cpu_s() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

int wait_for_the_other(unsigned seconds) {
    weft_comm world = weft_comm_world();
    int rank = -1;
    weft_comm_rank(world, &rank);
    if (weft_barrier(world) != WEFT_OK) return fail(weft_last_detail());
    const double before_s = cpu_s();
    if (rank == 0) sleep(seconds);
    if (weft_barrier(world) != WEFT_OK) return fail(weft_last_detail());
    const double used_s = cpu_s() - before_s;
    // (Machines that tests run on are busy. One that polled would use all of it.)
    if (used_s > 0.1 * seconds)
        return fail("rank " + std::to_string(rank) + " used the processor for " +
                    std::to_string(used_s) + " s while it waited");
    return weft_finalize() == WEFT_OK ? 0 : fail(weft_last_detail());
}

}  // namespace

int main(int argc, char** argv) {
    if (weft_init() != WEFT_OK) return fail(weft_last_detail());
    if (argc < 2) return fail("expected seconds");
    if (argc > 2) return wait_for_the_other(static_cast<unsigned>(std::atoi(argv[2])));
    weft_comm world = weft_comm_world();
    if (!progress_thread().empty()) return fail("a thread runs before the first operation");
    std::vector<double> values(100000, 1);
    for (int i = 0; i < 20; ++i) {
        weft_request request;
        weft_iallreduce(WEFT_IN_PLACE, values.data(), values.size(), WEFT_FLOAT64, WEFT_MAX, world,
                        &request);
        usleep(1000);
        if (weft_wait(&request) != WEFT_OK) return fail(weft_last_detail());
    }
    if (weft_barrier(world) != WEFT_OK) return fail(weft_last_detail());
    const bool has_thread = weft_get_engine() != WEFT_ENGINE_MANUAL;
    const std::string task = progress_thread();
    if (task.empty() == has_thread)
        return fail(has_thread ? "the engine has started no thread" : "a thread runs");
    const std::string outside = has_thread ? where_it_must_not_be(task) : "";
    if (!outside.empty()) return fail(outside);
    usleep(200'000);
    const std::string before = has_thread ? counters(task) : "";
    mark("quiet begins");
    sleep(static_cast<unsigned>(std::atoi(argv[1])));
    mark("quiet ends");
    const std::string after = has_thread ? counters(task) : "";
    if (before.empty() == has_thread || before != after)
        return fail("before: " + before + "\nafter:  " + after);
    if (weft_barrier(world) != WEFT_OK || weft_finalize() != WEFT_OK)
        return fail(weft_last_detail());
    return 0;
}
