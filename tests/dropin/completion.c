/* The ways to complete requests. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>
#include <stdlib.h>

#include "corpus.h"

const char* const way_names[WAYS] = {"Wait",
                                     "Test",
                                     "Waitall",
                                     "Waitany",
                                     "Waitsome",
                                     "Testall",
                                     "Testany",
                                     "Testsome",
                                     "Request_get_status",
#if HAS_STATUS_OF_LISTS
                                     "Request_get_status_all",
                                     "Request_get_status_any",
                                     "Request_get_status_some"
#endif
};

int is_skipped_for_persistent(int way) {
#if HAS_STATUS_OF_LISTS
    if (way == BY_GET_STATUS_ALL) way = BY_TESTALL;
#endif
    return way == BY_TESTALL && is_listed("persistent collectives by Testall");
}

static void check_status(const MPI_Status* status, int index, unsigned others) {
    int flag, bytes = -1;
    MPI_Test_cancelled(status, &flag);
    CHECK(!flag);
    if (!options.empty || (index < 32 && others >> index & 1)) return;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    CHECK(bytes == 0);
}

int complete_one(MPI_Request* requests, int count, int way, unsigned others) {
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
    check_status(&status, index, others);
    return index;
}

/* Some at a time, until none is active. */
static void complete_some(MPI_Request* requests, int count, int way, unsigned others) {
    int* indices = malloc((size_t)(count + 1) * sizeof *indices);
    MPI_Status* statuses = malloc((size_t)(count + 1) * sizeof *statuses);
    int outcount = 0, i;
    for (;;) {
        if (way == BY_WAITSOME)
            CALL(MPI_Waitsome(count, requests, &outcount, indices, statuses));
        else if (way == BY_TESTSOME)
            CALL(MPI_Testsome(count, requests, &outcount, indices, statuses));
#if HAS_STATUS_OF_LISTS
        else
            CALL(MPI_Request_get_status_some(count, requests, &outcount, indices, statuses));
#endif
        if (outcount == MPI_UNDEFINED) break;
        for (i = 0; i < outcount; ++i) {
            CHECK(indices[i] >= 0 && indices[i] < count);
            check_status(&statuses[i], indices[i], others);
            if (way != BY_WAITSOME && way != BY_TESTSOME)
                CALL(MPI_Wait(&requests[indices[i]], MPI_STATUS_IGNORE));
        }
        if (outcount == 0) sched_yield();
    }
    free(indices);
    free(statuses);
}

#if HAS_STATUS_OF_LISTS
/* One at a time, once one is known to be complete. */
static void complete_known(MPI_Request* requests, int count, unsigned others) {
    MPI_Status status;
    int index = 0, flag;
    for (;;) {
        for (flag = 0; !flag;) {
            CALL(MPI_Request_get_status_any(count, requests, &index, &flag, &status));
            if (!flag) sched_yield();
        }
        if (index == MPI_UNDEFINED) return;
        CHECK(index >= 0 && index < count && requests[index] != MPI_REQUEST_NULL);
        check_status(&status, index, others);
        CALL(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
    }
}
#endif

void complete(MPI_Request* requests, int count, int way, unsigned others) {
    MPI_Status* statuses = malloc((size_t)(count + 1) * sizeof *statuses);
    int i, flag, has_all = 1;
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
            while (complete_one(requests, count, way, others) >= 0) {
            }
            has_all = 0;
            break;
#if HAS_STATUS_OF_LISTS
        case BY_GET_STATUS_ALL:
            for (flag = 0; !flag;) {
                CALL(MPI_Request_get_status_all(count, requests, &flag, statuses));
                if (!flag) sched_yield();
            }
            CALL(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
            break;
        case BY_GET_STATUS_ANY:
            complete_known(requests, count, others);
            has_all = 0;
            break;
#endif
        default: complete_some(requests, count, way, others); has_all = 0;
    }
    for (i = 0; has_all && i < count; ++i) check_status(&statuses[i], i, others);
    free(statuses);
}
