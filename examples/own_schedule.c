/* The program's own broadcast: blocks travel along the ranks; each is passed on when it arrives. */
#include <stdio.h>
#include <weft/weft.h>

enum { blocks = 16, block = 4096 };
static double data[blocks * block];

static int failed(void) { return fprintf(stderr, "%s\n", weft_last_detail()), 1; }

int main(void) {
    if (weft_init() != WEFT_OK) return failed();
    weft_comm world = weft_comm_world();
    int rank = -1, ranks = 0;
    if (weft_comm_rank(world, &rank) != WEFT_OK) return failed();
    if (weft_comm_size(world, &ranks) != WEFT_OK) return failed();

    weft_schedule chain = WEFT_SCHEDULE_NULL;
    if (weft_schedule_create(world, &chain) != WEFT_OK) return failed();
    for (int b = 0; b < blocks; ++b) {
        weft_region piece = {WEFT_RECV_BUFFER, b * block * 8, block * 8};
        weft_node here = WEFT_NODE_NONE, gone;
        if (rank > 0 && weft_schedule_recv(chain, piece, rank - 1, &here) != WEFT_OK)
            return failed();
        if (rank == ranks - 1) continue;
        if (weft_schedule_send(chain, piece, rank + 1, &gone) != WEFT_OK) return failed();
        if (weft_schedule_after(chain, gone, here) != WEFT_OK) return failed();
    }
    if (weft_schedule_seal(chain) != WEFT_OK) return failed();
    if (weft_schedule_check(chain) != WEFT_OK) return failed(); /* while developing */

    weft_request request = WEFT_REQUEST_NULL;
    if (weft_schedule_init(chain, NULL, data, WEFT_FLOAT64, WEFT_OP_NULL, &request) != WEFT_OK)
        return failed();
    for (int round = 1; round <= 3; ++round) { /* restarting costs no more than the messages */
        for (int i = 0; rank == 0 && i < blocks * block; ++i) data[i] = round * i;
        if (weft_start(&request) != WEFT_OK || weft_wait(&request) != WEFT_OK) return failed();
        if (data[99] != round * 99) return fprintf(stderr, "rank %d: %g\n", rank, data[99]), 1;
    }
    if (weft_request_free(&request) != WEFT_OK) return failed();
    if (weft_schedule_free(&chain) != WEFT_OK) return failed();
    if (rank == 0) printf("3 broadcasts along %d ranks\n", ranks);
    return weft_finalize() == WEFT_OK ? 0 : failed();
}
