#include "process/completion/queue_calls.h"

#include <string>

namespace weft {
namespace {

Status check_places(const std::uint64_t* cookie, const weft_status* status) {
    if (cookie && status) return ok;
    return failure(WEFT_REFUSED_ARGUMENT, "%s = null; expected an address",
                   cookie ? "status" : "cookie");
}

Status take(CompletionQueue& queue, std::uint64_t* cookie, weft_status* status) {
    const Run* run = queue.take(*cookie);
    if (run == nullptr) return {WEFT_PENDING};
    *status = Communicator::outcome(Request::of(*run));
    return ok;
}

Status timed_out(const CompletionQueue& queue) {
    if (queue.pending() == 0) return failure(WEFT_TIMED_OUT, "no pending request is marked");
    std::string text;
    std::uint32_t listed = 0;
    for (const Run* run = queue.first_pending(); run && listed < listed_max;
         run = CompletionQueue::next_pending(*run)) {
        const Request& request = Request::of(*run);
        if (listed++ > 0) text += "; ";
        text += description_of(request);
        if (std::string awaited = request.awaited(); !awaited.empty()) text += " " + awaited;
    }
    if (queue.pending() > listed) text += "; ...";
    return failure(WEFT_TIMED_OUT, "%s", text.c_str());
}

}  // namespace

Result<CompletionQueue*> find_queue(Process& process, weft_completion_queue queue) {
    if (CompletionQueue* found = process.queues().find(reinterpret_cast<std::uintptr_t>(queue)))
        return found;
    return failure(WEFT_REFUSED_HANDLE, "queue = %p; expected a queue that has not been freed",
                   static_cast<void*>(queue));
}

Status mark_request(Process& process, weft_request request, weft_completion_queue queue,
                    std::uint64_t cookie) {
    const bool marks = queue != WEFT_COMPLETION_QUEUE_NULL;
    CompletionQueue* into = nullptr;
    if (marks) {
        WEFT_RETURN_IF_NOT_OK(find_queue(process, queue).move_to(into));
    }
    if (request == WEFT_REQUEST_NULL) {
        if (!marks) return ok;
        return failure(WEFT_REFUSED_HANDLE,
                       "request = WEFT_REQUEST_NULL; expected a request that is started");
    }
    Request* found = process.requests().find(reinterpret_cast<std::uintptr_t>(request));
    if (!found) {
        return failure(WEFT_REFUSED_HANDLE,
                       "request = %p; expected a request that has not completed",
                       static_cast<void*>(request));
    }
    if (marks && !found->active) {
        return failure(WEFT_REFUSED_STATE, "%s is not active; expected a request that is started",
                       description_of(*found).c_str());
    }
    CompletionQueue::unmark(*found);
    if (marks) into->mark(*found, cookie);
    return ok;
}

Status take_completion(Process& process, weft_completion_queue queue, std::uint64_t* cookie,
                       weft_status* status) {
    Result<CompletionQueue*> found = find_queue(process, queue);
    if (!found.is_ok()) return found.status();
    WEFT_RETURN_IF_NOT_OK(check_places(cookie, status));
    // A program that has a descriptor sleeps on it when there is nothing.
    if ((*found)->is_empty() && (*found)->pending() > 0) {
        process.engine().progress(/*tests=*/!(*found)->has_descriptor());
        // A function of the program's may have run, and another thread may have freed the queue.
        found = find_queue(process, queue);
        if (!found.is_ok()) return found.status();
    }
    return take(**found, cookie, status);
}

Status await_completion(Process& process, weft_completion_queue queue, std::uint64_t* cookie,
                        weft_status* status, std::int64_t deadline_ns) {
    Result<CompletionQueue*> found = find_queue(process, queue);
    if (!found.is_ok()) return found.status();
    WEFT_RETURN_IF_NOT_OK(check_places(cookie, status));
    const weft_status waited = process.engine().wait_until(
        [&] {
            const CompletionQueue* now =
                process.queues().find(reinterpret_cast<std::uintptr_t>(queue));
            return !now || !now->is_empty();
        },
        {.deadline_ns = deadline_ns});
    if (waited == WEFT_INTERRUPTED) return failure(waited, "a wait was interrupted");
    found = find_queue(process, queue);
    if (!found.is_ok()) return found.status();
    return waited == WEFT_TIMED_OUT ? timed_out(**found) : take(**found, cookie, status);
}

}  // namespace weft
