// What the kernel engines promise beyond what all engines do: CASE ARGUMENTS. Every rank runs the same
// case, with the engine of WEFT_ENGINE, and ends with status 1 and a sentence when something does not
// hold.
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance/rank_expect.h"

#if defined(__SANITIZE_ADDRESS__)
// A forked child does not have the threads whose memory of libcrypto this is.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcrypto\n"; }
#endif

namespace {

weft_comm world = WEFT_COMM_NULL;
int& rank = world_rank;
int& ranks = world_size;

using Words = std::vector<std::uint64_t>;

// A word of a rank's contribution to an operation.
std::uint64_t word(int round, int operation, int from, std::size_t index) {
    return static_cast<std::uint64_t>(round) * 1'000'003 +
           static_cast<std::uint64_t>(operation * 1009 + from * 31) + index * 7;
}

void fill(std::uint64_t* words, std::size_t count, int round, int operation, int from) {
    for (std::size_t i = 0; i < count; ++i) words[i] = word(round, operation, from, i);
}

bool is_filled(const std::uint64_t* words, std::size_t count, int round, int operation, int from) {
    for (std::size_t i = 0; i < count; ++i) {
        if (words[i] != word(round, operation, from, i)) return false;
    }
    return true;
}

// An operation of this rank that is started, and what it must give: by its number a broadcast, an
// allgather, an alltoall or a sum.
struct Operation {
    int number = 0;
    int round = 0;
    std::size_t count = 0;  // words of a rank
    Words send;
    Words recv;
    weft_request request = WEFT_REQUEST_NULL;

    int root() const { return (round + number) % ranks; }
    std::size_t all() const { return count * static_cast<std::size_t>(ranks); }
    std::size_t block(int of) const { return count * static_cast<std::size_t>(of); }

    weft_status start(int number_, int round_, std::size_t count_) {
        number = number_;
        round = round_;
        count = count_;
        const std::size_t blocks = number % 4 == 2 ? all() : count;
        send.resize(blocks);
        recv.assign(number % 4 == 0 ? count : number % 4 == 3 ? count : all(), 0);
        switch (number % 4) {
            case 0:
                if (rank == root()) fill(recv.data(), count, round, number, rank);
                return weft_ibcast(recv.data(), count, WEFT_UINT64, root(), world, &request);
            case 1:
                fill(send.data(), count, round, number, rank);
                return weft_iallgather(send.data(), recv.data(), count, WEFT_UINT64, world,
                                       &request);
            case 2:
                for (int to = 0; to < ranks; ++to)
                    fill(send.data() + block(to), count, round, number, rank * ranks + to);
                return weft_ialltoall(send.data(), recv.data(), count, WEFT_UINT64, world,
                                      &request);
            default:
                fill(send.data(), count, round, number, rank);
                return weft_iallreduce(send.data(), recv.data(), count, WEFT_UINT64, WEFT_SUM,
                                       world, &request);
        }
    }

    bool is_right() const {
        switch (number % 4) {
            case 0: return is_filled(recv.data(), count, round, number, root());
            case 1:
            case 2:
                for (int from = 0; from < ranks; ++from) {
                    const int of = number % 4 == 1 ? from : from * ranks + rank;
                    if (!is_filled(recv.data() + block(from), count, round, number, of))
                        return false;
                }
                return true;
            default:
                for (std::size_t i = 0; i < count; ++i) {
                    std::uint64_t sum = 0;
                    for (int from = 0; from < ranks; ++from) sum += word(round, number, from, i);
                    if (recv[i] != sum) return false;
                }
                return true;
        }
    }
};

constexpr std::size_t large = 512 * 1024;  // words: 4 MiB

// This many operations at a time, again and again.
void outstanding(std::size_t operations, std::size_t bytes, int rounds) {
    std::vector<Operation> all(operations);
    for (int round = 0; round < rounds; ++round) {
        std::vector<weft_request> requests;
        for (std::size_t i = 0; i < operations; ++i) {
            EXPECT(all[i].start(static_cast<int>(i), round, bytes / sizeof(std::uint64_t)) ==
                   WEFT_OK);
            requests.push_back(all[i].request);
        }
        if (round % 3 == 0) {
            while (weft_testall(requests.size(), requests.data(), nullptr) != WEFT_OK) {
            }
        } else {
            EXPECT(weft_waitall(requests.size(), requests.data(), nullptr) == WEFT_OK);
        }
        for (const Operation& operation : all) EXPECT(operation.is_right());
    }
}

// Starts that the thread which made them does not outlive.
void threads_that_exit() {
    for (int round = 0; round < 10; ++round) {
        std::vector<Operation> all(4);
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::thread([&] {
                EXPECT(all[i].start(static_cast<int>(i), round, round % 2 == 0 ? 8 : large) ==
                       WEFT_OK);
            }).join();
        }
        for (Operation& operation : all) {
            EXPECT(weft_wait(&operation.request) == WEFT_OK);
            EXPECT(operation.is_right());
        }
    }
}

// kernel:own belongs to the thread that called weft_init.
void starts_of_other_threads() {
    const auto in_another_thread = [](auto body) { std::thread(body).join(); };
    weft_request persistent = WEFT_REQUEST_NULL;
    EXPECT(weft_barrier_init(world, &persistent) == WEFT_OK);
    const auto is_refused = [](weft_status status) {
        return status == WEFT_REFUSED_STATE &&
               std::strstr(weft_last_detail(),
                           "the engine is kernel:own, whose operations are started by the thread "
                           "that called weft_init alone; expected that thread, or another engine");
    };
    for (int round = 0; round < 3; ++round) {
        in_another_thread([&] {
            weft_request request = WEFT_REQUEST_NULL;
            EXPECT(is_refused(weft_ibarrier(world, &request)) && request == WEFT_REQUEST_NULL);
            EXPECT(is_refused(weft_barrier(world)));
            EXPECT(is_refused(weft_start(&persistent)));
        });
        // It may wait for what the right one starts.
        Operation operation;
        EXPECT(operation.start(round, round, large) == WEFT_OK);
        in_another_thread([&] { EXPECT(weft_wait(&operation.request) == WEFT_OK); });
        EXPECT(operation.is_right());
        EXPECT(weft_start(&persistent) == WEFT_OK);
        EXPECT(weft_wait(&persistent) == WEFT_OK);

        // Under another engine every thread may start, also while the first one's are under way.
        EXPECT(operation.start(round + 1, round, large) == WEFT_OK);
        EXPECT(weft_set_engine(round % 2 == 0 ? WEFT_ENGINE_THREAD : WEFT_ENGINE_KERNEL) ==
               WEFT_OK);
        Operation other;
        in_another_thread([&] {
            EXPECT(other.start(round, round + 1, large) == WEFT_OK);
            EXPECT(weft_start(&persistent) == WEFT_OK);
        });
        EXPECT(weft_set_engine(WEFT_ENGINE_KERNEL_OWN) == WEFT_OK);
        EXPECT(weft_wait(&persistent) == WEFT_OK);
        EXPECT(weft_wait(&other.request) == WEFT_OK && other.is_right());
        EXPECT(weft_wait(&operation.request) == WEFT_OK && operation.is_right());
    }
    EXPECT(weft_request_free(&persistent) == WEFT_OK);
}

// A constructor with several exchanges, in a thread that may start nothing any more after the first.
void engine_changes_in_a_constructor() {
    const int below = (rank + ranks - 1) % ranks;
    const int above = (rank + 1) % ranks;
    const auto make = [&](weft_comm* made) {
        return weft_comm_graph(world, 1, &below, 1, &above, made);
    };
    weft_comm other = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(world, &other) == WEFT_OK);
    for (int odd = 0; odd < ranks; ++odd) {
        weft_comm made = WEFT_COMM_NULL;
        weft_status status = WEFT_REFUSED_STATE;
        std::thread maker;
        if (rank == odd) {
            EXPECT(weft_set_engine(WEFT_ENGINE_THREAD) == WEFT_OK);
            maker = std::thread([&] { status = make(&made); });
            std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits for the others
            EXPECT(weft_set_engine(WEFT_ENGINE_KERNEL_OWN) == WEFT_OK);
        }
        EXPECT(weft_barrier(other) == WEFT_OK);
        if (rank == odd) maker.join();
        // (If the maker was late, it was refused at once.)
        if (status == WEFT_REFUSED_STATE) status = make(&made);
        EXPECT(status == WEFT_OK);
        EXPECT(weft_barrier(made) == WEFT_OK);
        EXPECT(weft_comm_free(&made) == WEFT_OK);
    }
    EXPECT(weft_comm_free(&other) == WEFT_OK);
}

// Descriptors of this process but for the first three and the folder's own.
int open_descriptors() {
    DIR* folder = opendir("/proc/self/fd");
    int count = 0;
    while (const dirent* entry = readdir(folder)) {
        const int fd = std::atoi(entry->d_name);
        count += entry->d_name[0] != '.' && fd > 2 && fd != dirfd(folder);
    }
    closedir(folder);
    return count;
}

// Children that exit and that execute another program do not disturb what is under way.
void forks(const char* self, int descriptors) {
    for (int round = 0; round < 4; ++round) {
        std::vector<Operation> all(4);
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT(all[i].start(static_cast<int>(i), round, large) == WEFT_OK);
        std::vector<pid_t> children;
        for (const char* what : {"exits", "executes"}) {
            children.push_back(fork());
            if (children.back() != 0) continue;
            if (what == std::string_view("exits")) std::exit(weft_is_initialized());
            execl(self, self, "descriptors", std::to_string(descriptors).c_str(), nullptr);
            _exit(127);
        }
        for (Operation& operation : all) {
            EXPECT(weft_wait(&operation.request) == WEFT_OK);
            EXPECT(operation.is_right());
        }
        for (const pid_t child : children) {
            int status = -1;
            EXPECT(waitpid(child, &status, 0) == child);
            EXPECT(status == 0);
        }
    }
}

// The last rank becomes another program in the midst of it: nothing of it goes on, and the others are
// told.
void becomes_another(const char* self, int descriptors) {
    // The last rank ends first: it hears from every other one that has nothing left to wait for.
    std::vector<int> heard(static_cast<std::size_t>(ranks));
    EXPECT(weft_gather(&rank, heard.data(), 1, WEFT_INT32, ranks - 1, world) == WEFT_OK);
    std::vector<Operation> all(4);
    weft_status worst = WEFT_OK;
    for (std::size_t i = 0; i < all.size(); ++i)
        worst = std::min(worst, all[i].start(static_cast<int>(i), 0, large));
    if (rank == ranks - 1) {
        execl(self, self, "descriptors", std::to_string(descriptors).c_str(), nullptr);
        std::exit(127);
    }
    for (Operation& operation : all) {
        const weft_status status = weft_wait(&operation.request);  // null: it was not started
        EXPECT(status != WEFT_OK || worst != WEFT_OK || operation.is_right());
        worst = std::min(worst, status);
    }
    // Who had all it needed before is told by its next call.
    if (worst == WEFT_OK) worst = weft_barrier(world);
    EXPECT(worst == WEFT_BROKEN_RANK);
    EXPECT(std::strstr(weft_last_detail(), ("rank " + std::to_string(ranks - 1)).c_str()));
}

// A loop of the program's own that sleeps in the operating system is not interrupted by what the
// helper is handed.
void sleeps_undisturbed() {
    const int poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    for (int round = 0; round < 5; ++round) {
        std::vector<Operation> all(4);
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT(all[i].start(static_cast<int>(i), round, large) == WEFT_OK);
        for (int looks = 0; looks < 20; ++looks) {
            const int woken = epoll_wait(poller, &event, 1, 5);
            EXPECT(woken == 0);
        }
        for (Operation& operation : all) {
            EXPECT(weft_wait(&operation.request) == WEFT_OK);
            EXPECT(operation.is_right());
        }
    }
    close(poller);
}

// The operating system takes every step itself: it starts no thread for one that has to wait.
void starts_no_threads() {
    int named = 0;
    const auto count_workers = [&] {
        DIR* tasks = opendir("/proc/self/task");
        while (const dirent* entry = readdir(tasks)) {
            std::ifstream comm("/proc/self/task/" + std::string(entry->d_name) + "/comm");
            std::string thread;
            std::getline(comm, thread);
            named += thread.starts_with("iou-wrk") ? 1 : 0;
        }
        closedir(tasks);
    };
    for (int round = 0; round < 3; ++round) {
        std::vector<Operation> all(2);
        std::vector<weft_request> requests;
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT(all[i].start(static_cast<int>(i), round, large) == WEFT_OK);
            requests.push_back(all[i].request);
        }
        while (weft_testall(requests.size(), requests.data(), nullptr) != WEFT_OK) {
            usleep(2000);
            count_workers();
        }
        for (const Operation& operation : all) EXPECT(operation.is_right());
    }
    EXPECT(named == 0);
}

// From now on this system call fails with this error, as in a container.
bool forbid(long call, int error) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// On the ranks that must do without, the thread does the same work; the others do not notice.
void goes_without(bool is_absent, const char* sentence) {
    if (is_absent) {
        const bool is_auto = std::getenv("WEFT_ENGINE") == std::string_view("auto");
        const weft_engine engine_left = is_auto ? WEFT_ENGINE_AUTO : WEFT_ENGINE_THREAD;
        EXPECT(weft_get_engine() == engine_left);
        for (const weft_engine engine : {WEFT_ENGINE_KERNEL, WEFT_ENGINE_KERNEL_OWN}) {
            EXPECT(weft_set_engine(engine) == WEFT_REFUSED_UNSUPPORTED);
            EXPECT(std::strstr(weft_last_detail(), sentence));
        }
        EXPECT(weft_get_engine() == engine_left);
        EXPECT(weft_set_engine(WEFT_ENGINE_AUTO) == WEFT_OK);
    } else {
        EXPECT(weft_set_engine(WEFT_ENGINE_KERNEL) == WEFT_OK);
    }
    outstanding(4, 64, 20);
    outstanding(4, large, 2);
}

// The threads that own what is under way end, but for rank 0's: so does the operation, as soon as it
// would go on. Rank 0 waits for their signals before it gives what they wait for.
void owner_ends() {
    sigset_t has_ended;
    sigemptyset(&has_ended);
    sigaddset(&has_ended, SIGRTMIN);
    EXPECT(pthread_sigmask(SIG_BLOCK, &has_ended, nullptr) == 0);
    Operation operation;
    weft_status status = WEFT_OK;  // of the operation
    const auto expect_it_ends = [&] {
        if (status == WEFT_OK) status = weft_wait(&operation.request);
        // Rank 0 may have all it needs, and is told by its next call.
        if (rank == 0 && status == WEFT_OK) status = weft_barrier(world);
        EXPECT(status == WEFT_BROKEN_RANK);
        EXPECT(std::strstr(weft_last_detail(), "ended the thread that had started its operations"));
        EXPECT(!std::strstr(weft_last_detail(), "rank 0"));  // has done nothing wrong
    };
    std::vector<std::int32_t> processes(64);
    const auto signal_rank = [&](int to) {
        EXPECT(sigqueue(processes[static_cast<std::size_t>(to)], SIGRTMIN, {}) == 0);
    };
    const auto await_signals = [&](int count) {
        const timespec patience{30, 0};
        while (count > 0) {
            const int signal = sigtimedwait(&has_ended, nullptr, &patience);
            EXPECT(signal == SIGRTMIN || errno == EINTR);
            count -= signal == SIGRTMIN;
        }
    };
    std::thread([&] {
        world = join_job();
        const std::int32_t own = getpid();
        EXPECT(weft_allgather(&own, processes.data(), 1, WEFT_INT32, world) == WEFT_OK);
        // All are connected before the first one ends.
        Operation connects;
        EXPECT(connects.start(1, 0, large) == WEFT_OK);
        EXPECT(weft_wait(&connects.request) == WEFT_OK);
        EXPECT(connects.is_right());
        if (rank == 0) {
            await_signals(ranks - 1);
            for (int other = 1; other < ranks; ++other) signal_rank(other);
            await_signals(ranks - 1);
        } else {
            signal_rank(0);
            await_signals(1);
        }
        status = operation.start(1, 1, large);  // may already be told
        if (rank == 0 || status != WEFT_OK) expect_it_ends();
    }).join();
    if (rank != 0) signal_rank(0);
    if (rank != 0 && status == WEFT_OK) expect_it_ends();
    EXPECT(weft_finalize() == WEFT_OK);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 2);
    const std::string_view name = argv[1];
    if (name == "descriptors") return open_descriptors() <= std::atoi(argv[2]) ? 0 : 1;
    if (name == "owner_ends") {
        owner_ends();
        return 0;
    }
    const int descriptors = open_descriptors();
    // goes_without setup|enter ERROR RANK SENTENCE; rank -1: all of them
    bool is_absent = false;
    if (name == "goes_without") {
        EXPECT(argc == 6);
        is_absent = std::atoi(argv[4]) < 0 ||
                    std::string_view(std::getenv("WEFT_RANK")) == std::string_view(argv[4]);
        const bool is_setup = argv[2] == std::string_view("setup");
        if (is_absent)
            EXPECT(forbid(is_setup ? SYS_io_uring_setup : SYS_io_uring_enter, std::atoi(argv[3])));
    }
    world = join_job();
    if (name == "outstanding") {
        EXPECT(argc == 5);
        outstanding(static_cast<std::size_t>(std::atoi(argv[2])),
                    static_cast<std::size_t>(std::atoi(argv[3])), std::atoi(argv[4]));
    } else if (name == "threads_that_exit") {
        threads_that_exit();
    } else if (name == "starts_of_other_threads") {
        starts_of_other_threads();
    } else if (name == "engine_changes_in_a_constructor") {
        engine_changes_in_a_constructor();
    } else if (name == "forks") {
        forks(argv[0], descriptors);
    } else if (name == "becomes_another") {
        becomes_another(argv[0], descriptors);
    } else if (name == "sleeps_undisturbed") {
        sleeps_undisturbed();
    } else if (name == "starts_no_threads") {
        starts_no_threads();
    } else if (name == "goes_without") {
        goes_without(is_absent, argv[5]);
    } else {
        EXPECT(!"a known case");
    }
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
