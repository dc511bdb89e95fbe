// Three ranks: a broadcast along the chain of them while the program sleeps in epoll_wait, again and
// again from weft_init until after weft_finalize. Ends with status 1 and a sentence when one of these
// sleeps was interrupted.
#include <sys/epoll.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void must(weft_status status, const char* call) {
    if (status == WEFT_OK) return;
    std::fprintf(stderr, "%s: %s\n", call, weft_last_detail());
    _exit(1);
}

// For 50 ms, and as a program does it that takes care of nothing.
void sleep_undisturbed(const char* when) {
    static const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    if (epoll_wait(epoll, &event, 1, 50) == 0) return;
    std::fprintf(stderr, "epoll_wait %s: errno %d\n", when, errno);
    _exit(1);
}

}  // namespace

int main() {
    constexpr std::size_t bytes = 256 << 10;
    setenv("WEFT_ALGORITHM", "bcast=chain:segment=64K", 1);
    must(weft_init(), "weft_init");
    sleep_undisturbed("after weft_init");
    int rank = 0;
    must(weft_comm_rank(weft_comm_world(), &rank), "weft_comm_rank");
    std::vector<unsigned char> data(bytes);
    for (unsigned char round = 1; round <= 5; ++round) {
        data.assign(bytes, rank == 0 ? round : 0);
        must(weft_barrier(weft_comm_world()), "weft_barrier");
        weft_request request = WEFT_REQUEST_NULL;
        must(weft_ibcast(data.data(), bytes, WEFT_BYTE, 0, weft_comm_world(), &request),
             "weft_ibcast");
        sleep_undisturbed("while a broadcast moves");
        must(weft_wait(&request), "weft_wait");
        if (data != std::vector<unsigned char>(bytes, round)) {
            std::fprintf(stderr, "a broadcast brought something else\n");
            return 1;
        }
    }
    must(weft_barrier(weft_comm_world()), "weft_barrier");
    must(weft_finalize(), "weft_finalize");
    sleep_undisturbed("after weft_finalize");
    return 0;
}
