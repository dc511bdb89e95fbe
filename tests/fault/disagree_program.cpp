// Real ranks whose calls do not match, with WEFT_CHECK=1: ENGINE ODD. Every pair of calls below is
// made on a communicator of its own, the second by rank ODD. On every rank it must end in a status
// that names the first rank that differs from rank 0, with both calls in words and no buffer touched.
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr std::size_t many = 30'000;

std::vector<double> send_data(8 * many, 1);
std::vector<double> recv_data(8 * many, 2);

struct MadeCall {
    const char* words;
    std::function<weft_status(weft_comm)> make;
};

const MadeCall barrier = {"barrier", weft_barrier};

MadeCall bcast(const char* words, std::size_t count, int root) {
    return {words, [=](weft_comm comm) {
                return weft_bcast(recv_data.data(), count, WEFT_FLOAT64, root, comm);
            }};
}

MadeCall sum(const char* words, std::size_t count, weft_type type) {
    return {words, [=](weft_comm comm) {
                return weft_allreduce(send_data.data(), recv_data.data(), count, type, WEFT_SUM,
                                      comm);
            }};
}

const MadeCall duplicate = {"comm_dup, another constructor or schedule_check", [](weft_comm comm) {
                                weft_comm made = WEFT_COMM_NULL;
                                return weft_comm_dup(comm, &made);
                            }};

const MadeCall started = {"allgather of 30000 x float64", [](weft_comm comm) {
                              weft_request request = WEFT_REQUEST_NULL;
                              weft_status status =
                                  weft_iallgather(send_data.data(), recv_data.data(), many,
                                                  WEFT_FLOAT64, comm, &request);
                              return status == WEFT_OK ? weft_wait(&request) : status;
                          }};

const MadeCall persistent = {"persistent allreduce of 3 x float64 with max", [](weft_comm comm) {
                                 weft_request request = WEFT_REQUEST_NULL;
                                 weft_allreduce_init(send_data.data(), recv_data.data(), 3,
                                                     WEFT_FLOAT64, WEFT_MAX, comm, &request);
                                 weft_start(&request);
                                 weft_status status = weft_wait(&request);
                                 weft_request_free(&request);
                                 return status;
                             }};

const MadeCall persistent_barrier = {"persistent barrier", [](weft_comm comm) {
                                         weft_request request = WEFT_REQUEST_NULL;
                                         weft_barrier_init(comm, &request);
                                         weft_start(&request);
                                         weft_status status = weft_wait(&request);
                                         weft_request_free(&request);
                                         return status;
                                     }};

int fail(int rank, const MadeCall& call, const char* why) {
    std::fprintf(stderr, "rank %d: %s: %s; detail: %s\n", rank, call.words, why,
                 weft_last_detail());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 1;
    setenv("WEFT_ENGINE", argv[1], 1);
    const int odd = std::atoi(argv[2]);
    if (weft_init() != WEFT_OK) return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
    const weft_comm world = weft_comm_world();
    int rank = -1;
    weft_comm_rank(world, &rank);
    const MadeCall few = bcast("bcast of 8 x float64 with root 0", 8, 0);
    const std::pair<MadeCall, MadeCall> pairs[] = {
        {barrier, few},
        {few, bcast("bcast of 8 x float64 with root 1", 8, 1)},
        {few, bcast("bcast of 30000 x float64 with root 0", many, 0)},
        {bcast("bcast of 30000 x float64 with root 1", many, 1), barrier},
        {sum("allreduce of 4 x float64 with sum", 4, WEFT_FLOAT64),
         sum("allreduce of 8 x int32 with sum", 8, WEFT_INT32)},
        {started, few},
        {duplicate, barrier},
        {few, duplicate},
        {persistent, persistent_barrier},
    };
    for (const auto& [usual, of_odd] : pairs) {
        weft_comm comm = WEFT_COMM_NULL;
        if (weft_comm_dup(world, &comm) != WEFT_OK) return fail(rank, duplicate, "of world");
        const MadeCall& own = rank == odd ? of_odd : usual;
        if (own.make(comm) != WEFT_BROKEN_MESSAGE) return fail(rank, own, "another status");
        const std::string named = "rank " + std::to_string(odd == 0 ? 1 : odd) +
                                  " of the job called " + (odd == 0 ? usual : of_odd).words;
        const std::string first =
            std::string("where rank 0 called ") + (odd == 0 ? of_odd : usual).words;
        for (const std::string& part : {named, first}) {
            if (!std::strstr(weft_last_detail(), part.c_str())) {
                return fail(rank, own, part.c_str());
            }
        }
        if (std::ranges::any_of(recv_data, [](double value) { return value != 2; })) {
            return fail(rank, own, "a buffer was touched");
        }
        if (weft_barrier(comm) != WEFT_BROKEN_MESSAGE) return fail(rank, own, "it is not broken");
        if (weft_comm_free(&comm) != WEFT_OK) return fail(rank, own, "weft_comm_free");
    }
    if (weft_barrier(world) != WEFT_OK) return fail(rank, barrier, "of world");
    return weft_finalize() == WEFT_OK ? 0 : fail(rank, barrier, "weft_finalize");
}
