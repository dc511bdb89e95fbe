// Ranks of which one runs out of descriptors: WHEN LEFT.
//
//   first   after weft_init, when ranks are not connected yet
//   later   when all of them are: only a new communicator may still need some, and world stays
//           whole
//
// Rank 1 can open LEFT descriptors more. On every rank each call must soon end with WEFT_OK and
// right data, or with WEFT_BROKEN_MEMORY and a sentence about descriptors. If ranks are not
// connected, one that cannot be told learns from the others' end. Rank 0 prints how many calls
// failed.
#include <sys/resource.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "support/fault_program.h"

using weft::now_ns;

namespace {

constexpr std::int64_t patience_ns = 10'000'000'000;
constexpr int victim = 1;
constexpr std::size_t large = 60'000;  // elements

int rank = -1;
int ranks = 0;
bool may_be_untold = false;
int failed = 0;
int wrong = 0;

// True: WEFT_OK.
bool accept(const char* call, weft_status status) {
    if (status == WEFT_OK) return true;
    ++failed;
    const bool is_told =
        status == WEFT_BROKEN_MEMORY && std::strstr(weft_last_detail(), "descriptor") != nullptr;
    if (!is_told && !(may_be_untold && rank != victim && status == WEFT_BROKEN_RANK))
        wrong += weft::test::fail(rank, call);
    return false;
}

void use(weft_comm comm) {
    static std::vector<double> small(static_cast<std::size_t>(ranks), rank);
    static std::vector<double> swapped(small.size());
    static std::vector<double> mine(large, rank);
    static std::vector<double> all(large * small.size());
    double sum = rank;
    weft_request requests[3] = {WEFT_REQUEST_NULL, WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
    bool are_well = accept("ialltoall", weft_ialltoall(small.data(), swapped.data(), 1,
                                                       WEFT_FLOAT64, comm, &requests[0]));
    are_well &= accept("iallgather", weft_iallgather(mine.data(), all.data(), large, WEFT_FLOAT64,
                                                     comm, &requests[1]));
    are_well &= accept("iallreduce", weft_iallreduce(WEFT_IN_PLACE, &sum, 1, WEFT_FLOAT64, WEFT_SUM,
                                                     comm, &requests[2]));
    usleep(2000);  // computes
    for (weft_request& request : requests) are_well &= accept("wait", weft_wait(&request));
    if (!are_well) return;
    bool is_right = sum == ranks * (ranks - 1) / 2.0;
    for (std::size_t r = 0; r < small.size(); ++r) {
        is_right &= swapped[r] == static_cast<double>(r);
        is_right &= std::all_of(all.begin() + static_cast<std::ptrdiff_t>(r * large),
                                all.begin() + static_cast<std::ptrdiff_t>((r + 1) * large),
                                [&](double value) { return value == static_cast<double>(r); });
    }
    if (!is_right) wrong += weft::test::fail(rank, "a wrong result");
}

// From now on this process gets so many descriptors more.
void leave_descriptors(long left) {
    std::vector<int> opened;
    for (long i = 0; i <= left; ++i) opened.push_back(dup(0));
    for (const int fd : opened) close(fd);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(opened.back());
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) wrong += weft::test::fail(rank, "setrlimit");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 1;
    may_be_untold = argv[1] == std::string_view("first");
    if (weft_init() != WEFT_OK) return weft::test::fail(rank, "weft_init");
    const weft_comm world = weft_comm_world();
    weft_comm_rank(world, &rank);
    weft_comm_size(world, &ranks);
    if (!may_be_untold) use(world);
    if (failed > 0) wrong += weft::test::fail(rank, "too early");
    if (rank == victim) leave_descriptors(std::atol(argv[2]));
    const std::int64_t begin_ns = now_ns();
    use(world);
    weft_comm comm = WEFT_COMM_NULL;
    if (accept("weft_comm_dup", weft_comm_dup(world, &comm))) {
        use(comm);
        use(comm);
        accept("weft_comm_free", weft_comm_free(&comm));
    }
    const int failed_before = failed;
    use(world);
    if (!may_be_untold && failed > failed_before)
        wrong += weft::test::fail(rank, "world is not whole");
    if (now_ns() - begin_ns > patience_ns) wrong += weft::test::fail(rank, "too late");
    if (rank == 0) std::printf("%d calls failed\n", failed);
    if (weft_finalize() != WEFT_OK) return weft::test::fail(rank, "weft_finalize");
    return wrong > 0 ? 1 : 0;
}
