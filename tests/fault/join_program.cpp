// Joins the job, calls a barrier and leaves. Prints what fails: the rank, the call, the status and the
// sentence. With an argument, a rank that could not join goes on for this many seconds.
#include <unistd.h>
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>

namespace {

int fail(const char* call, weft_status status) {
    const char* rank = std::getenv("WEFT_RANK");
    std::fprintf(stderr, "rank %s: %s: %s: %s\n", rank != nullptr ? rank : "?", call,
                 weft_status_name(status), weft_last_detail());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    weft_status status = weft_init();
    if (status != WEFT_OK) {
        fail("weft_init", status);
        if (argc > 1) sleep(static_cast<unsigned>(std::atoi(argv[1])));
        return 1;
    }
    status = weft_barrier(weft_comm_world());
    if (status != WEFT_OK) fail("weft_barrier", status);
    const weft_status left = weft_finalize();
    if (left != WEFT_OK) fail("weft_finalize", left);
    return status == WEFT_OK && left == WEFT_OK ? 0 : 1;
}
