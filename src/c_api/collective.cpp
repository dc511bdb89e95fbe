// The bodies of weft/collective.h.
#include "weft/collective.h"

#include "c_api/guard.h"

using namespace weft;

namespace {

weft_request handle(Process& process, const Request& request) {
    return reinterpret_cast<weft_request>(process.requests().handle(request.place));
}

// `make` is Communicator::start or Communicator::make_persistent.
template <class Make>
weft_status make_request(const char* function, weft_comm comm, weft_request* request, Make make) {
    return c_api::guarded_communicator(
        function, comm, [&](Process& process, Communicator& communicator) -> Status {
            if (!request) {
                return failure(WEFT_REFUSED_ARGUMENT, "request = null; expected an address");
            }
            Result<Request*> made = make(communicator);
            if (!made.is_ok()) return made.status();
            *request = handle(process, **made);
            return ok;
        });
}

weft_status start(const char* function, const Call& call, weft_comm comm, weft_request* request) {
    return make_request(function, comm, request,
                        [&](Communicator& communicator) { return communicator.start(call); });
}

weft_status init(const char* function, const Call& call, weft_comm comm, weft_request* request) {
    return make_request(function, comm, request, [&](Communicator& communicator) {
        return communicator.make_persistent(call);
    });
}

weft_status start_and_wait(const char* function, const Call& call, weft_comm comm) {
    return c_api::guarded_communicator(
        function, comm, [&](Process&, Communicator& communicator) -> Status {
            Result<Request*> started = communicator.start(call, /*waits=*/true);
            return started.is_ok() ? communicator.finish(**started) : started.status();
        });
}

Call barrier_call() { return {.collective = Collective::barrier}; }

Call bcast_call(void* buf, size_t count, weft_type type, int root) {
    return {.collective = Collective::bcast,
            .recv_buf = buf,
            .count = count,
            .type = type,
            .root = root};
}

// For allgather, alltoall and their forms among neighbors.
Call alike_call(Collective collective, const void* send_buf, void* recv_buf, size_t count,
                weft_type type) {
    return {.collective = collective,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = count,
            .type = type};
}

// For gather and scatter.
Call rooted_call(Collective collective, const void* send_buf, void* recv_buf, size_t count,
                 weft_type type, int root) {
    return {.collective = collective,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = count,
            .type = type,
            .root = root};
}

Call reduce_call(const void* send_buf, void* recv_buf, size_t count, weft_type type, weft_op op,
                 int root) {
    return {.collective = Collective::reduce,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = count,
            .type = type,
            .op = op,
            .root = root};
}

// For allreduce, reduce_scatter_block, scan and exscan.
Call reduction_call(Collective collective, const void* send_buf, void* recv_buf, size_t count,
                    weft_type type, weft_op op) {
    return {.collective = collective,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = count,
            .type = type,
            .op = op};
}

BlockArrays blocks(const size_t* counts, const ptrdiff_t* displs,
                   const weft_type* types = nullptr) {
    static_assert(sizeof(size_t) == sizeof(std::int64_t) && sizeof(ptrdiff_t) == sizeof(size_t));
    return {reinterpret_cast<const std::int64_t*>(counts), displs, types};
}

Call gatherv_call(const void* send_buf, size_t send_count, void* recv_buf,
                  const size_t* recv_counts, const ptrdiff_t* displs, weft_type type, int root) {
    return {.collective = Collective::gatherv,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = send_count,
            .type = type,
            .root = root,
            .recv_blocks = blocks(recv_counts, displs)};
}

Call scatterv_call(const void* send_buf, const size_t* send_counts, const ptrdiff_t* displs,
                   void* recv_buf, size_t recv_count, weft_type type, int root) {
    return {.collective = Collective::scatterv,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = recv_count,
            .type = type,
            .root = root,
            .send_blocks = blocks(send_counts, displs)};
}

// For allgatherv, also among neighbors.
Call allgatherv_call(Collective collective, const void* send_buf, size_t send_count, void* recv_buf,
                     const size_t* recv_counts, const ptrdiff_t* displs, weft_type type) {
    return {.collective = collective,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .count = send_count,
            .type = type,
            .recv_blocks = blocks(recv_counts, displs)};
}

// For alltoallv and, without a type, alltoallw, also among neighbors.
Call exchange_call(Collective collective, const void* send_buf, const BlockArrays& send_blocks,
                   void* recv_buf, const BlockArrays& recv_blocks, weft_type type = WEFT_BYTE) {
    return {.collective = collective,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .type = type,
            .send_blocks = send_blocks,
            .recv_blocks = recv_blocks};
}

Call reduce_scatter_call(const void* send_buf, void* recv_buf, const size_t* recv_counts,
                         weft_type type, weft_op op) {
    return {.collective = Collective::reduce_scatter,
            .send_buf = send_buf,
            .recv_buf = recv_buf,
            .type = type,
            .op = op,
            .send_blocks = blocks(recv_counts, nullptr)};
}

}  // namespace

weft_status weft_ibarrier(weft_comm comm, weft_request* request) {
    return start("weft_ibarrier", barrier_call(), comm, request);
}

weft_status weft_barrier(weft_comm comm) {
    return start_and_wait("weft_barrier", barrier_call(), comm);
}

weft_status weft_ibcast(void* buf, size_t count, weft_type type, int root, weft_comm comm,
                        weft_request* request) {
    return start("weft_ibcast", bcast_call(buf, count, type, root), comm, request);
}

weft_status weft_bcast(void* buf, size_t count, weft_type type, int root, weft_comm comm) {
    return start_and_wait("weft_bcast", bcast_call(buf, count, type, root), comm);
}

weft_status weft_iallgather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                            weft_comm comm, weft_request* request) {
    return start("weft_iallgather",
                 alike_call(Collective::allgather, send_buf, recv_buf, count, type), comm, request);
}

weft_status weft_allgather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                           weft_comm comm) {
    return start_and_wait("weft_allgather",
                          alike_call(Collective::allgather, send_buf, recv_buf, count, type), comm);
}

weft_status weft_igather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                         int root, weft_comm comm, weft_request* request) {
    return start("weft_igather",
                 rooted_call(Collective::gather, send_buf, recv_buf, count, type, root), comm,
                 request);
}

weft_status weft_gather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                        int root, weft_comm comm) {
    return start_and_wait("weft_gather",
                          rooted_call(Collective::gather, send_buf, recv_buf, count, type, root),
                          comm);
}

weft_status weft_iscatter(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                          int root, weft_comm comm, weft_request* request) {
    return start("weft_iscatter",
                 rooted_call(Collective::scatter, send_buf, recv_buf, count, type, root), comm,
                 request);
}

weft_status weft_scatter(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                         int root, weft_comm comm) {
    return start_and_wait("weft_scatter",
                          rooted_call(Collective::scatter, send_buf, recv_buf, count, type, root),
                          comm);
}

weft_status weft_ialltoall(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                           weft_comm comm, weft_request* request) {
    return start("weft_ialltoall",
                 alike_call(Collective::alltoall, send_buf, recv_buf, count, type), comm, request);
}

weft_status weft_alltoall(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                          weft_comm comm) {
    return start_and_wait("weft_alltoall",
                          alike_call(Collective::alltoall, send_buf, recv_buf, count, type), comm);
}

weft_status weft_ireduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                         weft_op op, int root, weft_comm comm, weft_request* request) {
    return start("weft_ireduce", reduce_call(send_buf, recv_buf, count, type, op, root), comm,
                 request);
}

weft_status weft_reduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                        weft_op op, int root, weft_comm comm) {
    return start_and_wait("weft_reduce", reduce_call(send_buf, recv_buf, count, type, op, root),
                          comm);
}

weft_status weft_iallreduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                            weft_op op, weft_comm comm, weft_request* request) {
    return start("weft_iallreduce",
                 reduction_call(Collective::allreduce, send_buf, recv_buf, count, type, op), comm,
                 request);
}

weft_status weft_allreduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                           weft_op op, weft_comm comm) {
    return start_and_wait(
        "weft_allreduce",
        reduction_call(Collective::allreduce, send_buf, recv_buf, count, type, op), comm);
}

// --- Persistent forms ------------------------------------------------------------------------------

weft_status weft_barrier_init(weft_comm comm, weft_request* request) {
    return init("weft_barrier_init", barrier_call(), comm, request);
}

weft_status weft_bcast_init(void* buf, size_t count, weft_type type, int root, weft_comm comm,
                            weft_request* request) {
    return init("weft_bcast_init", bcast_call(buf, count, type, root), comm, request);
}

weft_status weft_allgather_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                weft_comm comm, weft_request* request) {
    return init("weft_allgather_init",
                alike_call(Collective::allgather, send_buf, recv_buf, count, type), comm, request);
}

weft_status weft_gather_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                             int root, weft_comm comm, weft_request* request) {
    return init("weft_gather_init",
                rooted_call(Collective::gather, send_buf, recv_buf, count, type, root), comm,
                request);
}

weft_status weft_scatter_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                              int root, weft_comm comm, weft_request* request) {
    return init("weft_scatter_init",
                rooted_call(Collective::scatter, send_buf, recv_buf, count, type, root), comm,
                request);
}

weft_status weft_alltoall_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                               weft_comm comm, weft_request* request) {
    return init("weft_alltoall_init",
                alike_call(Collective::alltoall, send_buf, recv_buf, count, type), comm, request);
}

weft_status weft_reduce_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                             weft_op op, int root, weft_comm comm, weft_request* request) {
    return init("weft_reduce_init", reduce_call(send_buf, recv_buf, count, type, op, root), comm,
                request);
}

weft_status weft_allreduce_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                weft_op op, weft_comm comm, weft_request* request) {
    return init("weft_allreduce_init",
                reduction_call(Collective::allreduce, send_buf, recv_buf, count, type, op), comm,
                request);
}

weft_status weft_ireduce_scatter_block(const void* send_buf, void* recv_buf, size_t count,
                                       weft_type type, weft_op op, weft_comm comm,
                                       weft_request* request) {
    return start(
        "weft_ireduce_scatter_block",
        reduction_call(Collective::reduce_scatter_block, send_buf, recv_buf, count, type, op), comm,
        request);
}

weft_status weft_reduce_scatter_block(const void* send_buf, void* recv_buf, size_t count,
                                      weft_type type, weft_op op, weft_comm comm) {
    return start_and_wait(
        "weft_reduce_scatter_block",
        reduction_call(Collective::reduce_scatter_block, send_buf, recv_buf, count, type, op),
        comm);
}

weft_status weft_reduce_scatter_block_init(const void* send_buf, void* recv_buf, size_t count,
                                           weft_type type, weft_op op, weft_comm comm,
                                           weft_request* request) {
    return init(
        "weft_reduce_scatter_block_init",
        reduction_call(Collective::reduce_scatter_block, send_buf, recv_buf, count, type, op), comm,
        request);
}

weft_status weft_iallgatherv(const void* send_buf, size_t send_count, void* recv_buf,
                             const size_t recv_counts[], const ptrdiff_t displs[], weft_type type,
                             weft_comm comm, weft_request* request) {
    return start("weft_iallgatherv",
                 allgatherv_call(Collective::allgatherv, send_buf, send_count, recv_buf,
                                 recv_counts, displs, type),
                 comm, request);
}

weft_status weft_allgatherv(const void* send_buf, size_t send_count, void* recv_buf,
                            const size_t recv_counts[], const ptrdiff_t displs[], weft_type type,
                            weft_comm comm) {
    return start_and_wait("weft_allgatherv",
                          allgatherv_call(Collective::allgatherv, send_buf, send_count, recv_buf,
                                          recv_counts, displs, type),
                          comm);
}

weft_status weft_allgatherv_init(const void* send_buf, size_t send_count, void* recv_buf,
                                 const size_t recv_counts[], const ptrdiff_t displs[],
                                 weft_type type, weft_comm comm, weft_request* request) {
    return init("weft_allgatherv_init",
                allgatherv_call(Collective::allgatherv, send_buf, send_count, recv_buf, recv_counts,
                                displs, type),
                comm, request);
}

weft_status weft_ireduce_scatter(const void* send_buf, void* recv_buf, const size_t recv_counts[],
                                 weft_type type, weft_op op, weft_comm comm,
                                 weft_request* request) {
    return start("weft_ireduce_scatter",
                 reduce_scatter_call(send_buf, recv_buf, recv_counts, type, op), comm, request);
}

weft_status weft_reduce_scatter(const void* send_buf, void* recv_buf, const size_t recv_counts[],
                                weft_type type, weft_op op, weft_comm comm) {
    return start_and_wait("weft_reduce_scatter",
                          reduce_scatter_call(send_buf, recv_buf, recv_counts, type, op), comm);
}

weft_status weft_reduce_scatter_init(const void* send_buf, void* recv_buf,
                                     const size_t recv_counts[], weft_type type, weft_op op,
                                     weft_comm comm, weft_request* request) {
    return init("weft_reduce_scatter_init",
                reduce_scatter_call(send_buf, recv_buf, recv_counts, type, op), comm, request);
}

weft_status weft_iscan(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                       weft_op op, weft_comm comm, weft_request* request) {
    return start("weft_iscan",
                 reduction_call(Collective::scan, send_buf, recv_buf, count, type, op), comm,
                 request);
}

weft_status weft_scan(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                      weft_op op, weft_comm comm) {
    return start_and_wait(
        "weft_scan", reduction_call(Collective::scan, send_buf, recv_buf, count, type, op), comm);
}

weft_status weft_scan_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                           weft_op op, weft_comm comm, weft_request* request) {
    return init("weft_scan_init",
                reduction_call(Collective::scan, send_buf, recv_buf, count, type, op), comm,
                request);
}

weft_status weft_iexscan(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                         weft_op op, weft_comm comm, weft_request* request) {
    return start("weft_iexscan",
                 reduction_call(Collective::exscan, send_buf, recv_buf, count, type, op), comm,
                 request);
}

weft_status weft_exscan(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                        weft_op op, weft_comm comm) {
    return start_and_wait("weft_exscan",
                          reduction_call(Collective::exscan, send_buf, recv_buf, count, type, op),
                          comm);
}

weft_status weft_exscan_init(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                             weft_op op, weft_comm comm, weft_request* request) {
    return init("weft_exscan_init",
                reduction_call(Collective::exscan, send_buf, recv_buf, count, type, op), comm,
                request);
}

weft_status weft_igatherv(const void* send_buf, size_t send_count, void* recv_buf,
                          const size_t recv_counts[], const ptrdiff_t displs[], weft_type type,
                          int root, weft_comm comm, weft_request* request) {
    return start("weft_igatherv",
                 gatherv_call(send_buf, send_count, recv_buf, recv_counts, displs, type, root),
                 comm, request);
}

weft_status weft_gatherv(const void* send_buf, size_t send_count, void* recv_buf,
                         const size_t recv_counts[], const ptrdiff_t displs[], weft_type type,
                         int root, weft_comm comm) {
    return start_and_wait(
        "weft_gatherv",
        gatherv_call(send_buf, send_count, recv_buf, recv_counts, displs, type, root), comm);
}

weft_status weft_gatherv_init(const void* send_buf, size_t send_count, void* recv_buf,
                              const size_t recv_counts[], const ptrdiff_t displs[], weft_type type,
                              int root, weft_comm comm, weft_request* request) {
    return init("weft_gatherv_init",
                gatherv_call(send_buf, send_count, recv_buf, recv_counts, displs, type, root), comm,
                request);
}

weft_status weft_iscatterv(const void* send_buf, const size_t send_counts[],
                           const ptrdiff_t displs[], void* recv_buf, size_t recv_count,
                           weft_type type, int root, weft_comm comm, weft_request* request) {
    return start("weft_iscatterv",
                 scatterv_call(send_buf, send_counts, displs, recv_buf, recv_count, type, root),
                 comm, request);
}

weft_status weft_scatterv(const void* send_buf, const size_t send_counts[],
                          const ptrdiff_t displs[], void* recv_buf, size_t recv_count,
                          weft_type type, int root, weft_comm comm) {
    return start_and_wait(
        "weft_scatterv",
        scatterv_call(send_buf, send_counts, displs, recv_buf, recv_count, type, root), comm);
}

weft_status weft_scatterv_init(const void* send_buf, const size_t send_counts[],
                               const ptrdiff_t displs[], void* recv_buf, size_t recv_count,
                               weft_type type, int root, weft_comm comm, weft_request* request) {
    return init("weft_scatterv_init",
                scatterv_call(send_buf, send_counts, displs, recv_buf, recv_count, type, root),
                comm, request);
}

weft_status weft_ialltoallv(const void* send_buf, const size_t send_counts[],
                            const ptrdiff_t send_displs[], void* recv_buf,
                            const size_t recv_counts[], const ptrdiff_t recv_displs[],
                            weft_type type, weft_comm comm, weft_request* request) {
    return start("weft_ialltoallv",
                 exchange_call(Collective::alltoallv, send_buf, blocks(send_counts, send_displs),
                               recv_buf, blocks(recv_counts, recv_displs), type),
                 comm, request);
}

weft_status weft_alltoallv(const void* send_buf, const size_t send_counts[],
                           const ptrdiff_t send_displs[], void* recv_buf,
                           const size_t recv_counts[], const ptrdiff_t recv_displs[],
                           weft_type type, weft_comm comm) {
    return start_and_wait(
        "weft_alltoallv",
        exchange_call(Collective::alltoallv, send_buf, blocks(send_counts, send_displs), recv_buf,
                      blocks(recv_counts, recv_displs), type),
        comm);
}

weft_status weft_alltoallv_init(const void* send_buf, const size_t send_counts[],
                                const ptrdiff_t send_displs[], void* recv_buf,
                                const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                weft_type type, weft_comm comm, weft_request* request) {
    return init("weft_alltoallv_init",
                exchange_call(Collective::alltoallv, send_buf, blocks(send_counts, send_displs),
                              recv_buf, blocks(recv_counts, recv_displs), type),
                comm, request);
}

weft_status weft_ialltoallw(const void* send_buf, const size_t send_counts[],
                            const ptrdiff_t send_displs[], const weft_type send_types[],
                            void* recv_buf, const size_t recv_counts[],
                            const ptrdiff_t recv_displs[], const weft_type recv_types[],
                            weft_comm comm, weft_request* request) {
    return start(
        "weft_ialltoallw",
        exchange_call(Collective::alltoallw, send_buf, blocks(send_counts, send_displs, send_types),
                      recv_buf, blocks(recv_counts, recv_displs, recv_types)),
        comm, request);
}

weft_status weft_alltoallw(const void* send_buf, const size_t send_counts[],
                           const ptrdiff_t send_displs[], const weft_type send_types[],
                           void* recv_buf, const size_t recv_counts[],
                           const ptrdiff_t recv_displs[], const weft_type recv_types[],
                           weft_comm comm) {
    return start_and_wait(
        "weft_alltoallw",
        exchange_call(Collective::alltoallw, send_buf, blocks(send_counts, send_displs, send_types),
                      recv_buf, blocks(recv_counts, recv_displs, recv_types)),
        comm);
}

weft_status weft_alltoallw_init(const void* send_buf, const size_t send_counts[],
                                const ptrdiff_t send_displs[], const weft_type send_types[],
                                void* recv_buf, const size_t recv_counts[],
                                const ptrdiff_t recv_displs[], const weft_type recv_types[],
                                weft_comm comm, weft_request* request) {
    return init(
        "weft_alltoallw_init",
        exchange_call(Collective::alltoallw, send_buf, blocks(send_counts, send_displs, send_types),
                      recv_buf, blocks(recv_counts, recv_displs, recv_types)),
        comm, request);
}

weft_status weft_ineighbor_allgather(const void* send_buf, void* recv_buf, size_t count,
                                     weft_type type, weft_comm comm, weft_request* request) {
    return start("weft_ineighbor_allgather",
                 alike_call(Collective::neighbor_allgather, send_buf, recv_buf, count, type), comm,
                 request);
}

weft_status weft_neighbor_allgather(const void* send_buf, void* recv_buf, size_t count,
                                    weft_type type, weft_comm comm) {
    return start_and_wait(
        "weft_neighbor_allgather",
        alike_call(Collective::neighbor_allgather, send_buf, recv_buf, count, type), comm);
}

weft_status weft_neighbor_allgather_init(const void* send_buf, void* recv_buf, size_t count,
                                         weft_type type, weft_comm comm, weft_request* request) {
    return init("weft_neighbor_allgather_init",
                alike_call(Collective::neighbor_allgather, send_buf, recv_buf, count, type), comm,
                request);
}

weft_status weft_ineighbor_allgatherv(const void* send_buf, size_t send_count, void* recv_buf,
                                      const size_t recv_counts[], const ptrdiff_t displs[],
                                      weft_type type, weft_comm comm, weft_request* request) {
    return start("weft_ineighbor_allgatherv",
                 allgatherv_call(Collective::neighbor_allgatherv, send_buf, send_count, recv_buf,
                                 recv_counts, displs, type),
                 comm, request);
}

weft_status weft_neighbor_allgatherv(const void* send_buf, size_t send_count, void* recv_buf,
                                     const size_t recv_counts[], const ptrdiff_t displs[],
                                     weft_type type, weft_comm comm) {
    return start_and_wait("weft_neighbor_allgatherv",
                          allgatherv_call(Collective::neighbor_allgatherv, send_buf, send_count,
                                          recv_buf, recv_counts, displs, type),
                          comm);
}

weft_status weft_neighbor_allgatherv_init(const void* send_buf, size_t send_count, void* recv_buf,
                                          const size_t recv_counts[], const ptrdiff_t displs[],
                                          weft_type type, weft_comm comm, weft_request* request) {
    return init("weft_neighbor_allgatherv_init",
                allgatherv_call(Collective::neighbor_allgatherv, send_buf, send_count, recv_buf,
                                recv_counts, displs, type),
                comm, request);
}

weft_status weft_ineighbor_alltoall(const void* send_buf, void* recv_buf, size_t count,
                                    weft_type type, weft_comm comm, weft_request* request) {
    return start("weft_ineighbor_alltoall",
                 alike_call(Collective::neighbor_alltoall, send_buf, recv_buf, count, type), comm,
                 request);
}

weft_status weft_neighbor_alltoall(const void* send_buf, void* recv_buf, size_t count,
                                   weft_type type, weft_comm comm) {
    return start_and_wait(
        "weft_neighbor_alltoall",
        alike_call(Collective::neighbor_alltoall, send_buf, recv_buf, count, type), comm);
}

weft_status weft_neighbor_alltoall_init(const void* send_buf, void* recv_buf, size_t count,
                                        weft_type type, weft_comm comm, weft_request* request) {
    return init("weft_neighbor_alltoall_init",
                alike_call(Collective::neighbor_alltoall, send_buf, recv_buf, count, type), comm,
                request);
}

weft_status weft_ineighbor_alltoallv(const void* send_buf, const size_t send_counts[],
                                     const ptrdiff_t send_displs[], void* recv_buf,
                                     const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                     weft_type type, weft_comm comm, weft_request* request) {
    return start(
        "weft_ineighbor_alltoallv",
        exchange_call(Collective::neighbor_alltoallv, send_buf, blocks(send_counts, send_displs),
                      recv_buf, blocks(recv_counts, recv_displs), type),
        comm, request);
}

weft_status weft_neighbor_alltoallv(const void* send_buf, const size_t send_counts[],
                                    const ptrdiff_t send_displs[], void* recv_buf,
                                    const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                    weft_type type, weft_comm comm) {
    return start_and_wait(
        "weft_neighbor_alltoallv",
        exchange_call(Collective::neighbor_alltoallv, send_buf, blocks(send_counts, send_displs),
                      recv_buf, blocks(recv_counts, recv_displs), type),
        comm);
}

weft_status weft_neighbor_alltoallv_init(const void* send_buf, const size_t send_counts[],
                                         const ptrdiff_t send_displs[], void* recv_buf,
                                         const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                         weft_type type, weft_comm comm, weft_request* request) {
    return init(
        "weft_neighbor_alltoallv_init",
        exchange_call(Collective::neighbor_alltoallv, send_buf, blocks(send_counts, send_displs),
                      recv_buf, blocks(recv_counts, recv_displs), type),
        comm, request);
}

weft_status weft_ineighbor_alltoallw(const void* send_buf, const size_t send_counts[],
                                     const ptrdiff_t send_displs[], const weft_type send_types[],
                                     void* recv_buf, const size_t recv_counts[],
                                     const ptrdiff_t recv_displs[], const weft_type recv_types[],
                                     weft_comm comm, weft_request* request) {
    return start("weft_ineighbor_alltoallw",
                 exchange_call(Collective::neighbor_alltoallw, send_buf,
                               blocks(send_counts, send_displs, send_types), recv_buf,
                               blocks(recv_counts, recv_displs, recv_types)),
                 comm, request);
}

weft_status weft_neighbor_alltoallw(const void* send_buf, const size_t send_counts[],
                                    const ptrdiff_t send_displs[], const weft_type send_types[],
                                    void* recv_buf, const size_t recv_counts[],
                                    const ptrdiff_t recv_displs[], const weft_type recv_types[],
                                    weft_comm comm) {
    return start_and_wait("weft_neighbor_alltoallw",
                          exchange_call(Collective::neighbor_alltoallw, send_buf,
                                        blocks(send_counts, send_displs, send_types), recv_buf,
                                        blocks(recv_counts, recv_displs, recv_types)),
                          comm);
}

weft_status weft_neighbor_alltoallw_init(const void* send_buf, const size_t send_counts[],
                                         const ptrdiff_t send_displs[],
                                         const weft_type send_types[], void* recv_buf,
                                         const size_t recv_counts[], const ptrdiff_t recv_displs[],
                                         const weft_type recv_types[], weft_comm comm,
                                         weft_request* request) {
    return init("weft_neighbor_alltoallw_init",
                exchange_call(Collective::neighbor_alltoallw, send_buf,
                              blocks(send_counts, send_displs, send_types), recv_buf,
                              blocks(recv_counts, recv_displs, recv_types)),
                comm, request);
}
