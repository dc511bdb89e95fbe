// The bodies of weft/message.h.
#include "weft/message.h"

#include "c_api/guard.h"

using namespace weft;

static_assert(WEFT_TAG_MAX == tag_max);

namespace {

weft_status make_message(const char* function, const MessageCall& call, bool is_persistent,
                         weft_comm comm, weft_request* request) {
    return c_api::guarded_communicator(
        function, comm, [&](Process& process, Communicator& communicator) -> Status {
            WEFT_RETURN_IF_NOT_OK(c_api::check_address("request", request));
            Result<Request*> made =
                is_persistent ? communicator.make_persistent(call) : communicator.start(call);
            if (!made.is_ok()) return made.status();
            *request = reinterpret_cast<weft_request>(process.requests().handle((*made)->place));
            return ok;
        });
}

MessageCall send_of(const void* buf, size_t count, weft_type type, int dest, int tag) {
    return {.sends = true,
            .data = const_cast<void*>(buf),
            .count = count,
            .type = type,
            .peer = dest,
            .tag = tag};
}

MessageCall receive_of(void* buf, size_t count, weft_type type, int source, int tag) {
    return {.data = buf, .count = count, .type = type, .peer = source, .tag = tag};
}

MessageCall receive_of_any(void* buf, size_t count, weft_type type, int tag, int* source) {
    return {
        .data = buf, .count = count, .type = type, .takes_any = true, .tag = tag, .source = source};
}

}  // namespace

weft_status weft_isend(const void* buf, size_t count, weft_type type, int dest, int tag,
                       weft_comm comm, weft_request* request) {
    return make_message("weft_isend", send_of(buf, count, type, dest, tag), false, comm, request);
}

weft_status weft_irecv(void* buf, size_t count, weft_type type, int source, int tag, weft_comm comm,
                       weft_request* request) {
    return make_message("weft_irecv", receive_of(buf, count, type, source, tag), false, comm,
                        request);
}

weft_status weft_irecv_any(void* buf, size_t count, weft_type type, int tag, int* source,
                           weft_comm comm, weft_request* request) {
    return make_message("weft_irecv_any", receive_of_any(buf, count, type, tag, source), false,
                        comm, request);
}

weft_status weft_send_init(const void* buf, size_t count, weft_type type, int dest, int tag,
                           weft_comm comm, weft_request* request) {
    return make_message("weft_send_init", send_of(buf, count, type, dest, tag), true, comm,
                        request);
}

weft_status weft_recv_init(void* buf, size_t count, weft_type type, int source, int tag,
                           weft_comm comm, weft_request* request) {
    return make_message("weft_recv_init", receive_of(buf, count, type, source, tag), true, comm,
                        request);
}

weft_status weft_recv_any_init(void* buf, size_t count, weft_type type, int tag, int* source,
                               weft_comm comm, weft_request* request) {
    return make_message("weft_recv_any_init", receive_of_any(buf, count, type, tag, source), true,
                        comm, request);
}
