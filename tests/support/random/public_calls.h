// The calls of a random program through the C API.
#pragma once

#include <time.h>

#include "support/random/calls.h"

namespace weft::test::random {

// `world`: the communicator that the program takes for the world; it has the same ranks in the same order.
class PublicCalls final : public Calls {
  public:
    explicit PublicCalls(weft_comm world = weft_comm_world()) : world_(world) {}

    int rank() const override {
        int rank = -1;
        weft_comm_rank(world_, &rank);
        return rank;
    }
    int ranks() const override {
        int ranks = -1;
        weft_comm_size(world_, &ranks);
        return ranks;
    }
    const char* detail() const override { return weft_last_detail(); }

    weft_comm world() override { return world_; }
    weft_comm self() override { return weft_comm_self(); }
    weft_status comm_dup(weft_comm comm, weft_comm* made) override {
        return weft_comm_dup(comm, made);
    }
    weft_status comm_split(weft_comm comm, int color, int key, weft_comm* made) override {
        return weft_comm_split(comm, color, key, made);
    }
    weft_status comm_topology(weft_comm comm, const Neighbors& neighbors, int rank,
                              weft_comm* made) override {
        const auto& from = neighbors.sources[static_cast<std::size_t>(rank)];
        const auto& to = neighbors.destinations[static_cast<std::size_t>(rank)];
        if (neighbors.is_grid()) {
            return weft_comm_cart(comm, static_cast<int>(neighbors.dims.size()),
                                  neighbors.dims.data(), neighbors.periods.data(), made);
        }
        return weft_comm_graph(comm, static_cast<int>(from.size()), from.data(),
                               static_cast<int>(to.size()), to.data(), made);
    }
    weft_status comm_free(weft_comm* comm) override { return weft_comm_free(comm); }

    static const size_t* counts_of(const BlockArrays& blocks) {
        return reinterpret_cast<const size_t*>(blocks.counts);
    }

    weft_status start(const Call& c, weft_comm comm, weft_request* request) override {
        return make(c, comm, request, /*persistent=*/false);
    }
    weft_status init(const Call& c, weft_comm comm, weft_request* request) override {
        return make(c, comm, request, /*persistent=*/true);
    }
    static weft_status make(const Call& c, weft_comm comm, weft_request* request, bool persistent) {
        const auto call = [&](auto* starts, auto* inits, auto... arguments) {
            return (persistent ? inits : starts)(arguments..., comm, request);
        };
        switch (c.collective) {
            case Collective::barrier: return call(weft_ibarrier, weft_barrier_init);
            case Collective::bcast:
                return call(weft_ibcast, weft_bcast_init, c.recv_buf, c.count, c.type, c.root);
            case Collective::gather:
                return call(weft_igather, weft_gather_init, c.send_buf, c.recv_buf, c.count, c.type,
                            c.root);
            case Collective::scatter:
                return call(weft_iscatter, weft_scatter_init, c.send_buf, c.recv_buf, c.count,
                            c.type, c.root);
            case Collective::allgather:
                return call(weft_iallgather, weft_allgather_init, c.send_buf, c.recv_buf, c.count,
                            c.type);
            case Collective::alltoall:
                return call(weft_ialltoall, weft_alltoall_init, c.send_buf, c.recv_buf, c.count,
                            c.type);
            case Collective::reduce:
                return call(weft_ireduce, weft_reduce_init, c.send_buf, c.recv_buf, c.count, c.type,
                            c.op, c.root);
            case Collective::allreduce:
                return call(weft_iallreduce, weft_allreduce_init, c.send_buf, c.recv_buf, c.count,
                            c.type, c.op);
            case Collective::reduce_scatter_block:
                return call(weft_ireduce_scatter_block, weft_reduce_scatter_block_init, c.send_buf,
                            c.recv_buf, c.count, c.type, c.op);
            case Collective::allgatherv:
                return call(weft_iallgatherv, weft_allgatherv_init, c.send_buf, c.count, c.recv_buf,
                            counts_of(c.recv_blocks), c.recv_blocks.displacements, c.type);
            case Collective::reduce_scatter:
                return call(weft_ireduce_scatter, weft_reduce_scatter_init, c.send_buf, c.recv_buf,
                            counts_of(c.send_blocks), c.type, c.op);
            case Collective::scan:
                return call(weft_iscan, weft_scan_init, c.send_buf, c.recv_buf, c.count, c.type,
                            c.op);
            case Collective::exscan:
                return call(weft_iexscan, weft_exscan_init, c.send_buf, c.recv_buf, c.count, c.type,
                            c.op);
            case Collective::gatherv:
                return call(weft_igatherv, weft_gatherv_init, c.send_buf, c.count, c.recv_buf,
                            counts_of(c.recv_blocks), c.recv_blocks.displacements, c.type, c.root);
            case Collective::scatterv:
                return call(weft_iscatterv, weft_scatterv_init, c.send_buf,
                            counts_of(c.send_blocks), c.send_blocks.displacements, c.recv_buf,
                            c.count, c.type, c.root);
            case Collective::alltoallv:
                return call(weft_ialltoallv, weft_alltoallv_init, c.send_buf,
                            counts_of(c.send_blocks), c.send_blocks.displacements, c.recv_buf,
                            counts_of(c.recv_blocks), c.recv_blocks.displacements, c.type);
            case Collective::alltoallw:
                return call(weft_ialltoallw, weft_alltoallw_init, c.send_buf,
                            counts_of(c.send_blocks), c.send_blocks.displacements,
                            c.send_blocks.types, c.recv_buf, counts_of(c.recv_blocks),
                            c.recv_blocks.displacements, c.recv_blocks.types);
            case Collective::neighbor_allgather:
                return call(weft_ineighbor_allgather, weft_neighbor_allgather_init, c.send_buf,
                            c.recv_buf, c.count, c.type);
            case Collective::neighbor_allgatherv:
                return call(weft_ineighbor_allgatherv, weft_neighbor_allgatherv_init, c.send_buf,
                            c.count, c.recv_buf, counts_of(c.recv_blocks),
                            c.recv_blocks.displacements, c.type);
            case Collective::neighbor_alltoall:
                return call(weft_ineighbor_alltoall, weft_neighbor_alltoall_init, c.send_buf,
                            c.recv_buf, c.count, c.type);
            case Collective::neighbor_alltoallv:
                return call(weft_ineighbor_alltoallv, weft_neighbor_alltoallv_init, c.send_buf,
                            counts_of(c.send_blocks), c.send_blocks.displacements, c.recv_buf,
                            counts_of(c.recv_blocks), c.recv_blocks.displacements, c.type);
            case Collective::neighbor_alltoallw:
                return call(weft_ineighbor_alltoallw, weft_neighbor_alltoallw_init, c.send_buf,
                            counts_of(c.send_blocks), c.send_blocks.displacements,
                            c.send_blocks.types, c.recv_buf, counts_of(c.recv_blocks),
                            c.recv_blocks.displacements, c.recv_blocks.types);
        }
        return WEFT_REFUSED_ARGUMENT;
    }
    weft_status start(weft_request* request) override { return weft_start(request); }
    weft_status startall(size_t count, weft_request* requests) override {
        return weft_startall(count, requests);
    }
    weft_status request_free(weft_request* request) override { return weft_request_free(request); }

    weft_status test(weft_request* request) override { return weft_test(request); }
    weft_status wait(weft_request* request) override { return weft_wait(request); }
    weft_status wait_until(weft_request* request, int64_t deadline_ns) override {
        return weft_wait_until(request, deadline_ns);
    }
    weft_status testall(size_t count, weft_request* requests, weft_status* statuses) override {
        return weft_testall(count, requests, statuses);
    }
    weft_status waitall(size_t count, weft_request* requests, weft_status* statuses) override {
        return weft_waitall(count, requests, statuses);
    }
    weft_status waitall_until(size_t count, weft_request* requests, weft_status* statuses,
                              int64_t deadline_ns) override {
        return weft_waitall_until(count, requests, statuses, deadline_ns);
    }
    weft_status testany(size_t count, weft_request* requests, size_t* index) override {
        return weft_testany(count, requests, index);
    }
    weft_status waitany(size_t count, weft_request* requests, size_t* index) override {
        return weft_waitany(count, requests, index);
    }
    weft_status testsome(size_t count, weft_request* requests, size_t* completed, size_t* indices,
                         weft_status* statuses) override {
        return weft_testsome(count, requests, completed, indices, statuses);
    }
    weft_status waitsome(size_t count, weft_request* requests, size_t* completed, size_t* indices,
                         weft_status* statuses) override {
        return weft_waitsome(count, requests, completed, indices, statuses);
    }

    weft_status set_engine(weft_engine engine) override { return weft_set_engine(engine); }
    int64_t deadline(int64_t ahead_ns) override {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1'000'000'000 + now.tv_nsec + ahead_ns;
    }
    void compute(int amount) override {
        volatile int work = 0;
        for (int i = 0; i < amount; ++i) work = work + i;
    }

  private:
    const weft_comm world_;
};

}  // namespace weft::test::random
