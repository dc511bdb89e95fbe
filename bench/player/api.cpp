#include "bench/player/api.h"

#include "bench/job.h"

namespace weft::bench {

const Api own_api = {
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) \
    .name = {&weft_##name, &weft_i##name, &weft_##name##_init},
#include "algorithm/collectives.def"
#undef COLLECTIVE
#undef NEIGHBOR_COLLECTIVE
    .isend = weft_isend,
    .irecv = weft_irecv,
    .send_init = weft_send_init,
    .recv_init = weft_recv_init,
    .start = weft_start,
    .test = weft_test,
    .wait = weft_wait,
    .request_free = weft_request_free,
    .set_engine = weft_set_engine,
    .comm_dup_with = weft_comm_dup_with,
    .comm_free = weft_comm_free,
    .comm_from_oob = weft_comm_from_oob,
    .finalize = weft_finalize,
    .status_name = weft_status_name,
    .last_detail = weft_last_detail,
};

void must(const Api& api, weft_status status, const char* call) {
    if (status == WEFT_OK) return;
    fail("%s: %s: %s", call, api.status_name(status), api.last_detail());
}

}  // namespace weft::bench
