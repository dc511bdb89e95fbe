/* A user's program in C: adds up the ranks' numbers, and prints the sum on rank 0. */
#include <stdio.h>
#include <weft/weft.h>

int main(void) {
    weft_request request = WEFT_REQUEST_NULL;
    int32_t number;
    int32_t sum = 0;
    int rank = -1;
    if (weft_init() != WEFT_OK) return fprintf(stderr, "%s\n", weft_last_detail()), 1;
    weft_comm_rank(weft_comm_world(), &rank);
    number = rank + 1;
    if (weft_iallreduce(&number, &sum, 1, WEFT_INT32, WEFT_SUM, weft_comm_world(), &request) !=
            WEFT_OK ||
        weft_wait(&request) != WEFT_OK) {
        return fprintf(stderr, "%s\n", weft_last_detail()), 1;
    }
    if (rank == 0) printf("sum %d\n", (int)sum);
    return weft_finalize() != WEFT_OK;
}
