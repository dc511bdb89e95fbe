// COMMUNICATORS [before|after STREAMS]: makes this many communicators and uses each for an exchange of all ranks with
// all. If it cannot, prints why and exits with status 1; with 2 if wrong data arrives. With STREAMS, a mask, these
// standard streams are closed before or after it joins the job, and still used; status 3 if the library takes them.
#include <fcntl.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

int out = STDERR_FILENO;  // for reasons
int streams = 0;          // that are closed

bool is_ok(const char* what, weft_status status) {
    if (status == WEFT_OK) return true;
    dprintf(out, "%s: %s: %s\n", what, weft_status_name(status), weft_last_detail());
    return false;
}

void close_streams(int mask) {
    out = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    streams = mask;
    for (const int fd : {0, 1, 2}) {
        if (mask >> fd & 1) close(fd);
    }
}

// As a program does that does not know that they are closed.
void use_streams() {
    char byte = 0;
    if (streams >> 0 & 1) (void)!read(0, &byte, 1);
    if (streams >> 1 & 1) (void)!write(1, "the program prints this now and then\n", 37);
    if (streams >> 2 & 1) (void)!write(2, "and a warning\n", 14);
}

void expect_closed_streams(const char* when) {
    for (const int fd : {0, 1, 2}) {
        if ((streams >> fd & 1) == 0 || fcntl(fd, F_GETFD) < 0) continue;
        dprintf(out, "%s: descriptor %d was closed, and is open\n", when, fd);
        std::_Exit(3);
    }
}

// A vector whose messages are large.
bool combines(int ranks) {
    std::vector<std::int32_t> ones(20'000, 1);
    std::vector<std::int32_t> sums(ones.size());
    if (!is_ok("allreduce", weft_allreduce(ones.data(), sums.data(), ones.size(), WEFT_INT32,
                                           WEFT_SUM, weft_comm_world())))
        return false;
    return std::ranges::all_of(sums, [&](std::int32_t sum) { return sum == ranks; });
}

}  // namespace

int main(int argc, char** argv) {
    const int communicators = argc > 1 ? std::atoi(argv[1]) : 1;
    const std::string when = argc > 3 ? argv[2] : "";
    const int mask = argc > 3 ? std::atoi(argv[3]) : 0;
    if (when == "before") close_streams(mask);
    if (!is_ok("init", weft_init())) return 1;
    expect_closed_streams("after weft_init");
    if (when == "after") close_streams(mask);
    int rank = 0;
    int ranks = 0;
    weft_comm_rank(weft_comm_world(), &rank);
    weft_comm_size(weft_comm_world(), &ranks);
    std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), rank);
    std::vector<std::int64_t> got(static_cast<std::size_t>(ranks));
    for (int i = 0; i < communicators; ++i) {
        use_streams();
        weft_comm comm;
        if (!is_ok("dup", weft_comm_dup(weft_comm_world(), &comm))) return 1;
        if (!is_ok("alltoall", weft_alltoall(sent.data(), got.data(), 1, WEFT_INT64, comm)))
            return 1;
        for (int r = 0; r < ranks; ++r) {
            if (got[static_cast<std::size_t>(r)] != r) return 2;
        }
        if (streams != 0 && !combines(ranks)) return 2;
        expect_closed_streams("after an operation");
    }
    return is_ok("finalize", weft_finalize()) ? 0 : 1;
}
