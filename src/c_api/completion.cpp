// The bodies of weft/completion.h.
#include "weft/completion.h"

#include "c_api/guard.h"
#include "process/completion/queue_calls.h"

using namespace weft;

weft_status weft_completion_queue_create(weft_completion_queue* queue) {
    return c_api::guarded_process("weft_completion_queue_create", [&](Process& process) -> Status {
        WEFT_RETURN_IF_NOT_OK(c_api::check_address("queue", queue));
        *queue = reinterpret_cast<weft_completion_queue>(process.make_queue());
        return ok;
    });
}

weft_status weft_completion_queue_free(weft_completion_queue* queue) {
    return c_api::guarded_process("weft_completion_queue_free", [&](Process& process) -> Status {
        WEFT_RETURN_IF_NOT_OK(c_api::check_address("queue", queue));
        if (*queue == WEFT_COMPLETION_QUEUE_NULL) return ok;
        Result<CompletionQueue*> found = find_queue(process, *queue);
        if (!found.is_ok()) return found.status();
        process.free(**found);
        *queue = WEFT_COMPLETION_QUEUE_NULL;
        return ok;
    });
}

weft_status weft_completion_fd(weft_completion_queue queue, int* descriptor) {
    return c_api::guarded_process("weft_completion_fd", [&](Process& process) -> Status {
        Result<CompletionQueue*> found = find_queue(process, queue);
        if (!found.is_ok()) return found.status();
        WEFT_RETURN_IF_NOT_OK(c_api::check_address("descriptor", descriptor));
        Result<int> opened = (*found)->descriptor();
        if (opened.is_ok()) *descriptor = *opened;
        return opened.status();
    });
}

weft_status weft_request_notify(weft_request request, weft_completion_queue queue,
                                uint64_t cookie) {
    return c_api::guarded_process("weft_request_notify", [&](Process& process) {
        return mark_request(process, request, queue, cookie);
    });
}

weft_status weft_completion_next(weft_completion_queue queue, uint64_t* cookie,
                                 weft_status* status) {
    return c_api::yield_if_not_ready(c_api::guarded_process(
        "weft_completion_next",
        [&](Process& process) { return take_completion(process, queue, cookie, status); }));
}

weft_status weft_completion_wait_until(weft_completion_queue queue, uint64_t* cookie,
                                       weft_status* status, int64_t deadline_ns) {
    return c_api::yield_if_not_ready(
        c_api::guarded_process("weft_completion_wait_until", [&](Process& process) {
            return await_completion(process, queue, cookie, status, deadline_ns);
        }));
}
