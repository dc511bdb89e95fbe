// A rank's calls on a process object: what the C API does, for ranks that share this process.
//
// Thread safety: as the C API's.
#pragma once

#include "process/process.h"
#include "support/random/calls.h"

namespace weft::test::random {

class ProcessCalls : public Calls {
  public:
    explicit ProcessCalls(Process& process) : process_(process) {}

    Process& process() { return process_; }
    int rank() const override { return process_.rank(); }
    int ranks() const override { return process_.ranks(); }
    const char* detail() const override { return last_detail(); }

    weft_comm world() override;
    weft_comm self() override;
    weft_status comm_dup(weft_comm comm, weft_comm* made) override;
    weft_status comm_split(weft_comm comm, int color, int key, weft_comm* made) override;
    weft_status comm_topology(weft_comm comm, const Neighbors& neighbors, int rank,
                              weft_comm* made) override;
    weft_status comm_free(weft_comm* comm) override;

    weft_status start(const Call& call, weft_comm comm, weft_request* request) override;
    weft_status init(const Call& call, weft_comm comm, weft_request* request) override;
    weft_status isend(const void* buf, size_t bytes, int dest, int tag, weft_comm comm,
                      weft_request* request) override;
    weft_status irecv(void* buf, size_t bytes, int source, int tag, weft_comm comm,
                      weft_request* request) override;
    weft_status irecv_any(void* buf, size_t bytes, int tag, int* source, weft_comm comm,
                          weft_request* request) override;
    weft_status start(const MessageCall& message, weft_comm comm, weft_request* request);
    weft_status init(const MessageCall& message, weft_comm comm, weft_request* request);
    weft_status start(weft_request* request) override;
    weft_status startall(size_t count, weft_request* requests) override;
    weft_status request_free(weft_request* request) override;

    weft_status test(weft_request* request) override;
    weft_status wait(weft_request* request) override;
    weft_status wait_until(weft_request* request, int64_t deadline_ns) override;
    weft_status testall(size_t count, weft_request* requests, weft_status* statuses) override;
    weft_status waitall(size_t count, weft_request* requests, weft_status* statuses) override;
    weft_status waitall_until(size_t count, weft_request* requests, weft_status* statuses,
                              int64_t deadline_ns) override;
    weft_status testany(size_t count, weft_request* requests, size_t* index) override;
    weft_status waitany(size_t count, weft_request* requests, size_t* index) override;
    weft_status testsome(size_t count, weft_request* requests, size_t* completed, size_t* indices,
                         weft_status* statuses) override;
    weft_status waitsome(size_t count, weft_request* requests, size_t* completed, size_t* indices,
                         weft_status* statuses) override;

    weft_status set_engine(weft_engine engine) override;
    int64_t deadline(int64_t ahead_ns) override;
    void compute(int amount) override;

    // Drives until nothing is owed to other ranks, as weft_finalize.
    void leave();

  protected:
    // Around every call; `blocks`: it may wait for other ranks.
    virtual void begin_call(bool blocks) { (void)blocks; }
    virtual void end_call() {}

  private:
    template <class Body>
    weft_status call(bool blocks, Body body);
    template <class Body>
    weft_status call_on(size_t count, weft_request* requests, bool blocks, Body body);
    Communicator& find(weft_comm comm);
    weft_status give(Result<Request*> made, weft_request* request);
    weft_status give(Result<Communicator*> made, weft_comm* comm);

    Process& process_;
};

}  // namespace weft::test::random
