/* One epoll loop serves a timer and collectives: whenever a sum is there, the next one starts. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <weft/weft.h>

enum { sums = 1000 };

static int failed(void) { return fprintf(stderr, "%s\n", weft_last_detail()), 1; }

static int watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static weft_status start_sum(double* value, weft_request* request, weft_completion_queue queue,
                             uint64_t cookie) {
    weft_status status = weft_iallreduce(WEFT_IN_PLACE, value, 1, WEFT_FLOAT64, WEFT_SUM,
                                         weft_comm_world(), request);
    return status == WEFT_OK ? weft_request_notify(*request, queue, cookie) : status;
}

int main(void) {
    weft_completion_queue queue = WEFT_COMPLETION_QUEUE_NULL;
    int completions = -1, rank = -1;
    if (weft_init() != WEFT_OK) return failed();
    if (weft_comm_rank(weft_comm_world(), &rank) != WEFT_OK) return failed();
    if (weft_completion_queue_create(&queue) != WEFT_OK) return failed();
    if (weft_completion_fd(queue, &completions) != WEFT_OK) return failed();

    const struct itimerspec every_ms = {{0, 1000000}, {0, 1000000}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (timerfd_settime(timer, 0, &every_ms, NULL) != 0 || watch(epoll, timer) != 0 ||
        watch(epoll, completions) != 0)
        return perror("epoll"), 1;

    weft_request request = WEFT_REQUEST_NULL;
    double value = 1;
    uint64_t done = 0, ticks = 0;
    if (start_sum(&value, &request, queue, done) != WEFT_OK) return failed();
    while (done < sums) {
        struct epoll_event event;
        if (epoll_wait(epoll, &event, 1, -1) != 1) continue; /* a signal */
        if (event.data.fd == timer) {
            uint64_t passed;
            if (read(timer, &passed, sizeof passed) == sizeof passed) ticks += passed;
            continue;
        }
        uint64_t cookie;
        weft_status status;
        while (weft_completion_next(queue, &cookie, &status) == WEFT_OK) {
            if (weft_test(&request) != WEFT_OK) return failed();
            if (++done == sums) break;
            value = (double)cookie;
            if (start_sum(&value, &request, queue, done) != WEFT_OK) return failed();
        }
    }
    if (rank == 0) printf("%d sums, %llu ms\n", sums, (unsigned long long)ticks);
    if (weft_completion_queue_free(&queue) != WEFT_OK) return failed();
    close(epoll);
    close(timer);
    return weft_finalize() == WEFT_OK ? 0 : failed();
}
