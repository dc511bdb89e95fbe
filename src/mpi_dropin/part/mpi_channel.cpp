#include "mpi_dropin/part/mpi_channel.h"

#include "mpi_dropin/part/progress_hook.h"
#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {
namespace {

MPI_Comm channel = MPI_COMM_NULL;
bool is_channel_open = false;

int open(void*, void** opened) {
    const int error = mpi.Comm_dup(MPI_COMM_WORLD, &channel);
    if (error != MPI_SUCCESS) return error;
    is_channel_open = true;
    *opened = &channel;
    return mpi.Comm_set_errhandler(channel, MPI_ERRORS_RETURN);
}

int send(void*, const void* data, int bytes, int to, void* request) {
    const WithoutHook quiet;
    return mpi.Isend(data, bytes, MPI_BYTE, to, 0, channel, static_cast<MPI_Request*>(request));
}

int receive(void*, void* data, int bytes, void* place) {
    const WithoutHook quiet;
    auto* const request = static_cast<MPI_Request*>(place);
#if defined(OPEN_MPI)
    return mpi.Irecv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, 0, channel, request);
#else
    // Between nodes MPICH 5.0.2 loses receives from any source that are posted ahead.
    MPI_Message message;
    int has_come = 0;
    const int error =
        mpi.Improbe(MPI_ANY_SOURCE, 0, channel, &has_come, &message, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return error;
    if (has_come) return mpi.Imrecv(data, bytes, MPI_BYTE, &message, request);
    *request = MPI_REQUEST_NULL;
    return WEFT_MPI_NOTHING;
#endif
}

// Tests without letting the MPI poll: a poll walks through its list of hooks, one of which is
// running now.
int test_those_that_are_over(int count, MPI_Request* requests, int* ended, int* indices) {
    *ended = 0;
    for (int i = 0; i < count; ++i) {
        if (requests[i] == MPI_REQUEST_NULL || !mpi.Request_is_complete(requests[i])) continue;
        int flag = 0;
        const int error = mpi.Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS) return error;
        if (flag) indices[(*ended)++] = i;
    }
    return MPI_SUCCESS;
}

int test_some(void*, int count, void* requests, int* ended, int* indices) {
    const WithoutHook quiet;
    auto* const all = static_cast<MPI_Request*>(requests);
    if (is_in_hook() && mpi.Request_is_complete)
        return test_those_that_are_over(count, all, ended, indices);
    const int error = mpi.Testsome(count, all, ended, indices, MPI_STATUSES_IGNORE);
    if (*ended == MPI_UNDEFINED) *ended = 0;
    return error;
}

int close(void*, int count, void* requests) {
    const WithoutHook quiet;
    for (int i = 0; i < count; ++i) {
        MPI_Request* const request = static_cast<MPI_Request*>(requests) + i;
        if (*request == MPI_REQUEST_NULL) continue;
        mpi.Cancel(request);
        mpi.Wait(request, MPI_STATUS_IGNORE);
    }
    is_channel_open = false;
    return mpi.Comm_free(&channel);
}

}  // namespace

weft_mpi_channel mpi_channel(bool any_thread) {
    weft_mpi_channel functions{};
    functions.any_thread = any_thread;
    functions.request_bytes = sizeof(MPI_Request);
    functions.open = open;
    functions.send = send;
    functions.receive = receive;
    functions.test_some = test_some;
    functions.close = close;
    return functions;
}

bool is_mpi_channel_open() { return is_channel_open; }

}  // namespace weft::dropin
