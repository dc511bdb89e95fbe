#include "support/random/process_calls.h"

#include "base/clock.h"
#include "process/completion/request_list.h"
#include "process/construct.h"
#include "support/in_call.h"

namespace weft::test::random {

template <class Body>
weft_status ProcessCalls::call(bool blocks, Body body) {
    begin_call(blocks);
    weft_status status;
    {
        InCall in_call(process_.engine());
        status = body();
    }
    end_call();
    return status;
}

template <class Body>
weft_status ProcessCalls::call_on(size_t count, weft_request* requests, bool blocks, Body body) {
    return call(blocks, [&] {
        RequestList list(&process_, count, requests);
        return body(list).code;
    });
}

Communicator& ProcessCalls::find(weft_comm comm) {
    Communicator* found = process_.communicators().find(reinterpret_cast<std::uintptr_t>(comm));
    WEFT_ASSERT(found);
    return *found;
}

weft_status ProcessCalls::give(Result<Request*> made, weft_request* request) {
    if (!made.is_ok()) return made.status().code;
    *request = reinterpret_cast<weft_request>(process_.requests().handle((*made)->place));
    return WEFT_OK;
}

weft_status ProcessCalls::give(Result<Communicator*> made, weft_comm* comm) {
    if (!made.is_ok()) return made.status().code;
    *comm = *made ? reinterpret_cast<weft_comm>(process_.handle_of(**made)) : WEFT_COMM_NULL;
    return WEFT_OK;
}

// --- Communicators -------------------------------------------------------------------------------

weft_comm ProcessCalls::world() { return reinterpret_cast<weft_comm>(process_.world_handle()); }

weft_comm ProcessCalls::self() { return reinterpret_cast<weft_comm>(process_.self_handle()); }

weft_status ProcessCalls::comm_dup(weft_comm comm, weft_comm* made) {
    return call(true, [&] { return give(construct(process_, find(comm), {}), made); });
}

weft_status ProcessCalls::comm_split(weft_comm comm, int color, int key, weft_comm* made) {
    const Construction mine{.kind = Construction::Kind::split, .color = color, .key = key};
    return call(true, [&] { return give(construct(process_, find(comm), mine), made); });
}

weft_status ProcessCalls::comm_topology(weft_comm comm, const Neighbors& neighbors, int rank,
                                        weft_comm* made) {
    const Construction mine{.kind = neighbors.is_grid() ? Construction::Kind::cart
                                                        : Construction::Kind::graph};
    const std::vector<Neighborhood> all = neighbors.for_library();
    return call(true, [&] {
        auto own = std::make_unique<const Neighborhood>(all[static_cast<std::size_t>(rank)]);
        return give(construct(process_, find(comm), mine, "", std::move(own)), made);
    });
}

weft_status ProcessCalls::comm_free(weft_comm* comm) {
    return call(false, [&] {
        process_.free(find(*comm));
        *comm = WEFT_COMM_NULL;
        return WEFT_OK;
    });
}

// --- Starts --------------------------------------------------------------------------------------

weft_status ProcessCalls::start(const Call& c, weft_comm comm, weft_request* request) {
    return call(false, [&] { return give(find(comm).start(c), request); });
}

weft_status ProcessCalls::init(const Call& c, weft_comm comm, weft_request* request) {
    return call(false, [&] { return give(find(comm).make_persistent(c), request); });
}

weft_status ProcessCalls::start(const MessageCall& message, weft_comm comm, weft_request* request) {
    return call(false, [&] { return give(find(comm).start(message), request); });
}

weft_status ProcessCalls::init(const MessageCall& message, weft_comm comm, weft_request* request) {
    return call(false, [&] { return give(find(comm).make_persistent(message), request); });
}

weft_status ProcessCalls::isend(const void* buf, size_t bytes, int dest, int tag, weft_comm comm,
                                weft_request* request) {
    const MessageCall message = {
        .sends = true, .data = const_cast<void*>(buf), .count = bytes, .peer = dest, .tag = tag};
    return start(message, comm, request);
}

weft_status ProcessCalls::irecv(void* buf, size_t bytes, int source, int tag, weft_comm comm,
                                weft_request* request) {
    const MessageCall message = {.data = buf, .count = bytes, .peer = source, .tag = tag};
    return start(message, comm, request);
}

weft_status ProcessCalls::irecv_any(void* buf, size_t bytes, int tag, int* source, weft_comm comm,
                                    weft_request* request) {
    const MessageCall message = {
        .data = buf, .count = bytes, .takes_any = true, .tag = tag, .source = source};
    return start(message, comm, request);
}

weft_status ProcessCalls::start(weft_request* request) { return startall(1, request); }

weft_status ProcessCalls::startall(size_t count, weft_request* requests) {
    return call_on(count, requests, false, [](RequestList& list) { return list.start(); });
}

weft_status ProcessCalls::request_free(weft_request* request) {
    return call_on(1, request, false, [](RequestList& list) { return list.free(); });
}

// --- Completion ----------------------------------------------------------------------------------

weft_status ProcessCalls::test(weft_request* request) { return testall(1, request, nullptr); }

weft_status ProcessCalls::wait(weft_request* request) { return waitall(1, request, nullptr); }

weft_status ProcessCalls::wait_until(weft_request* request, int64_t deadline_ns) {
    return waitall_until(1, request, nullptr, deadline_ns);
}

weft_status ProcessCalls::testall(size_t count, weft_request* requests, weft_status* statuses) {
    return call_on(count, requests, false, [&](RequestList& list) {
        Status ready = list.test(Enough::all);
        return ready.is_ok() ? list.settle_all(statuses) : ready;
    });
}

weft_status ProcessCalls::waitall(size_t count, weft_request* requests, weft_status* statuses) {
    return waitall_until(count, requests, statuses, Engine::no_deadline);
}

weft_status ProcessCalls::waitall_until(size_t count, weft_request* requests, weft_status* statuses,
                                        int64_t deadline_ns) {
    return call_on(count, requests, true, [&](RequestList& list) {
        Status ready = list.wait(Enough::all, {.deadline_ns = deadline_ns});
        return ready.is_ok() ? list.settle_all(statuses) : ready;
    });
}

weft_status ProcessCalls::testany(size_t count, weft_request* requests, size_t* index) {
    return call_on(count, requests, false, [&](RequestList& list) {
        Status ready = list.test(Enough::any);
        if (ready.is_ok()) return list.settle_first(index);
        *index = WEFT_NONE;
        return ready;
    });
}

weft_status ProcessCalls::waitany(size_t count, weft_request* requests, size_t* index) {
    return call_on(count, requests, true, [&](RequestList& list) {
        Status ready = list.wait(Enough::any);
        return ready.is_ok() ? list.settle_first(index) : ready;
    });
}

weft_status ProcessCalls::testsome(size_t count, weft_request* requests, size_t* completed,
                                   size_t* indices, weft_status* statuses) {
    return call_on(count, requests, false, [&](RequestList& list) {
        Status ready = list.test(Enough::any);
        if (ready.is_ok()) return list.settle_finished(completed, indices, statuses);
        *completed = 0;
        return ready;
    });
}

weft_status ProcessCalls::waitsome(size_t count, weft_request* requests, size_t* completed,
                                   size_t* indices, weft_status* statuses) {
    return call_on(count, requests, true, [&](RequestList& list) {
        Status ready = list.wait(Enough::any);
        return ready.is_ok() ? list.settle_finished(completed, indices, statuses) : ready;
    });
}

// --- The rest ------------------------------------------------------------------------------------

weft_status ProcessCalls::set_engine(weft_engine engine) {
    process_.engine().set_kind(static_cast<EngineKind>(engine));
    return WEFT_OK;
}

int64_t ProcessCalls::deadline(int64_t ahead_ns) { return now_ns() + ahead_ns; }

void ProcessCalls::compute(int amount) {
    volatile int work = 0;
    for (int i = 0; i < amount; ++i) work = work + i;
}

void ProcessCalls::leave() {
    begin_call(true);
    {
        InCall in_call(process_.engine());
        (void)process_.engine().wait_until([&] { return !process_.executor().has_work(); },
                                           {.interruptible = false});
    }
    end_call();
}

}  // namespace weft::test::random
