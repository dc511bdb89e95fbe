// The calls of a random program through the C API.
#pragma once

#include <time.h>

#include "support/random/calls.h"

namespace weft::test::random {

// `world`: the communicator that the program takes for the world; it has the same ranks in the same order.
class PublicCalls : public Calls {
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

    weft_status start(const Call& call, weft_comm comm, weft_request* request) override {
        const weft_call record = call;
        return weft_start_call(&record, WEFT_NONBLOCKING, comm, request);
    }
    weft_status init(const Call& call, weft_comm comm, weft_request* request) override {
        const weft_call record = call;
        return weft_start_call(&record, WEFT_PERSISTENT, comm, request);
    }
    weft_status isend(const void* buf, size_t bytes, int dest, int tag, weft_comm comm,
                      weft_request* request) override {
        return weft_isend(buf, bytes, WEFT_BYTE, dest, tag, comm, request);
    }
    weft_status irecv(void* buf, size_t bytes, int source, int tag, weft_comm comm,
                      weft_request* request) override {
        return weft_irecv(buf, bytes, WEFT_BYTE, source, tag, comm, request);
    }
    weft_status irecv_any(void* buf, size_t bytes, int tag, int* source, weft_comm comm,
                          weft_request* request) override {
        return weft_irecv_any(buf, bytes, WEFT_BYTE, tag, source, comm, request);
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
