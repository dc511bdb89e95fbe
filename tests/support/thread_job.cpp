#include "support/thread_job.h"

#include <thread>

namespace weft::test {

weft_status ThreadRank::start(const Call& call, weft_request* request) {
    Engine::Hold hold(process_.engine());
    Result<Request*> started = process_.world().start(call);
    if (!started.is_ok()) return started.status().code;
    *request = reinterpret_cast<weft_request>(process_.requests().handle((*started)->place));
    return WEFT_OK;
}

weft_status ThreadRank::ibarrier(weft_request* request) {
    return start({.collective = Collective::barrier}, request);
}

weft_status ThreadRank::ibcast(void* buf, size_t count, weft_type type, int root,
                               weft_request* request) {
    return start({.collective = Collective::bcast,
                  .recv_buf = buf,
                  .count = count,
                  .type = type,
                  .root = root},
                 request);
}

weft_status ThreadRank::iallgather(const void* send_buf, void* recv_buf, size_t count,
                                   weft_type type, weft_request* request) {
    return start({.collective = Collective::allgather,
                  .send_buf = send_buf,
                  .recv_buf = recv_buf,
                  .count = count,
                  .type = type},
                 request);
}

weft_status ThreadRank::iallreduce(const void* send_buf, void* recv_buf, size_t count,
                                   weft_type type, weft_op op, weft_request* request) {
    return start({.collective = Collective::allreduce,
                  .send_buf = send_buf,
                  .recv_buf = recv_buf,
                  .count = count,
                  .type = type,
                  .op = op},
                 request);
}

Request* ThreadRank::find(weft_request request) {
    Request* found = process_.requests().find(reinterpret_cast<std::uintptr_t>(request));
    WEFT_ASSERT(found);
    return found;
}

weft_status ThreadRank::test(weft_request* request) {
    Engine::Hold hold(process_.engine());
    Request& found = *find(*request);
    if (!found.is_done()) process_.engine().progress();
    return found.is_done() ? found.communicator->settle(found).code : WEFT_PENDING;
}

weft_status ThreadRank::wait(weft_request* request) {
    Engine::Hold hold(process_.engine());
    Request& found = *find(*request);
    weft_status waited = process_.engine().wait_until([&] { return found.is_done(); });
    return waited == WEFT_OK ? found.communicator->settle(found).code : waited;
}

ThreadJob::ThreadJob(Rank ranks, Options options) : ends_(ranks, options.settings) {
    for (Rank rank = 0; rank < ranks; ++rank) {
        Process::Parts parts;
        parts.rank = rank;
        parts.ranks = ranks;
        parts.transports.push_back(ends_.take(rank));
        parts.routes.assign(static_cast<std::size_t>(ranks), parts.transports[0].get());
        parts.selector = options.selector;
        parts.engine = {.kind = options.engine, .may_spin = options.may_spin};
        processes_.push_back(std::make_unique<Process>(std::move(parts)));
    }
    for (const auto& process : processes_) ranks_.emplace_back(*process);
}

void ThreadJob::run(const std::function<void(ThreadRank&)>& body) {
    std::vector<std::thread> threads;
    for (ThreadRank& rank : ranks_) threads.emplace_back([&] { body(rank); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::test
