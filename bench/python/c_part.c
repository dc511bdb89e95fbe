/* What ./dev bench --python compares with: the same operation in C, in the same process. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <weft/weft.h>

static weft_comm comm;

static void must(weft_status status) {
    if (status == WEFT_OK) return;
    fprintf(stderr, "%s\n", weft_last_detail());
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Collective, before the others. */
void c_begin(void) { must(weft_comm_dup(weft_comm_world(), &comm)); }

static void sum(void) {
    double mine = 1, all = 0;
    weft_request request;
    must(weft_iallreduce(&mine, &all, 1, WEFT_FLOAT64, WEFT_SUM, comm, &request));
    must(weft_wait(&request));
}

/* Sums of 8 bytes, one after the other; returns nanoseconds. */
int64_t c_sums(int count) {
    const int64_t begin = now_ns();
    for (int i = 0; i < count; ++i) sum();
    return now_ns() - begin;
}

/* One sum; returns when it began (begin != 0) or ended, as time.monotonic_ns() of Python has it. */
int64_t c_sum_at(int begin) {
    const int64_t began = now_ns();
    sum();
    return begin ? began : now_ns();
}
