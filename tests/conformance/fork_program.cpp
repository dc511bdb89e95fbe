// A rank forks; the child is no rank, keeps none of its connections, and its exit says nothing about its
// parent. Ranks may also describe the same bytes with different types. Ends with status 1 and a sentence when either
// does harm.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
// A forked child does not have the threads whose memory of libcrypto this is.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcrypto\n"; }
#endif

// Whether this process has a socket of TCP.
static bool has_connections() {
    for (int fd = 0; fd < 1024; ++fd) {
        sockaddr_storage address{};
        socklen_t length = sizeof address;
        if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
            (address.ss_family == AF_INET || address.ss_family == AF_INET6))
            return true;
    }
    return false;
}

int main() {
    setenv("WEFT_ALGORITHM", "bcast=chain:segment=1001", 1);
    int rank = -1;
    if (weft_init() != WEFT_OK) return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
    weft_comm world = weft_comm_world();
    weft_comm_rank(world, &rank);
    if (weft_barrier(world) != WEFT_OK) return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
    if (rank == 0) {
        pid_t child = fork();
        if (child == 0) std::exit(weft_is_initialized() || has_connections());
        int status = -1;
        if (waitpid(child, &status, 0) != child || status != 0) {
            return std::fprintf(stderr,
                                "the child believes that it is a rank, or keeps connections\n"),
                   1;
        }
    }
    double values[1000] = {};
    values[999] = rank == 0 ? 5 : 0;
    weft_status status = rank == 0 ? weft_bcast(values, 8000, WEFT_BYTE, 0, world)
                                   : weft_bcast(values, 1000, WEFT_FLOAT64, 0, world);
    if (status != WEFT_OK || values[999] != 5 || weft_barrier(world) != WEFT_OK ||
        weft_finalize() != WEFT_OK) {
        return std::fprintf(stderr, "rank %d: %s\n", rank, weft_last_detail()), 1;
    }
    return 0;
}
