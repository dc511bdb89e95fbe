// Ranks abort communicators at random moments: ABORTS SEED MILLISECONDS. Each round one of them calls
// off what all have started on a communicator, and reuses its buffers at once. Whatever ends well is
// right, also where it read those buffers; nothing writes to them any more; the others learn who and
// why; and another communicator goes on. Says how long after the abort they learned it, and fails if
// that is longer in the median.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "conformance/rank_expect.h"
#include "support/fault_program.h"

namespace {

using weft::test::now_s;
using Numbers = std::vector<std::int64_t>;

constexpr std::size_t counts[] = {1, 700, 20'000, 150'000};
constexpr std::size_t count_max = 150'000;
constexpr int operations = 3;
constexpr std::int64_t spoilt = -1;

std::int64_t given(int operation, int rank) { return 1000 * (operation + 1) + rank; }

bool all_are(std::int64_t value, const std::int64_t* first, std::size_t count) {
    return std::all_of(first, first + count, [=](std::int64_t one) { return one == value; });
}

struct Operation {
    enum Kind {
        allreduce,
        persistent_allreduce,
        allgather,
        bcast,
        alltoall,
        float_allreduce,
        message,  // from the root to the rank behind it, which receives from any source
        kinds
    };

    int number = 0;
    Kind kind = allreduce;
    std::size_t count = 0;
    Numbers send = Numbers(count_max * static_cast<std::size_t>(world_size));
    Numbers recv = Numbers(send.size());
    weft_request request = WEFT_REQUEST_NULL;
    bool is_started = false;

    int root() const { return number % world_size; }
    int receiver() const { return (root() + 1) % world_size; }
    std::size_t sent() const {
        return kind == alltoall ? count * static_cast<std::size_t>(world_size) : count;
    }
    bool has_blocks() const { return kind == allgather || kind == alltoall; }
    std::size_t received() const {
        return has_blocks() ? count * static_cast<std::size_t>(world_size) : count;
    }

    void start(weft_comm comm, bool may_be_broken) {
        const weft_status status = try_start(comm);
        is_started = status == WEFT_OK;
        EXPECT(is_started || (status == WEFT_BROKEN_ABORT && may_be_broken));
    }
    weft_status try_start(weft_comm comm) {
        std::fill_n(send.begin(), sent(), given(number, world_rank));
        std::fill_n(recv.begin(), received(), given(number, world_rank));
        const void* from = send.data();
        void* into = recv.data();
        switch (kind) {
            case persistent_allreduce: {
                const weft_status made =
                    weft_allreduce_init(from, into, count, WEFT_INT64, WEFT_SUM, comm, &request);
                return made == WEFT_OK ? weft_start(&request) : made;
            }
            case allgather: return weft_iallgather(from, into, count, WEFT_INT64, comm, &request);
            case bcast: return weft_ibcast(into, count, WEFT_INT64, root(), comm, &request);
            case alltoall: return weft_ialltoall(from, into, count, WEFT_INT64, comm, &request);
            case float_allreduce:
                std::fill_n(reinterpret_cast<float*>(send.data()), count, 1.0f);
                return weft_iallreduce(from, into, count, WEFT_FLOAT32, WEFT_SUM, comm, &request);
            case message:
                if (world_rank == root())
                    return weft_isend(from, count, WEFT_INT64, receiver(), number, comm, &request);
                if (world_rank != receiver()) return WEFT_OK;
                return weft_irecv_any(into, count, WEFT_INT64, number, nullptr, comm, &request);
            default:
                return weft_iallreduce(from, into, count, WEFT_INT64, WEFT_SUM, comm, &request);
        }
    }

    bool is_right() const {
        if (kind == bcast) return all_are(given(number, root()), recv.data(), count);
        if (kind == message && world_rank != receiver()) return true;
        if (kind == message) return all_are(given(number, root()), recv.data(), count);
        if (kind == float_allreduce) {
            const float* const first = reinterpret_cast<const float*>(recv.data());
            return std::all_of(first, first + count, [](float one) {
                return std::abs(one - static_cast<float>(world_size)) < 0.1f;
            });
        }
        std::int64_t sum = 0;
        for (int rank = 0; rank < world_size; ++rank) {
            const std::size_t begin = count * static_cast<std::size_t>(rank);
            if (has_blocks() && !all_are(given(number, rank), recv.data() + begin, count))
                return false;
            sum += given(number, rank);
        }
        return has_blocks() || all_are(sum, recv.data(), count);
    }

    // Its memory is used for something else.
    void spoil(bool also_frees) {
        if (also_frees) {
            send = Numbers(send.size());
            recv = Numbers(recv.size());
        }
        std::fill_n(send.begin(), sent(), spoilt);
        std::fill_n(recv.begin(), received(), spoilt);
    }
    bool is_spoilt() const {
        return all_are(spoilt, send.data(), sent()) && all_are(spoilt, recv.data(), received());
    }
};

// The same on all ranks.
struct Round {
    int aborter;
    int started;  // by the aborter; the others start all
    int delay_us;
    bool synchronizes;  // otherwise it may abort before others have the communicator
    bool tests_meanwhile;
    bool is_by_thread;  // while the rank's own thread waits
    bool frees;         // the buffers
    bool is_encoded;    // float32, in messages
    std::string reason;
};

struct Times {
    double aborted = 0;  // of the aborter
    double began_to_wait = 0;
    double heard = 0;
};

void expect_reason(const Round& round) {
    const std::string who = "rank " + std::to_string(round.aborter) + " of the job aborted";
    EXPECT(std::strstr(weft_last_detail(), who.c_str()) != nullptr);
    EXPECT(std::strstr(weft_last_detail(), round.reason.c_str()) != nullptr);
}

void abort_and_reuse(const Round& round, weft_comm comm, std::vector<Operation>& all,
                     Times& times) {
    times.aborted = now_s();
    EXPECT(weft_comm_abort(comm, round.reason.c_str()) == WEFT_OK);
    for (Operation& operation : all) operation.spoil(round.frees);
}

// Aborts, starts and waits, as the round says.
void use(const Round& round, weft_comm comm, std::vector<Operation>& all, Times& times) {
    const bool aborts = world_rank == round.aborter;
    for (int k = 0; k < (aborts ? round.started : operations); ++k)
        all[static_cast<std::size_t>(k)].start(comm, !aborts);
    std::thread other;
    if (aborts && round.is_by_thread) {
        other = std::thread([&] {
            usleep(static_cast<useconds_t>(round.delay_us));
            abort_and_reuse(round, comm, all, times);
        });
    } else if (aborts) {
        const double until = now_s() + round.delay_us * 1e-6;
        while (round.tests_meanwhile && now_s() < until) {
            const weft_status status = weft_test(&all[0].request);
            EXPECT(status == WEFT_OK || status == WEFT_PENDING);
        }
        if (!round.tests_meanwhile) usleep(static_cast<useconds_t>(round.delay_us));
        abort_and_reuse(round, comm, all, times);
    }
    times.began_to_wait = now_s();
    for (Operation& operation : all) {
        const weft_status status = weft_wait(&operation.request);
        EXPECT(status == WEFT_OK || status == WEFT_BROKEN_ABORT);
        if (status == WEFT_BROKEN_ABORT) expect_reason(round);
        if (status == WEFT_OK && operation.is_started && !aborts) EXPECT(operation.is_right());
    }
    weft_status status = WEFT_OK;
    while (status == WEFT_OK) status = weft_barrier(comm);
    EXPECT(status == WEFT_BROKEN_ABORT);
    times.heard = now_s();
    expect_reason(round);
    if (other.joinable()) other.join();
    for (Operation& operation : all) {
        if (operation.request != WEFT_REQUEST_NULL)
            EXPECT(weft_request_free(&operation.request) == WEFT_OK);
    }
}

Times play(const Round& round, std::vector<Operation>& all) {
    const weft_comm world = weft_comm_world();
    Numbers sums(5000, world_rank);
    weft_request elsewhere = WEFT_REQUEST_NULL;
    EXPECT(weft_iallreduce(WEFT_IN_PLACE, sums.data(), sums.size(), WEFT_INT64, WEFT_SUM, world,
                           &elsewhere) == WEFT_OK);
    Times times;
    weft_comm comm = WEFT_COMM_NULL;
    const weft_status made =
        weft_comm_dup_with(world, round.is_encoded ? "wire=int8" : nullptr, &comm);
    const bool is_late = made == WEFT_BROKEN_ABORT;  // others have it, and it is broken already
    EXPECT(made == WEFT_OK || (is_late && world_rank != round.aborter && !round.synchronizes));
    if (is_late) expect_reason(round);
    if (round.synchronizes) EXPECT(weft_barrier(world) == WEFT_OK);
    if (!is_late) use(round, comm, all, times);

    EXPECT(weft_wait(&elsewhere) == WEFT_OK);
    EXPECT(all_are(world_size * (world_size - 1) / 2, sums.data(), sums.size()));
    EXPECT(weft_barrier(world) == WEFT_OK);
    if (is_late) return times;
    for (const Operation& operation : all)
        EXPECT(world_rank != round.aborter || operation.is_spoilt());
    EXPECT(weft_comm_abort(comm, "again") == WEFT_OK);
    EXPECT(weft_barrier(comm) == WEFT_BROKEN_ABORT);
    expect_reason(round);
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    return times;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 4);
    const int aborts = std::atoi(argv[1]);
    std::mt19937 random(static_cast<unsigned>(std::atoi(argv[2])));
    const auto below = [&](std::size_t limit) { return static_cast<int>(random() % limit); };
    const weft_comm world = join_job();
    EXPECT(weft_comm_abort(WEFT_COMM_NULL, "") == WEFT_REFUSED_HANDLE);
    EXPECT(weft_comm_abort(world, nullptr) == WEFT_REFUSED_ARGUMENT);
    std::vector<Operation> all(operations);
    std::vector<double> delays_s;
    for (int i = 0; i < aborts; ++i) {
        for (int k = 0; k < operations; ++k) {
            Operation& operation = all[static_cast<std::size_t>(k)];
            operation.number = k;
            operation.is_started = false;
            operation.kind = static_cast<Operation::Kind>(below(Operation::kinds));
            operation.count = counts[below(std::size(counts))];
        }
        Round round{};
        round.aborter = below(static_cast<std::size_t>(world_size));
        round.started = below(operations + 1);
        round.delay_us = below(2) * below(2000);
        round.synchronizes = below(2) == 1;
        round.tests_meanwhile = below(2) == 1;
        round.is_by_thread = below(4) == 0;
        round.frees = below(2) == 1;
        round.is_encoded = below(2) == 1;
        // (Its own thread goes on with barriers, as the others do.)
        if (round.is_by_thread) round.started = operations;
        round.reason = "reason " + std::to_string(i);
        const std::string said =
            "in round " + std::to_string(i) + " of rank " + std::to_string(round.aborter);
        setting = said.c_str();
        const Times mine = play(round, all);
        std::vector<Times> times(static_cast<std::size_t>(world_size));
        EXPECT(weft_allgather(&mine, times.data(), 3, WEFT_FLOAT64, world) == WEFT_OK);
        const double aborted = times[static_cast<std::size_t>(round.aborter)].aborted;
        for (int rank = 0; rank < world_size; ++rank) {
            const Times& one = times[static_cast<std::size_t>(rank)];
            if (rank != round.aborter && one.heard > 0)
                delays_s.push_back(one.heard - std::max(aborted, one.began_to_wait));
        }
        setting = "";
    }
    std::sort(delays_s.begin(), delays_s.end());
    if (world_rank == 0) {
        std::printf(
            "%d aborts, heard of after %.3f ms in the median, %.3f ms at most, %zu of %zu "
            "within 10 ms\n",
            aborts, delays_s[delays_s.size() / 2] * 1e3, delays_s.back() * 1e3,
            static_cast<std::size_t>(std::count_if(delays_s.begin(), delays_s.end(),
                                                   [](double delay_s) { return delay_s <= 0.01; })),
            delays_s.size());
    }
    EXPECT(delays_s[delays_s.size() / 2] * 1e3 <= std::atof(argv[3]));
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
