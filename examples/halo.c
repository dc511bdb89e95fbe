/* Heat in a ring of cells: each rank sends its border cells to its neighbours, by persistent sends
   and receives, and computes its inner cells meanwhile. */
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

enum { cells = 1000, steps = 200, to_left = 1, to_right = 2 };
static double now[cells + 2], next[cells + 2]; /* with the neighbours' border cells at both ends */

static int failed(void) { return fprintf(stderr, "%s\n", weft_last_detail()), 1; }

static void spread(int from, int end) {
    for (int i = from; i < end; ++i)
        next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

int main(void) {
    if (weft_init() != WEFT_OK) return failed();
    weft_comm world = weft_comm_world();
    int rank = -1, ranks = 0;
    if (weft_comm_rank(world, &rank) != WEFT_OK) return failed();
    if (weft_comm_size(world, &ranks) != WEFT_OK) return failed();
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;

    /* A tag for each direction: with two ranks, left and right are the same one. */
    weft_request borders[4] = {WEFT_REQUEST_NULL};
    const weft_type type = WEFT_FLOAT64;
    if (weft_recv_init(&now[0], 1, type, left, to_right, world, &borders[0]) != WEFT_OK ||
        weft_recv_init(&now[cells + 1], 1, type, right, to_left, world, &borders[1]) != WEFT_OK ||
        weft_send_init(&now[1], 1, type, left, to_left, world, &borders[2]) != WEFT_OK ||
        weft_send_init(&now[cells], 1, type, right, to_right, world, &borders[3]) != WEFT_OK)
        return failed();

    if (rank == 0) now[1] = 1;
    for (int step = 0; step < steps; ++step) {
        if (weft_startall(4, borders) != WEFT_OK) return failed();
        spread(2, cells); /* while the borders travel */
        if (weft_waitall(4, borders, NULL) != WEFT_OK) return failed();
        spread(1, 2);
        spread(cells, cells + 1);
        for (int i = 1; i <= cells; ++i) now[i] = next[i];
    }

    double heat = 0, all = 0;
    for (int i = 1; i <= cells; ++i) heat += now[i];
    if (weft_allreduce(&heat, &all, 1, type, WEFT_SUM, world) != WEFT_OK) return failed();
    if (fabs(all - 1) > 1e-12) return fprintf(stderr, "rank %d: %.15g of 1\n", rank, all), 1;
    for (int i = 0; i < 4; ++i)
        if (weft_request_free(&borders[i]) != WEFT_OK) return failed();
    if (rank == 0) printf("the heat is still there: %.12f\n", all);
    return weft_finalize() == WEFT_OK ? 0 : failed();
}
