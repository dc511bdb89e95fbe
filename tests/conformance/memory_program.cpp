// Two ranks make, start, complete and free persistent requests forever: their memory does not grow.
// Otherwise exits with status 1 and a sentence.
#include <malloc.h>
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "conformance/in_fibers.h"

namespace {

// As an argument fewer: one lane record of 100 bytes a cycle would still be several times as much.
constexpr int usual_cycles = 100'000;
constexpr long may_grow_bytes = 1 << 20;

int failed(const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, weft_last_detail());
    return 1;
}

// What malloc has handed out. 0: it cannot be asked (an old C library, or a sanitizer took its place
// and keeps what is freed).
long memory_bytes() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
    struct mallinfo2 info = mallinfo2();
    return static_cast<long>(info.uordblks + info.hblkhd);
#else
    return 0;
#endif
}

int cycle(weft_comm world, int number) {
    std::int64_t value = 1;
    weft_request request;
    if (weft_allreduce_init(WEFT_IN_PLACE, &value, 1, WEFT_INT64, WEFT_SUM, world, &request) !=
        WEFT_OK) {
        return failed("init");
    }
    // The others are never started.
    if (number % 4 == 0) {
        if (weft_start(&request) != WEFT_OK) return failed("start");
        if (weft_wait(&request) != WEFT_OK || value != 2) return failed("wait");
    }
    return weft_request_free(&request) == WEFT_OK ? 0 : failed("free");
}

// The two ranks of this communicator.
void cycles_on(weft_comm comm, int cycles) {
    int number = 0;
    for (; number < cycles / 10; ++number) EXPECT(cycle(comm, number) == 0);
    const long before = memory_bytes();
    if (before == 0) std::printf("the memory is not measured\n");
    for (; number < cycles; ++number) EXPECT(cycle(comm, number) == 0);
    const long grown = memory_bytes() - before;
    if (grown <= may_grow_bytes) return;
    std::fprintf(stderr, "%ld bytes more after %d cycles; expected at most %ld\n", grown, cycles,
                 may_grow_bytes);
    std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    const int cycles = argc > 1 ? std::atoi(argv[1]) : usual_cycles;
    if (weft_init() != WEFT_OK) return failed("weft_init");
    run_here_or_in_fibers([cycles](weft_comm comm) { cycles_on(comm, cycles); });
    return weft_finalize() == WEFT_OK ? 0 : failed("weft_finalize");
}
