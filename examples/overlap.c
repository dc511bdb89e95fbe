/* Every rank contributes a vector; the sum travels while the program computes. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft.h>

enum { n = 1 << 20 };
static double mine[n], sum[n];

static void check(weft_status status) {
    if (status == WEFT_OK) return;
    fprintf(stderr, "%s\n", weft_last_detail());
    exit(1);
}

int main(void) {
    int rank = -1;
    check(weft_init());
    check(weft_comm_rank(weft_comm_world(), &rank));
    for (int i = 0; i < n; ++i) mine[i] = rank + 1;

    weft_request request = WEFT_REQUEST_NULL;
    check(weft_iallreduce(mine, sum, n, WEFT_FLOAT64, WEFT_SUM, weft_comm_world(), &request));
    double other = 0; /* computation that needs no call into Weft */
    for (int i = 1; i < 10000000; ++i) other += 1.0 / i;
    check(weft_wait(&request));

    if (rank == 0) printf("sum[0] = %g, computed meanwhile: %g\n", sum[0], other);
    check(weft_finalize());
    return 0;
}
