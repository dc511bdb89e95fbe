// A process in several groups of different jobs: NAME [NUMBER]. Processes that another library has
// started (here: fork) make groups with its exchange, of which each process calls only those that it
// is in.
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/scheduler.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "conformance/rank_expect.h"

namespace {

constexpr int ranks_max = 7;
constexpr std::size_t bytes_max = 1 << 13;
constexpr std::int64_t patience_ns = 20'000'000'000;

using Members = std::vector<int>;  // processes, by rank in the group

// In memory that the processes share: the exchange of one group, round by round.
struct Exchange {
    std::atomic<unsigned> arrived;
    std::atomic<unsigned> left;
    std::byte slots[ranks_max][bytes_max];
};
struct Shared {
    std::atomic<unsigned> ready;         // processes that may lose another one now
    std::atomic<int> dead;               // not 0: a process has been killed
    Exchange exchanges[1 << ranks_max];  // by the members' bits
};
Shared* shared = nullptr;

struct Place {
    Members members;
    int rank = 0;
    unsigned rounds = 0;

    Exchange& exchange() const {
        unsigned bits = 0;
        for (const int member : members) bits |= 1u << member;
        return shared->exchanges[bits];
    }
    int ranks() const { return static_cast<int>(members.size()); }
};

// False: not all have come.
bool wait_for(const std::atomic<unsigned>& count, unsigned expected) {
    for (const std::int64_t begin = weft::now_ns(); count.load() < expected; usleep(50)) {
        if (shared->dead.load() != 0 || weft::now_ns() - begin > patience_ns) return false;
    }
    return true;
}

int allgather(void* context, const void* mine, void* all, int bytes) {
    Place& own = *static_cast<Place*>(context);
    const auto size = static_cast<std::size_t>(bytes);
    EXPECT(size <= bytes_max);
    Exchange& exchange = own.exchange();
    const unsigned expected = ++own.rounds * static_cast<unsigned>(own.ranks());
    std::memcpy(exchange.slots[own.rank], mine, size);
    ++exchange.arrived;
    if (!wait_for(exchange.arrived, expected)) return 1;
    for (int r = 0; r < own.ranks(); ++r) {
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * size,
                    exchange.slots[r], size);
    }
    ++exchange.left;
    return wait_for(exchange.left, expected) ? 0 : 1;
}

struct Group {
    Place place;
    weft_comm comm = WEFT_COMM_NULL;

    explicit Group(Members members) {
        place.members = std::move(members);
        const auto own = std::find(place.members.begin(), place.members.end(), world_rank);
        place.rank = static_cast<int>(own - place.members.begin());
    }
    bool is_member() const { return place.rank < place.ranks(); }
    weft_status try_make() {
        weft_oob oob{};
        oob.struct_bytes = sizeof oob;
        oob.context = &place;
        oob.rank = place.rank;
        oob.ranks = place.ranks();
        oob.allgather = allgather;
        return weft_comm_from_oob(&oob, &comm);
    }
    void make() { EXPECT(try_make() == WEFT_OK); }
    void free() { EXPECT(weft_comm_free(&comm) == WEFT_OK); }
};

// Operations of a group that are under way.
struct Use {
    weft_comm comm;
    int rank = -1;
    int ranks = 0;
    std::vector<std::int64_t> sums;
    std::vector<std::int64_t> all;
    weft_request requests[2] = {};

    Use(weft_comm used, std::size_t count) : comm(used), sums(count) {
        EXPECT(weft_comm_rank(comm, &rank) == WEFT_OK);
        EXPECT(weft_comm_size(comm, &ranks) == WEFT_OK);
        std::fill(sums.begin(), sums.end(), rank + 1);
        all.resize(count * static_cast<std::size_t>(ranks));
        EXPECT(weft_iallgather(sums.data(), all.data(), count, WEFT_INT64, comm, &requests[0]) ==
               WEFT_OK);
        EXPECT(weft_wait(&requests[0]) == WEFT_OK);
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, sums.data(), count, WEFT_INT64, WEFT_SUM, comm,
                               &requests[0]) == WEFT_OK);
        EXPECT(weft_ibarrier(comm, &requests[1]) == WEFT_OK);
    }
    void end() {
        for (weft_request& request : requests) EXPECT(weft_wait(&request) == WEFT_OK);
        const std::int64_t sum = ranks * (ranks + 1) / 2;
        for (const std::int64_t value : sums) EXPECT(value == sum);
        const std::size_t count = sums.size();
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT(all[i] == static_cast<std::int64_t>(i / count) + 1);
    }
};

// Waits for all groups' operations in another order than they were started.
void use(const std::vector<weft_comm>& comms) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
        std::vector<Use> uses;
        uses.reserve(comms.size());
        for (const weft_comm comm : comms) uses.emplace_back(comm, count);
        for (auto one = uses.rbegin(); one != uses.rend(); ++one) one->end();
    }
}

const Members every_group[] = {{0, 1}, {1, 2}, {0, 1, 2}};

// The groups in each of their six orders; freed in the order of their making. All processes take
// all steps, each with the groups that it is in.
void in_order(int number) {
    int order[] = {0, 1, 2};
    for (int i = 0; i < number; ++i) std::next_permutation(std::begin(order), std::end(order));
    std::vector<Group> groups;
    const auto comms_from = [&](std::size_t first) {
        std::vector<weft_comm> comms;
        for (std::size_t i = first; i < groups.size(); ++i)
            if (groups[i].is_member()) comms.push_back(groups[i].comm);
        return comms;
    };
    for (const int which : order) {
        groups.emplace_back(every_group[which]);
        if (groups.back().is_member()) groups.back().make();
        use(comms_from(0));
    }
    int world = 0;
    EXPECT(weft_comm_size(weft_comm_world(), &world) == WEFT_OK);
    EXPECT(world >= 1 && world <= 3);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        weft_comm backwards = WEFT_COMM_NULL;
        if (groups[i].is_member()) {
            EXPECT(weft_comm_split(groups[i].comm, 0, -groups[i].place.rank, &backwards) ==
                   WEFT_OK);
            groups[i].free();
            use({backwards});
        }
        use(comms_from(i + 1));
        if (groups[i].is_member()) {
            use({backwards});
            EXPECT(weft_comm_free(&backwards) == WEFT_OK);
        }
        use(comms_from(i + 1));
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

auto descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

// Kilobytes of this process that are in memory.
long resident() {
    std::ifstream file("/proc/self/statm");
    long pages = 0;
    file >> pages >> pages;
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// All pairs, again and again: more than a process keeps connected.
void many(int rounds) {
    long descriptors_before = 0;
    long resident_before = 0;
    std::int64_t spent_ns = 0;
    int made = 0;
    std::vector<Group> pairs;
    for (int a = 0; a < ranks_max; ++a)
        for (int b = a + 1; b < ranks_max; ++b) pairs.emplace_back(Members{a, b});
    for (int round = 0; round < rounds; ++round) {
        for (Group& pair : pairs) {
            if (!pair.is_member()) continue;
            const std::int64_t begin = weft::now_ns();
            pair.make();
            spent_ns += weft::now_ns() - begin;
            ++made;
            use({pair.comm});
            pair.free();
        }
        if (round != 1) continue;
        descriptors_before = descriptors();
        resident_before = resident();
    }
    const long more = resident() - resident_before;
    std::printf("%d groups of process %d: %.2f ms each to make, %ld KiB more, %ld descriptors\n",
                made, world_rank, static_cast<double>(spent_ns) * 1e-6 / made, more,
                static_cast<long>(descriptors()));
    EXPECT(descriptors() <= descriptors_before);
    EXPECT(rounds <= 2 || more < 8 * 1024);
    EXPECT(weft_finalize() == WEFT_OK);
}

// Each member sends two messages with either tag to every one, itself too. Those with tag 0 are
// received from any source; of those with tag 1, one of each rank from the rank that is named, by
// receives that wait behind one from any source.
struct Talk {
    std::size_t words;
    int ranks = 0;
    std::vector<std::int64_t> sent;
    std::vector<std::vector<std::int64_t>> got;
    std::vector<int> sources;
    std::vector<weft_request> requests;

    Talk(weft_comm comm, std::size_t length) : words(length) {
        int own = -1;
        EXPECT(weft_comm_rank(comm, &own) == WEFT_OK);
        EXPECT(weft_comm_size(comm, &ranks) == WEFT_OK);
        sent.assign(words, own);
        const auto size = static_cast<std::size_t>(4 * ranks);
        got.assign(size, std::vector<std::int64_t>(words, -1));
        sources.assign(size, -1);
        for (int i = 0; i < 4 * ranks; ++i) {
            const int tag = i % 2;
            std::int64_t* const into = got[static_cast<std::size_t>(i)].data();
            int& source = sources[static_cast<std::size_t>(i)];
            weft_request& request = requests.emplace_back();
            const bool is_named = tag == 1 && i / 2 >= 1 && i / 2 <= ranks;
            if (is_named) source = i / 2 - 1;
            EXPECT((is_named ? weft_irecv(into, words, WEFT_INT64, source, tag, comm, &request)
                             : weft_irecv_any(into, words, WEFT_INT64, tag, &source, comm,
                                              &request)) == WEFT_OK);
        }
        for (int i = 0; i < 4 * ranks; ++i)
            EXPECT(weft_isend(sent.data(), words, WEFT_INT64, i / 4, i % 2, comm,
                              &requests.emplace_back()) == WEFT_OK);
    }
    // (The limit: a message that nothing looks for is found by no later one.)
    void end() {
        EXPECT(weft_waitall_until(requests.size(), requests.data(), nullptr,
                                  weft::now_ns() + patience_ns) == WEFT_OK);
        std::vector<int> from(static_cast<std::size_t>(ranks));
        for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT(sources[i] >= 0 && sources[i] < ranks);
            ++from[static_cast<std::size_t>(sources[i])];
            for (const std::int64_t word : got[i]) EXPECT(word == sources[i]);
        }
        for (const int messages : from) EXPECT(messages == 4);
    }
};

// Process 2 is alone in its job.
void expect_statistics(std::size_t groups) {
    if (world_rank != 2) return;
    weft_statistics counted{};
    counted.struct_bytes = sizeof counted;
    EXPECT(weft_get_statistics(&counted) == WEFT_OK);
    EXPECT(counted.connections >= groups);
    EXPECT(counted.descriptors > 0 && counted.memory_bytes > 0);
    EXPECT(counted.unexpected_messages > 0);
}

// Messages over all groups at a time, and before and after the process has its first one with
// another job. At last processes 1 and 2 leave, and nothing comes for process 0 any more.
void messages(int) {
    std::vector<Group> groups;
    for (const Members& members : every_group) {
        Group group(members);
        if (group.is_member()) {
            group.make();
            groups.push_back(std::move(group));
        }
        if (groups.empty()) continue;  // the process has joined no job
        for (const std::size_t words : {std::size_t{1}, std::size_t{100'000}}) {
            std::vector<Talk> talks;
            talks.reserve(groups.size() + 1);
            for (auto one = groups.rbegin(); one != groups.rend(); ++one)
                talks.emplace_back(one->comm, words);
            talks.emplace_back(weft_comm_self(), words);
            for (Talk& talk : talks) talk.end();
            expect_statistics(groups.size());
            // A receive from any source would take what the next round sends.
            for (const Group& one : groups) EXPECT(weft_barrier(one.comm) == WEFT_OK);
        }
    }
    if (world_rank == 0) {
        std::int64_t word = 0;
        weft_request request = WEFT_REQUEST_NULL;
        EXPECT(weft_irecv_any(&word, 1, WEFT_INT64, 0, nullptr, groups.back().comm, &request) ==
               WEFT_OK);
        EXPECT(weft_wait_until(&request, weft::now_ns() + patience_ns) == WEFT_BROKEN_RANK);
        EXPECT(std::strstr(weft_last_detail(), " of the group died or left"));
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

// A failure names the group and the rank there, and leaves the other groups alone.
void failure(int) {
    std::vector<Group> groups;
    for (const Members& members : every_group) {
        Group group(members);
        if (!group.is_member()) continue;
        group.make();
        groups.push_back(std::move(group));
    }
    Group& whole = groups.back();
    if (world_rank == 2) EXPECT(weft_comm_abort(whole.comm, "enough") == WEFT_OK);
    weft_status status = WEFT_OK;
    while (status == WEFT_OK) status = weft_barrier(whole.comm);
    EXPECT(status == WEFT_BROKEN_ABORT);
    EXPECT(std::strstr(weft_last_detail(), "on out-of-band group"));
    EXPECT(std::strstr(weft_last_detail(), "rank 2 of the group aborted"));
    for (Group& group : groups) {
        if (&group != &whole) use({group.comm});
        group.free();
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

// A thread that gets a signal for what arrives gets it for groups that come later, too; or they are
// refused, where the transport sends none.
void signals(int refuses) {
    sigset_t arrival;
    sigemptyset(&arrival);
    sigaddset(&arrival, SIGUSR1);
    const auto nothing = [](void*) {};
    const weft_scheduler scheduler = {
        .current = [](void*) -> void* { return nullptr; },
        .suspend = nothing,
        .resume = [](void*, void*) {},
        .yield = nothing,
        .spawn = nullptr,
        .state = nullptr,
    };
    Group job({0, 1});
    Group group({1, 2});
    if (world_rank == 2) {
        EXPECT(weft_init() == WEFT_OK);
        EXPECT(sigprocmask(SIG_BLOCK, &arrival, nullptr) == 0);
        EXPECT(weft_scheduler_attach(&scheduler) == WEFT_OK);
        EXPECT(weft_scheduler_signal(SIGUSR1) == WEFT_OK);
    } else {
        job.make();
    }
    if (group.is_member() && refuses != 0) {
        EXPECT(group.try_make() == WEFT_REFUSED_UNSUPPORTED);
        EXPECT(std::strstr(weft_last_detail(), "sends no signals, which a thread asked for"));
    } else if (group.is_member()) {
        group.make();
        EXPECT(weft_barrier(group.comm) == WEFT_OK);
        std::int64_t word = 5;
        weft_request request = WEFT_REQUEST_NULL;
        if (world_rank == 2) {
            EXPECT(weft_irecv(&word, 1, WEFT_INT64, 0, 0, group.comm, &request) == WEFT_OK);
            const timespec now{};
            const timespec patience{patience_ns / 1'000'000'000, 0};
            while (sigtimedwait(&arrival, nullptr, &now) > 0) continue;
            ++shared->ready;
            EXPECT(sigtimedwait(&arrival, nullptr, &patience) == SIGUSR1);
        } else {
            EXPECT(wait_for(shared->ready, 1));
            EXPECT(weft_isend(&word, 1, WEFT_INT64, 1, 0, group.comm, &request) == WEFT_OK);
        }
        EXPECT(weft_wait(&request) == WEFT_OK);
    }
    if (world_rank == 2) {
        EXPECT(weft_scheduler_signal(0) == WEFT_OK);
        EXPECT(weft_scheduler_detach() == WEFT_OK);
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

void die(int) {
    shared->dead = 1 + world_rank;
    kill(getpid(), SIGKILL);
}

// Process 2 is killed while groups are made and used: the others hear of it, and go on without it.
void killed(int microseconds) {
    Group first({0, 1});
    if (first.is_member()) {
        first.make();
        ++shared->ready;
    } else {
        EXPECT(wait_for(shared->ready, 2));
        signal(SIGALRM, die);
        itimerval timer{{0, 0}, {0, microseconds}};
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
    weft_status status = WEFT_OK;
    for (int i = 0; status == WEFT_OK; ++i) {
        Group group(every_group[1 + i % 2]);
        if (!group.is_member()) {
            if (shared->dead != 0) break;
            continue;
        }
        static Place places[2];  // their rounds go on
        group.place.rounds = places[i % 2].rounds;
        status = group.try_make();
        places[i % 2].rounds = group.place.rounds;
        double value = 1;
        if (status == WEFT_OK)
            status = weft_allreduce(WEFT_IN_PLACE, &value, 1, WEFT_FLOAT64, WEFT_SUM, group.comm);
        if (group.comm != WEFT_COMM_NULL) group.free();
    }
    EXPECT(status == WEFT_OK || status == WEFT_BROKEN_RANK || status == WEFT_REFUSED_UNSUPPORTED);
    use({first.comm});
    first.free();
    EXPECT(weft_finalize() == WEFT_OK);
}

struct Case {
    const char* name;
    int processes;
    void (*run)(int number);
};
constexpr Case cases[] = {
    {"in_order", 3, in_order}, {"many", ranks_max, many}, {"failure", 3, failure},
    {"messages", 3, messages}, {"signals", 3, signals},   {"killed", 3, killed},
};

bool play(const Case& played, int number) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED);
    shared = new (memory) Shared;
    for (int rank = 0; rank < played.processes; ++rank) {
        const pid_t child = fork();
        EXPECT(child >= 0);
        if (child > 0) continue;
        world_rank = rank;
        const std::string said = played.name + std::string(" ") + std::to_string(number);
        setting = said.c_str();
        alarm(played.run == killed && rank == 2 ? 0 : 100);
        played.run(number);
        std::exit(0);
    }
    bool is_well = true;
    for (int rank = 0; rank < played.processes; ++rank) {
        int status = -1;
        EXPECT(wait(&status) > 0);
        const bool is_victim =
            played.run == killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        is_well &= status == 0 || is_victim;
    }
    munmap(memory, sizeof(Shared));
    return is_well;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 3);
    const std::string name = argv[1];
    bool is_well = true;
    for (const Case& one : cases) {
        if (name != one.name) continue;
        for (int i = 2; i < argc; ++i) is_well = play(one, std::atoi(argv[i])) && is_well;
        return is_well ? 0 : 1;
    }
    return 2;
}
