// The bodies of weft/request.h.
#include "weft/request.h"

#include <string>

#include "c_api/guard.h"

using namespace weft;

namespace {

std::uintptr_t handle_of(weft_request request) { return reinterpret_cast<std::uintptr_t>(request); }

// Null with WEFT_OK: the null request, which is complete.
Result<Request*> find_request(Process& process, const weft_request* request) {
    if (!request)
        return failure(WEFT_REFUSED_HANDLE, "request = null; expected a request's address");
    if (*request == WEFT_REQUEST_NULL) return static_cast<Request*>(nullptr);
    Request* found = process.requests().find(handle_of(*request));
    if (!found) {
        return failure(WEFT_REFUSED_HANDLE,
                       "request = %p; expected a request that is not completed",
                       static_cast<void*>(*request));
    }
    return found;
}

}  // namespace

Status c_api::wait_and_settle(Process& process, std::uintptr_t handle, bool interruptible) {
    Request* request = nullptr;
    auto is_done = [&] {
        request = process.requests().find(handle);
        return !request || request->is_done();
    };
    weft_status waited = process.engine().wait_until(is_done, interruptible);
    if (waited != WEFT_OK) return failure(waited, "a wait was interrupted");
    if (!request) {
        return failure(WEFT_REFUSED_HANDLE,
                       "request = %p was completed by another thread meanwhile",
                       reinterpret_cast<void*>(handle));
    }
    return request->communicator->settle(*request);
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
        Status status = c_api::wait_and_settle(process, handle_of(*request));
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
        std::string first_detail;
        size_t bad = 0;
        for (size_t i = 0; i < count; ++i) {
            // The same handle twice has been settled by now: a null request.
            Result<Request*> found = find_request(process, &requests[i]);
            Status status = ok;
            if (found.is_ok() && *found) {
                status = c_api::wait_and_settle(process, handle_of(requests[i]));
            }
            if (status.code == WEFT_INTERRUPTED) {
                for (size_t j = i; statuses && j < count; ++j) statuses[j] = WEFT_PENDING;
                return status;
            }
            requests[i] = WEFT_REQUEST_NULL;
            if (statuses) statuses[i] = status.code;
            if (!status.is_ok() && bad++ == 0) {
                first_bad = status;
                first_detail = last_detail();
            }
        }
        if (bad > 1) {
            return failure_of_rank(first_bad.code, first_bad.rank, "%s; %zu requests failed",
                                   first_detail.c_str(), bad);
        }
        return first_bad;
    });
}

void weft_interrupt(void) {
    if (Process* process = c_api::current_process()) process->engine().interrupt();
}
