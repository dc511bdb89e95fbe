// Runs random collectives on this rank: SEED OPERATIONS BYTES_MAX ENGINE (or "switch": engines
// change while operations are outstanding). Ends with status 1 and a sentence when a result is
// wrong.
#include "support/random_program.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

struct PublicJob {
    weft_comm world = weft_comm_world();
    bool switches = false;
    unsigned calls = 0;

    int rank() const {
        int rank = -1;
        weft_comm_rank(world, &rank);
        return rank;
    }
    int ranks() const {
        int ranks = -1;
        weft_comm_size(world, &ranks);
        return ranks;
    }
    const char* detail() const { return weft_last_detail(); }

    weft_status ibarrier(weft_request* request) { return weft_ibarrier(world, request); }
    weft_status ibcast(void* buf, size_t count, weft_type type, int root, weft_request* request) {
        return weft_ibcast(buf, count, type, root, world, request);
    }
    weft_status igather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                        int root, weft_request* request) {
        return weft_igather(send_buf, recv_buf, count, type, root, world, request);
    }
    weft_status iscatter(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                         int root, weft_request* request) {
        return weft_iscatter(send_buf, recv_buf, count, type, root, world, request);
    }
    weft_status ialltoall(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                          weft_request* request) {
        return weft_ialltoall(send_buf, recv_buf, count, type, world, request);
    }
    weft_status ireduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                        weft_op op, int root, weft_request* request) {
        return weft_ireduce(send_buf, recv_buf, count, type, op, root, world, request);
    }
    weft_status iallgather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                           weft_request* request) {
        return weft_iallgather(send_buf, recv_buf, count, type, world, request);
    }
    weft_status iallreduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                           weft_op op, weft_request* request) {
        return weft_iallreduce(send_buf, recv_buf, count, type, op, world, request);
    }
    weft_status test(weft_request* request) { return weft_test(request); }
    weft_status wait(weft_request* request) {
        if (switches && ++calls % 5 == 0) {
            weft_status status = weft_set_engine(static_cast<weft_engine>(calls / 5 % 3));
            if (status != WEFT_OK) return status;
        }
        return weft_wait(request);
    }
};

int fail(const char* what, const char* why) {
    std::fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return fail("usage", "random SEED OPERATIONS BYTES_MAX ENGINE");
    if (weft_init() != WEFT_OK) return fail("weft_init", weft_last_detail());
    PublicJob job;
    std::string_view engine = argv[4];
    job.switches = engine == "switch";
    weft_engine kind = engine == "manual"        ? WEFT_ENGINE_MANUAL
                       : engine == "thread:poll" ? WEFT_ENGINE_THREAD_POLL
                                                 : WEFT_ENGINE_THREAD;
    if (weft_set_engine(kind) != WEFT_OK) return fail("weft_set_engine", weft_last_detail());
    weft::test::RandomProgram program;
    program.seed = std::strtoull(argv[1], nullptr, 0);
    program.operations = std::atoi(argv[2]);
    program.bytes_max = std::strtoull(argv[3], nullptr, 0);
    std::string wrong = weft::test::run(job, program);
    if (!wrong.empty()) return fail(("rank " + std::to_string(job.rank())).c_str(), wrong.c_str());
    if (weft_barrier(weft_comm_world()) != WEFT_OK) return fail("weft_barrier", weft_last_detail());
    if (weft_finalize() != WEFT_OK) return fail("weft_finalize", weft_last_detail());
    return 0;
}
