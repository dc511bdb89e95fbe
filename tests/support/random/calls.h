// One rank's calls, like those of the public headers: a random program runs on these.
#pragma once

#include <weft/weft.h>

#include <cstdint>
#include <vector>

#include "support/call.h"
#include "support/neighbors.h"

namespace weft::test::random {

class Calls {
  public:
    virtual ~Calls() = default;

    virtual int rank() const = 0;  // of the world
    virtual int ranks() const = 0;
    virtual const char* detail() const = 0;

    virtual weft_comm world() = 0;
    virtual weft_comm self() = 0;
    virtual weft_status comm_dup(weft_comm comm, weft_comm* made) = 0;
    virtual weft_status comm_split(weft_comm comm, int color, int key, weft_comm* made) = 0;
    // By comm_cart or comm_graph, for rank `rank` of `comm`.
    virtual weft_status comm_topology(weft_comm comm, const Neighbors& neighbors, int rank,
                                      weft_comm* made) = 0;
    // Of these ranks of the world, in this order.
    virtual weft_status comm_group(const std::vector<int>& /*members*/, weft_comm* /*made*/) {
        return WEFT_REFUSED_UNSUPPORTED;
    }
    virtual weft_status comm_free(weft_comm* comm) = 0;

    virtual weft_status start(const Call& call, weft_comm comm, weft_request* request) = 0;
    virtual weft_status init(const Call& call, weft_comm comm, weft_request* request) = 0;
    // Messages of bytes.
    virtual weft_status isend(const void* buf, size_t bytes, int dest, int tag, weft_comm comm,
                              weft_request* request) = 0;
    virtual weft_status irecv(void* buf, size_t bytes, int source, int tag, weft_comm comm,
                              weft_request* request) = 0;
    virtual weft_status irecv_any(void* buf, size_t bytes, int tag, int* source, weft_comm comm,
                                  weft_request* request) = 0;
    virtual weft_status start(weft_request* request) = 0;
    virtual weft_status startall(size_t count, weft_request* requests) = 0;
    virtual weft_status request_free(weft_request* request) = 0;

    virtual weft_status test(weft_request* request) = 0;
    virtual weft_status wait(weft_request* request) = 0;
    virtual weft_status wait_until(weft_request* request, int64_t deadline_ns) = 0;
    virtual weft_status testall(size_t count, weft_request* requests, weft_status* statuses) = 0;
    virtual weft_status waitall(size_t count, weft_request* requests, weft_status* statuses) = 0;
    virtual weft_status waitall_until(size_t count, weft_request* requests, weft_status* statuses,
                                      int64_t deadline_ns) = 0;
    virtual weft_status testany(size_t count, weft_request* requests, size_t* index) = 0;
    virtual weft_status waitany(size_t count, weft_request* requests, size_t* index) = 0;
    virtual weft_status testsome(size_t count, weft_request* requests, size_t* completed,
                                 size_t* indices, weft_status* statuses) = 0;
    virtual weft_status waitsome(size_t count, weft_request* requests, size_t* completed,
                                 size_t* indices, weft_status* statuses) = 0;

    virtual weft_status set_engine(weft_engine engine) = 0;

    // A deadline `ahead_ns` from now; if time is simulated, one that has passed.
    virtual int64_t deadline(int64_t ahead_ns) = 0;
    // The program does something else, from very short (1) to some 10 microseconds (20000).
    virtual void compute(int amount) = 0;
};

}  // namespace weft::test::random
