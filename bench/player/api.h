// Weft's functions as the bench calls them: this program's own, or those of another build.
#pragma once

#include "weft/weft.h"

namespace weft::bench {

struct Api {
    template <class Blocking, class Nonblocking, class Init>
    struct Forms {
        Blocking call;
        Nonblocking start;
        Init init;
    };
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) \
    Forms<decltype(&weft_##name), decltype(&weft_i##name), decltype(&weft_##name##_init)> name;
#include "algorithm/collectives.def"
#undef COLLECTIVE
#undef NEIGHBOR_COLLECTIVE
    // Null in builds that have no messages.
    decltype(&weft_isend) isend;
    decltype(&weft_irecv) irecv;
    decltype(&weft_send_init) send_init;
    decltype(&weft_recv_init) recv_init;
    decltype(&weft_start) start;
    decltype(&weft_test) test;
    decltype(&weft_wait) wait;
    decltype(&weft_request_free) request_free;
    decltype(&weft_set_engine) set_engine;
    decltype(&weft_comm_dup_with) comm_dup_with;
    decltype(&weft_comm_free) comm_free;
    decltype(&weft_comm_from_oob) comm_from_oob;
    decltype(&weft_finalize) finalize;
    decltype(&weft_status_name) status_name;
    decltype(&weft_last_detail) last_detail;
};

// This program's.
extern const Api own_api;

// Ends the process with a sentence unless the status is WEFT_OK.
void must(const Api& api, weft_status status, const char* call);

}  // namespace weft::bench
