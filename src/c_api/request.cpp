// The bodies of weft/request.h.
#include "weft/request.h"

#include <algorithm>

#include "c_api/guard.h"
#include "process/completion/request_list.h"

using namespace weft;

namespace {

bool are_null(size_t count, const weft_request* requests) {
    if (!requests) return count == 0;
    return std::all_of(requests, requests + count,
                       [](weft_request request) { return request == WEFT_REQUEST_NULL; });
}

// Null requests are complete even before weft_init and after weft_finalize.
template <class MakeList, class Body>
weft_status on_list(const char* function, size_t count, const weft_request* requests,
                    MakeList make_list, Body body) {
    if (!c_api::current_process() && are_null(count, requests)) {
        return c_api::guarded(function, [&]() -> Status {
            RequestList list = make_list(nullptr);
            return body(list);
        });
    }
    return c_api::yield_if_not_ready(
        c_api::guarded_process(function, [&](Process& process) -> Status {
            RequestList list = make_list(&process);
            return body(list);
        }));
}

template <class Body>
weft_status on_request(const char* function, weft_request* request, Body body) {
    return on_list(
        function, 1, request, [&](Process* process) { return RequestList(process, request); },
        body);
}

template <class Body>
weft_status on_requests(const char* function, size_t count, weft_request* requests, Body body) {
    return on_list(
        function, count, requests,
        [&](Process* process) { return RequestList(process, count, requests); }, body);
}

// Completes all requests if `ready`, the result of test or wait, is ok.
Status complete_all(RequestList& list, Status ready, weft_status* statuses = nullptr) {
    return ready.is_ok() ? list.settle_all(statuses) : ready;
}

// `ready` tests or waits for any.
template <class Ready>
Status complete_first(RequestList& list, size_t* index, Ready ready) {
    WEFT_RETURN_IF_NOT_OK(c_api::check_address("index", index));
    Status status = ready();
    if (status.is_ok()) return list.settle_first(index);
    if (status.code > 0) *index = WEFT_NONE;
    return status;
}

template <class Ready>
Status complete_some(RequestList& list, size_t count, size_t* completed, size_t* indices,
                     weft_status* statuses, Ready ready) {
    WEFT_RETURN_IF_NOT_OK(c_api::check_address("completed", completed));
    if (count > 0) WEFT_RETURN_IF_NOT_OK(c_api::check_address("indices", indices));
    Status status = ready();
    if (status.is_ok()) return list.settle_finished(completed, indices, statuses);
    if (status.code > 0) *completed = 0;
    return status;
}

}  // namespace

weft_status weft_start(weft_request* request) {
    return on_request("weft_start", request, [](RequestList& one) { return one.start(); });
}

weft_status weft_startall(size_t count, weft_request* requests) {
    return on_requests("weft_startall", count, requests,
                       [](RequestList& list) { return list.start(); });
}

weft_status weft_request_free(weft_request* request) {
    return on_request("weft_request_free", request, [](RequestList& one) { return one.free(); });
}

weft_status weft_test(weft_request* request) {
    return on_request("weft_test", request,
                      [](RequestList& one) { return complete_all(one, one.test(Enough::all)); });
}

weft_status weft_wait(weft_request* request) {
    return on_request("weft_wait", request,
                      [](RequestList& one) { return complete_all(one, one.wait(Enough::all)); });
}

weft_status weft_wait_until(weft_request* request, int64_t deadline_ns) {
    return on_request("weft_wait_until", request, [&](RequestList& one) {
        return complete_all(one, one.wait(Enough::all, {.deadline_ns = deadline_ns}));
    });
}

weft_status weft_testall(size_t count, weft_request* requests, weft_status* statuses) {
    return on_requests("weft_testall", count, requests, [&](RequestList& list) {
        return complete_all(list, list.test(Enough::all), statuses);
    });
}

weft_status weft_waitall(size_t count, weft_request* requests, weft_status* statuses) {
    return on_requests("weft_waitall", count, requests, [&](RequestList& list) {
        return complete_all(list, list.wait(Enough::all), statuses);
    });
}

weft_status weft_waitall_until(size_t count, weft_request* requests, weft_status* statuses,
                               int64_t deadline_ns) {
    return on_requests("weft_waitall_until", count, requests, [&](RequestList& list) {
        return complete_all(list, list.wait(Enough::all, {.deadline_ns = deadline_ns}), statuses);
    });
}

weft_status weft_testany(size_t count, weft_request* requests, size_t* index) {
    return on_requests("weft_testany", count, requests, [&](RequestList& list) {
        return complete_first(list, index, [&] { return list.test(Enough::any); });
    });
}

weft_status weft_waitany(size_t count, weft_request* requests, size_t* index) {
    return on_requests("weft_waitany", count, requests, [&](RequestList& list) {
        return complete_first(list, index, [&] { return list.wait(Enough::any); });
    });
}

weft_status weft_testsome(size_t count, weft_request* requests, size_t* completed, size_t* indices,
                          weft_status* statuses) {
    return on_requests("weft_testsome", count, requests, [&](RequestList& list) {
        return complete_some(list, count, completed, indices, statuses,
                             [&] { return list.test(Enough::any); });
    });
}

weft_status weft_waitsome(size_t count, weft_request* requests, size_t* completed, size_t* indices,
                          weft_status* statuses) {
    return on_requests("weft_waitsome", count, requests, [&](RequestList& list) {
        return complete_some(list, count, completed, indices, statuses,
                             [&] { return list.wait(Enough::any); });
    });
}

weft_status weft_progress(void) {
    // (No yield: a progress hook of an MPI calls it, where no other user-level thread may run.)
    return c_api::guarded_process("weft_progress", [](Process& process) -> Status {
        const Executor& executor = process.executor();
        if (executor.is_pending()) process.engine().progress();
        return executor.is_pending() ? Status{WEFT_PENDING} : ok;
    });
}

void weft_interrupt(void) {
    if (Process* process = c_api::current_process()) process->engine().interrupt();
}
