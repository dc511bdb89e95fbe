// The bodies of weft/request.h.
#include "weft/request.h"

#include "c_api/guard.h"

using namespace weft;

namespace {

// Null with WEFT_OK: the null request, which is complete.
Result<Request*> find_request(Process& process, const weft_request* request) {
    if (!request)
        return failure(WEFT_REFUSED_HANDLE, "request = null; expected a request's address");
    if (*request == WEFT_REQUEST_NULL) return static_cast<Request*>(nullptr);
    Request* found = process.requests().find(reinterpret_cast<std::uintptr_t>(*request));
    if (!found) {
        return failure(WEFT_REFUSED_HANDLE,
                       "request = %p; expected a request that is not completed",
                       static_cast<void*>(*request));
    }
    return found;
}

}  // namespace

Status c_api::wait_and_settle(Process& process, Request& request, bool interruptible) {
    weft_status waited =
        process.engine().wait_until([&] { return request.is_done(); }, interruptible);
    if (waited != WEFT_OK) return failure(waited, "a wait was interrupted");
    return request.communicator->settle(request);
}

weft_status weft_test(weft_request* request) {
    return c_api::guarded_process("weft_test", [&](Process& process) -> Status {
        Result<Request*> found = find_request(process, request);
        if (!found.is_ok()) return found.status();
        if (!*found) return ok;
        if (!(*found)->is_done()) process.engine().progress();
        if (!(*found)->is_done()) return Status{WEFT_PENDING};
        *request = WEFT_REQUEST_NULL;
        return (*found)->communicator->settle(**found);
    });
}

weft_status weft_wait(weft_request* request) {
    return c_api::guarded_process("weft_wait", [&](Process& process) -> Status {
        Result<Request*> found = find_request(process, request);
        if (!found.is_ok()) return found.status();
        if (!*found) return ok;
        Status status = c_api::wait_and_settle(process, **found);
        if (status.code != WEFT_INTERRUPTED) *request = WEFT_REQUEST_NULL;
        return status;
    });
}

weft_status weft_waitall(size_t count, weft_request* requests, weft_status* statuses) {
    return c_api::guarded_process("weft_waitall", [&](Process& process) -> Status {
        if (count > 0 && !requests) {
            return failure(WEFT_REFUSED_ARGUMENT, "requests = null; expected %zu requests", count);
        }
        for (size_t i = 0; i < count; ++i) {
            Result<Request*> found = find_request(process, &requests[i]);
            if (found.is_ok()) continue;
            append_detail(" at requests[%zu]", i);
            return found.status();
        }
        Status first_bad = ok;
        size_t bad = 0;
        for (size_t i = 0; i < count; ++i) {
            // The same handle twice has been settled by now: a null request.
            Result<Request*> found = find_request(process, &requests[i]);
            Status status = ok;
            if (found.is_ok() && *found) status = c_api::wait_and_settle(process, **found);
            if (status.code == WEFT_INTERRUPTED) {
                for (size_t j = i; statuses && j < count; ++j) statuses[j] = WEFT_PENDING;
                return status;
            }
            requests[i] = WEFT_REQUEST_NULL;
            if (statuses) statuses[i] = status.code;
            if (!status.is_ok() && bad++ == 0) first_bad = status;
        }
        if (bad > 1) append_detail("; %zu requests failed", bad);
        return first_bad;
    });
}

void weft_interrupt(void) {
    if (Process* process = c_api::current_process()) process->engine().interrupt();
}
