/* The ways to complete requests. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stdlib.h>

#include "corpus.h"

const char* const way_names[WAYS] = {"Wait",    "Test",     "Waitall",
                                     "Waitany", "Waitsome", "Testall",
                                     "Testany", "Testsome", "Request_get_status"};

int complete_one(MPI_Request* requests, int count, int way) {
    int index = MPI_UNDEFINED, flag = 0;
    MPI_Status status;
    while (!flag) {
        if (way == BY_WAITANY)
            CALL(MPI_Waitany(count, requests, &index, &status)), flag = 1;
        else
            CALL(MPI_Testany(count, requests, &index, &flag, &status));
        if (!flag) sched_yield();
    }
    if (index == MPI_UNDEFINED) return -1;
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
    return index;
}

/* Some at a time, until none is active. */
static void complete_some(MPI_Request* requests, int count, int way) {
    int* indices = malloc((size_t)(count + 1) * sizeof *indices);
    MPI_Status* statuses = malloc((size_t)(count + 1) * sizeof *statuses);
    int outcount = 0, i, flag;
    for (;;) {
        if (way == BY_WAITSOME)
            CALL(MPI_Waitsome(count, requests, &outcount, indices, statuses));
        else
            CALL(MPI_Testsome(count, requests, &outcount, indices, statuses));
        if (outcount == MPI_UNDEFINED) break;
        for (i = 0; i < outcount; ++i) {
            CHECK(indices[i] >= 0 && indices[i] < count);
            MPI_Test_cancelled(&statuses[i], &flag);
            CHECK(!flag);
        }
        if (outcount == 0) sched_yield();
    }
    free(indices);
    free(statuses);
}

void complete(MPI_Request* requests, int count, int way) {
    MPI_Status* statuses = malloc((size_t)(count + 1) * sizeof *statuses);
    int i, flag;
    switch (way) {
        case BY_WAIT:
            for (i = 0; i < count; ++i) CALL(MPI_Wait(&requests[i], &statuses[i]));
            break;
        case BY_TEST:
            for (i = 0; i < count; ++i) {
                for (flag = 0; !flag;) {
                    CALL(MPI_Test(&requests[i], &flag, &statuses[i]));
                    if (!flag) sched_yield();
                }
            }
            break;
        case BY_GET_STATUS:
            for (i = 0; i < count; ++i) {
                const MPI_Request before = requests[i];
                for (flag = 0; !flag;) {
                    CALL(MPI_Request_get_status(requests[i], &flag, &statuses[i]));
                    if (!flag) sched_yield();
                }
                CHECK(requests[i] == before);
                CALL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            }
            break;
        case BY_WAITALL: CALL(MPI_Waitall(count, requests, statuses)); break;
        case BY_TESTALL:
            for (flag = 0; !flag;) {
                CALL(MPI_Testall(count, requests, &flag, statuses));
                if (!flag) sched_yield();
            }
            break;
        case BY_WAITANY:
        case BY_TESTANY:
            while (complete_one(requests, count, way) >= 0) {
            }
            break;
        default: complete_some(requests, count, way);
    }
    if (way <= BY_WAITALL || way == BY_TESTALL || way == BY_GET_STATUS) {
        for (i = 0; i < count; ++i) {
            MPI_Test_cancelled(&statuses[i], &flag);
            CHECK(!flag);
        }
    }
    free(statuses);
}
