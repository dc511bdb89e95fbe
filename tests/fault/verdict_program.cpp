// Every rank but the last builds a send that nobody receives, asks for the verdict and ends at once,
// without weft_finalize; the last one comes to its verdict last. All get the same.
#include <unistd.h>
#include <weft/weft.h>

#include <cstring>

#include "support/fault_program.h"

using weft::test::fail;

int main() {
    if (weft_init() != WEFT_OK) return fail(-1, "weft_init");
    weft_comm world = weft_comm_world();
    int rank = -1;
    int ranks = 0;
    weft_comm_rank(world, &rank);
    weft_comm_size(world, &ranks);
    weft_schedule schedule = WEFT_SCHEDULE_NULL;
    const weft_region one = {WEFT_SEND_BUFFER, 0, 1};
    if (weft_schedule_create(world, &schedule) != WEFT_OK ||
        (rank != ranks - 1 && weft_schedule_send(schedule, one, ranks - 1, nullptr) != WEFT_OK) ||
        weft_schedule_seal(schedule) != WEFT_OK) {
        return fail(rank, "the schedule");
    }
    const weft_status verdict = weft_schedule_check(schedule);
    if (verdict != WEFT_REFUSED_ARGUMENT || !std::strstr(weft_last_detail(), "rank 0")) {
        return fail(rank, "another verdict");
    }
    _exit(0);
}
