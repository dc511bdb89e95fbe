// Makes this many communicators and uses each for an exchange of all ranks with all. If it cannot,
// prints why and exits with status 1; with 2 if wrong data arrives.
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

bool is_ok(const char* what, weft_status status) {
    if (status == WEFT_OK) return true;
    std::fprintf(stderr, "%s: %s: %s\n", what, weft_status_name(status), weft_last_detail());
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    const int communicators = argc > 1 ? std::atoi(argv[1]) : 1;
    if (!is_ok("init", weft_init())) return 1;
    int rank = 0;
    int ranks = 0;
    weft_comm_rank(weft_comm_world(), &rank);
    weft_comm_size(weft_comm_world(), &ranks);
    std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), rank);
    std::vector<std::int64_t> got(static_cast<std::size_t>(ranks));
    for (int i = 0; i < communicators; ++i) {
        weft_comm comm;
        if (!is_ok("dup", weft_comm_dup(weft_comm_world(), &comm))) return 1;
        if (!is_ok("alltoall", weft_alltoall(sent.data(), got.data(), 1, WEFT_INT64, comm)))
            return 1;
        for (int r = 0; r < ranks; ++r) {
            if (got[static_cast<std::size_t>(r)] != r) return 2;
        }
    }
    return is_ok("finalize", weft_finalize()) ? 0 : 1;
}
