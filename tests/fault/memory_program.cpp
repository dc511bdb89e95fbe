// Ranks that run out of memory, one allocation at a time or several in a row: HOW SECONDS [N].
//
//   stacks   an allocation fails once for each call stack that it comes from
//   each     every allocation of a rank's part fails once
//   burst    every allocation of a rank's part fails, and some that follow it
//   cold     the N-th allocation of rank 0's first part fails
//
// In each turn one rank's memory fails while all use a new duplicate of world for a mixed program. On
// every rank each call must soon end with WEFT_OK and right data; with WEFT_REFUSED_MEMORY, and then
// the same call succeeds; or with WEFT_BROKEN_MEMORY and a sentence that names the rank. World stays
// whole. Rank 0 prints how many allocations failed.
#include <signal.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/failing_new.h"
#include "support/fault_program.h"

using weft::now_ns;
using weft::test::Injector;

namespace {

constexpr std::int64_t patience_ns = 5'000'000'000;
constexpr int ranks_max = 8;
constexpr std::size_t large = 60'000;  // elements

int rank = -1;
int ranks = 0;
int victim = 0;  // whose memory fails
long turn = 0;
long burst = 1;  // so many allocations fail in a row
std::int64_t deadline_ns = 0;
int failures = 0;

// Takes no memory.
void complain(const char* call, weft_status status, const char* why) {
    ++failures;
    char text[1024];
    const int length =
        std::snprintf(text, sizeof text, "rank %d, turn %ld, victim %d: %s: %s: %s; detail: %s\n",
                      rank, turn, victim, call, weft_status_name(status), why, weft_last_detail());
    (void)!write(STDERR_FILENO, text, static_cast<std::size_t>(length));
}

void hang(int) {
    constexpr char text[] = "a rank hangs\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(3);
}

// The status is one that a lack of memory explains. True: WEFT_OK.
bool accept(const char* call, weft_status status) {
    if (status == WEFT_OK) return true;
    char expected[64];
    std::snprintf(expected, sizeof expected, "rank %d of the job", victim);
    if (status != WEFT_BROKEN_MEMORY) {
        complain(call, status, "another status");
    } else if (std::strstr(weft_last_detail(), expected) == nullptr) {
        complain(call, status, "another rank");
    }
    return false;
}

// Calls again what was refused for want of memory.
template <class Call>
bool attempt(const char* name, Call call) {
    weft_status status = call();
    for (long refused = 0; status == WEFT_REFUSED_MEMORY && refused < burst; ++refused) {
        if (rank != victim || !Injector::has_fired()) complain(name, status, "there was memory");
        status = call();
    }
    return accept(name, status);
}

// A request, and what its result must be.
struct Operation {
    const char* name;
    weft_request request = WEFT_REQUEST_NULL;
    bool is_started = false;

    template <class Call>
    void start(Call call) {
        is_started = attempt(name, [&] { return call(&request); });
    }
    // True: it has completed well.
    bool finish() {
        if (!is_started) return false;
        return attempt(name, [&] { return weft_wait_until(&request, deadline_ns); });
    }
};

void expect(const char* name, bool is_right) {
    if (!is_right) complain(name, WEFT_OK, "a wrong result");
}

double* buffer(int which) {
    static double buffers[8][large * ranks_max];
    return buffers[which];
}

bool all_are(const double* values, std::size_t count, double value) {
    return std::all_of(values, values + count, [&](double v) { return v == value; });
}

double sum_of_ranks() { return ranks * (ranks + 1) / 2.0; }

// Several at once, small and large; one rank is late, so that messages come unexpected.
void use_collectives(weft_comm comm) {
    if (rank == (victim + turn) % ranks) usleep(500);
    const std::size_t medium = 1000 + static_cast<std::size_t>(turn % 7) * 500;
    Operation sum{"allreduce"};
    Operation large_sum{"large allreduce"};
    Operation news{"bcast"};
    Operation small_news{"small bcast"};
    Operation gathered{"allgather"};
    Operation swapped{"alltoall"};
    for (std::size_t i = 0; i < large; ++i) buffer(1)[i] = rank + 1;
    for (std::size_t i = 0; i < large; ++i) buffer(2)[i] = rank == 0 ? 7 : 0;
    for (std::size_t i = 0; i < medium; ++i) buffer(3)[i] = rank;
    for (std::size_t i = 0; i < 100 * static_cast<std::size_t>(ranks); ++i)
        buffer(5)[i] = rank * ranks + static_cast<double>(i / 100);
    buffer(0)[0] = rank + 1;
    buffer(7)[0] = rank == ranks - 1 ? 5 : 0;
    sum.start([&](weft_request* r) {
        return weft_iallreduce(WEFT_IN_PLACE, buffer(0), 1, WEFT_FLOAT64, WEFT_SUM, comm, r);
    });
    news.start(
        [&](weft_request* r) { return weft_ibcast(buffer(2), large, WEFT_FLOAT64, 0, comm, r); });
    small_news.start([&](weft_request* r) {
        return weft_ibcast(buffer(7), 1, WEFT_FLOAT64, ranks - 1, comm, r);
    });
    gathered.start([&](weft_request* r) {
        return weft_iallgather(buffer(3), buffer(4), medium, WEFT_FLOAT64, comm, r);
    });
    large_sum.start([&](weft_request* r) {
        return weft_iallreduce(WEFT_IN_PLACE, buffer(1), large, WEFT_FLOAT64, WEFT_SUM, comm, r);
    });
    swapped.start([&](weft_request* r) {
        return weft_ialltoall(buffer(5), buffer(6), 100, WEFT_FLOAT64, comm, r);
    });
    if (swapped.finish()) {
        for (int r = 0; r < ranks; ++r)
            expect("alltoall", all_are(buffer(6) + 100 * r, 100, r * ranks + rank));
    }
    if (sum.finish()) expect("allreduce", buffer(0)[0] == sum_of_ranks());
    if (news.finish()) expect("bcast", all_are(buffer(2), large, 7));
    if (small_news.finish()) expect("small bcast", buffer(7)[0] == 5);
    if (gathered.finish()) {
        for (int r = 0; r < ranks; ++r)
            expect("allgather",
                   all_are(buffer(4) + medium * static_cast<std::size_t>(r), medium, r));
    }
    if (large_sum.finish()) expect("large allreduce", all_are(buffer(1), large, sum_of_ranks()));
}

// So many at once, more in every turn, that transports must grow.
void crowd(weft_comm comm, long count) {
    static Operation operations[400];
    static double values[400];
    if (rank == (victim + turn + 1) % ranks) usleep(500);
    for (long i = 0; i < count; ++i) {
        operations[i] = {"small allreduce"};
        values[i] = rank + static_cast<double>(i);
        operations[i].start([&](weft_request* r) {
            return weft_iallreduce(WEFT_IN_PLACE, values + i, 1, WEFT_FLOAT64, WEFT_SUM, comm, r);
        });
    }
    const double ranks_sum = sum_of_ranks() - ranks;
    for (long i = 0; i < count; ++i) {
        if (operations[i].finish())
            expect("small allreduce", values[i] == ranks_sum + static_cast<double>(i * ranks));
    }
}

void use_persistent(weft_comm comm) {
    Operation sum{"persistent allreduce"};
    buffer(0)[0] = rank + 1;
    const bool is_made = attempt("weft_allreduce_init", [&] {
        return weft_allreduce_init(WEFT_IN_PLACE, buffer(0), 1, WEFT_FLOAT64, WEFT_SUM, comm,
                                   &sum.request);
    });
    if (!is_made) return;
    sum.start([](weft_request* r) { return weft_start(r); });
    if (sum.finish()) expect("persistent allreduce", buffer(0)[0] == sum_of_ranks());
    attempt("weft_request_free", [&] { return weft_request_free(&sum.request); });
}

void use_constructor(weft_comm comm, const char* settings) {
    weft_comm child = WEFT_COMM_NULL;
    const bool is_made =
        attempt("weft_comm_dup_with", [&] { return weft_comm_dup_with(comm, settings, &child); });
    if (!is_made) return;
    Operation sum{"allreduce on a duplicate"};
    buffer(0)[0] = rank + 1;
    sum.start([&](weft_request* r) {
        return weft_iallreduce(WEFT_IN_PLACE, buffer(0), 1, WEFT_FLOAT64, WEFT_SUM, child, r);
    });
    if (sum.finish()) expect("allreduce on a duplicate", buffer(0)[0] == sum_of_ranks());
    attempt("weft_comm_free", [&] { return weft_comm_free(&child); });
}

// Each rank sends to the next one.
void use_schedule(weft_comm comm) {
    weft_schedule schedule = WEFT_SCHEDULE_NULL;
    if (!attempt("weft_schedule_create", [&] { return weft_schedule_create(comm, &schedule); }))
        return;
    const weft_region sent{WEFT_SEND_BUFFER, 0, sizeof(double)};
    const weft_region got{WEFT_RECV_BUFFER, 0, sizeof(double)};
    Operation ring{"schedule"};
    const bool is_ready =
        attempt("weft_schedule_send",
                [&] { return weft_schedule_send(schedule, sent, (rank + 1) % ranks, nullptr); }) &&
        attempt("weft_schedule_recv",
                [&] {
                    return weft_schedule_recv(schedule, got, (rank + ranks - 1) % ranks, nullptr);
                }) &&
        attempt("weft_schedule_seal", [&] { return weft_schedule_seal(schedule); });
    if (is_ready) {
        attempt("weft_schedule_check", [&] { return weft_schedule_check(schedule); });
        buffer(0)[0] = rank;
        const bool is_made = attempt("weft_schedule_init", [&] {
            return weft_schedule_init(schedule, buffer(0), buffer(1), WEFT_BYTE, WEFT_SUM,
                                      &ring.request);
        });
        if (is_made) {
            ring.start([](weft_request* r) { return weft_start(r); });
            if (ring.finish()) expect("schedule", buffer(1)[0] == (rank + ranks - 1) % ranks);
            attempt("weft_request_free", [&] { return weft_request_free(&ring.request); });
        }
    }
    attempt("weft_schedule_free", [&] { return weft_schedule_free(&schedule); });
}

// Of world, whose memory does not fail.
bool is_whole(const char* call, weft_status status) {
    if (status != WEFT_OK) complain(call, status, "world is not whole");
    return status == WEFT_OK;
}

// One turn. What it says, it says of all ranks.
struct Turn {
    int fired = 0;  // an allocation failed
    int failed = 0;
};
Turn take_turn(bool at_new_stack, long n) {
    const weft_comm world = weft_comm_world();
    Turn mine;
    weft_comm comm = WEFT_COMM_NULL;
    alarm(20);
    if (!is_whole("weft_comm_dup", weft_comm_dup(world, &comm))) return {0, 1};
    if (!is_whole("weft_barrier", weft_barrier(world))) return {0, 1};
    deadline_ns = now_ns() + patience_ns;
    if (rank == victim && at_new_stack) Injector::arm_at_new_stack();
    if (rank == victim && !at_new_stack) Injector::arm_at(n, burst);
    // First in every other turn: memory fails only once in a turn.
    const long many = at_new_stack ? std::min(2 * turn, 400L) : 10;
    const bool crowd_first = at_new_stack && turn % 2 == 0;
    if (crowd_first) crowd(comm, many);
    use_collectives(comm);
    use_persistent(comm);
    use_constructor(comm, "");
    use_constructor(comm, "bcast=chain:segment=64K");
    use_schedule(comm);
    if (!crowd_first) crowd(comm, many);
    attempt("weft_comm_free", [&] { return weft_comm_free(&comm); });
    if (rank == victim) mine.fired = Injector::disarm();
    // Until now nobody sends the victim anything on world that it could not keep.
    int is_disarmed = 1;
    if (!is_whole("weft_bcast", weft_bcast(&is_disarmed, 1, WEFT_INT32, victim, world)))
        return {0, 1};
    if (now_ns() > deadline_ns) complain("the turn", WEFT_OK, "it took longer than 5 s");
    mine.failed = failures;
    Turn all;
    if (!is_whole("weft_allreduce", weft_allreduce(&mine, &all, 2, WEFT_INT32, WEFT_SUM, world)))
        return {0, 1};
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 1;
    const std::string how = argv[1];
    const double seconds = std::atof(argv[2]);
    const long n = argc > 3 ? std::atol(argv[3]) : 1;
    Injector::prepare();
    signal(SIGALRM, hang);
    if (weft_init() != WEFT_OK) return weft::test::fail(rank, "weft_init");
    weft_comm_rank(weft_comm_world(), &rank);
    weft_comm_size(weft_comm_world(), &ranks);
    const double end_s = weft::test::now_s() + seconds;
    long fired = 0;
    Turn last;
    if (how == "cold") {
        last = take_turn(false, n);
        fired = last.fired;
    } else {
        // By rank, the next allocation to fail; 0: no more.
        long next[ranks_max];
        std::fill(next, next + ranks, 1);
        for (int open = ranks; open > 0 && last.failed == 0; victim = (victim + 1) % ranks) {
            if (next[victim] == 0) continue;
            ++turn;
            if (how == "burst") burst = 2 << turn % 5;
            last = take_turn(how == "stacks", next[victim]);
            fired += last.fired;
            ++next[victim];
            int is_late = weft::test::now_s() > end_s;
            if (last.failed == 0 &&
                weft_bcast(&is_late, 1, WEFT_INT32, 0, weft_comm_world()) != WEFT_OK)
                return weft::test::fail(rank, "weft_bcast");
            if (last.fired > 0 && !is_late) continue;
            next[victim] = 0;
            --open;
        }
    }
    if (last.failed > 0) return 1;
    if (rank == 0) std::printf("%ld allocations failed\n", fired);
    alarm(20);
    return weft_finalize() == WEFT_OK ? 0 : weft::test::fail(rank, "weft_finalize");
}
