// The bodies of weft/call.h and weft/collective.h.
#include "weft/collective.h"

#include "c_api/guard.h"
#include "weft/call.h"

using namespace weft;

namespace {

// The functions of a collective, by weft_form.
using FunctionNames = const char* [3];
const FunctionNames functions[] = {
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) \
    {"weft_i" #name, "weft_" #name, "weft_" #name "_init"},
#include "algorithm/collectives.def"
#undef COLLECTIVE
};
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) \
    static_assert(WEFT_COLLECTIVE_##NAME == static_cast<int>(Collective::name));
#include "algorithm/collectives.def"
#undef COLLECTIVE

weft_status make_call(const weft_call& call, weft_form form, weft_comm comm,
                      weft_request* request) {
    return c_api::guarded_communicator(
        functions[call.collective][form], comm,
        [&](Process& process, Communicator& communicator) -> Status {
            if (form == WEFT_BLOCKING) {
                Result<Request*> started = communicator.start(call, {.waits = true});
                return started.is_ok() ? communicator.finish(**started) : started.status();
            }
            if (!request) {
                return failure(WEFT_REFUSED_ARGUMENT, "request = null; expected an address");
            }
            Result<Request*> made = form == WEFT_NONBLOCKING ? communicator.start(call)
                                                             : communicator.make_persistent(call);
            if (!made.is_ok()) return made.status();
            *request = reinterpret_cast<weft_request>(process.requests().handle((*made)->place));
            return ok;
        });
}

}  // namespace

weft_status weft_start_call(const weft_call* call, weft_form form, weft_comm comm,
                            weft_request* request) {
    const Status checked = [&] {
        if (!call) return failure(WEFT_REFUSED_ARGUMENT, "call = null; expected an address");
        if (call->collective < 0 || call->collective >= static_cast<int>(collectives)) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "call.collective = %d; expected one of weft_collective",
                           static_cast<int>(call->collective));
        }
        if (form < WEFT_NONBLOCKING || form > WEFT_PERSISTENT) {
            return failure(WEFT_REFUSED_ARGUMENT, "form = %d; expected one of weft_form",
                           static_cast<int>(form));
        }
        return ok;
    }();
    if (checked.code == WEFT_OK) return make_call(*call, form, comm, request);
    append_detail(" (weft_start_call)");
    return checked.code;
}

#define WITHOUT_PARENTHESES(...) __VA_ARGS__
#define NONE \
    {}
#define UNIFORM(buf, count) \
    { const_cast<void*>(static_cast<const void*>(buf)), count, nullptr, nullptr, type, nullptr }
#define VARYING(buf, counts, displs) \
    { const_cast<void*>(static_cast<const void*>(buf)), 0, counts, displs, type, nullptr }
#define TYPED(buf, counts, displs, types) \
    { const_cast<void*>(static_cast<const void*>(buf)), 0, counts, displs, WEFT_BYTE, types }

#define COLLECTIVE(name, NAME, parameters, send, recv, op, root)                                 \
    weft_status weft_i##name(WITHOUT_PARENTHESES parameters weft_comm comm,                      \
                             weft_request* request) {                                            \
        return make_call({WEFT_COLLECTIVE_##NAME, op, root, send, recv}, WEFT_NONBLOCKING, comm, \
                         request);                                                               \
    }                                                                                            \
    weft_status weft_##name(WITHOUT_PARENTHESES parameters weft_comm comm) {                     \
        return make_call({WEFT_COLLECTIVE_##NAME, op, root, send, recv}, WEFT_BLOCKING, comm,    \
                         nullptr);                                                               \
    }                                                                                            \
    weft_status weft_##name##_init(WITHOUT_PARENTHESES parameters weft_comm comm,                \
                                   weft_request* request) {                                      \
        return make_call({WEFT_COLLECTIVE_##NAME, op, root, send, recv}, WEFT_PERSISTENT, comm,  \
                         request);                                                               \
    }
#include "algorithm/collectives.def"
#undef COLLECTIVE
