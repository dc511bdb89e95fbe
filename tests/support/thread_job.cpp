#include "support/thread_job.h"

#include <thread>

namespace weft::test {

weft_status ThreadRank::give(Result<Request*> made, weft_request* request) {
    if (!made.is_ok()) return made.status().code;
    *request = reinterpret_cast<weft_request>(process_.requests().handle((*made)->place));
    return WEFT_OK;
}

weft_status ThreadRank::start(const Call& call, weft_request* request) {
    Engine::Hold hold(process_.engine());
    return give(process_.world().start(call), request);
}

weft_status ThreadRank::init(const Call& call, weft_request* request) {
    Engine::Hold hold(process_.engine());
    return give(process_.world().make_persistent(call), request);
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

weft_status ThreadRank::igather(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                int root, weft_request* request) {
    return start({.collective = Collective::gather,
                  .send_buf = send_buf,
                  .recv_buf = recv_buf,
                  .count = count,
                  .type = type,
                  .root = root},
                 request);
}

weft_status ThreadRank::iscatter(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                 int root, weft_request* request) {
    return start({.collective = Collective::scatter,
                  .send_buf = send_buf,
                  .recv_buf = recv_buf,
                  .count = count,
                  .type = type,
                  .root = root},
                 request);
}

weft_status ThreadRank::ialltoall(const void* send_buf, void* recv_buf, size_t count,
                                  weft_type type, weft_request* request) {
    return start({.collective = Collective::alltoall,
                  .send_buf = send_buf,
                  .recv_buf = recv_buf,
                  .count = count,
                  .type = type},
                 request);
}

weft_status ThreadRank::ireduce(const void* send_buf, void* recv_buf, size_t count, weft_type type,
                                weft_op op, int root, weft_request* request) {
    return start({.collective = Collective::reduce,
                  .send_buf = send_buf,
                  .recv_buf = recv_buf,
                  .count = count,
                  .type = type,
                  .op = op,
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

weft_status ThreadRank::test(weft_request* request) {
    return with({request, 1}, [](RequestList& list) {
        Status ready = list.test(Enough::all);
        return ready.is_ok() ? list.settle_all(nullptr) : ready;
    });
}

weft_status ThreadRank::wait(weft_request* request) {
    return with({request, 1}, [](RequestList& list) {
        Status ready = list.wait(Enough::all);
        return ready.is_ok() ? list.settle_all(nullptr) : ready;
    });
}

ThreadJob::ThreadJob(Rank ranks, Options options) : ends_(ranks, options.settings) {
    for (Rank rank = 0; rank < ranks; ++rank) {
        Process::Parts parts;
        parts.rank = rank;
        parts.ranks = ranks;
        parts.transports.push_back(ends_.take(rank));
        parts.routes.assign(static_cast<std::size_t>(ranks), parts.transports[0].get());
        parts.selector = options.selector;
        parts.checks_calls = options.checks_calls;
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
