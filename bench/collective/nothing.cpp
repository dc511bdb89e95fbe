// Measures a thousand calls that have nothing to do. Microseconds of a measurement are nanoseconds of
// a call.
#include <array>

#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

constexpr int calls = 1000;

void fill(Case&, std::uint64_t) {}

weft_status wait(Case& c, weft_request* request) {
    *request = WEFT_REQUEST_NULL;
    for (int i = 0; i < calls; ++i) c.job.api->wait(request);
    return WEFT_OK;
}

weft_status test(Case& c, weft_request* request) {
    *request = WEFT_REQUEST_NULL;
    for (int i = 0; i < calls; ++i) c.job.api->test(request);
    return WEFT_OK;
}

constexpr Collective calls_of(const char* name, weft_status (*start)(Case&, weft_request*)) {
    return {.name = name,
            .has_size = false,
            .send_bytes = nothing,
            .recv_bytes = nothing,
            .fill = fill,
            .start = start,
            .plain = {}};
}

constexpr Collective waits = calls_of("nothing:wait", wait);
constexpr Collective waitalls = calls_of("nothing:waitall", wait);  // MPI_Waitall of no requests
constexpr Collective tests = calls_of("nothing:test", test);

}  // namespace

std::span<const Collective* const> calls_with_nothing_to_do() {
    static constexpr std::array list = {&waits, &waitalls, &tests};
    return list;
}

}  // namespace weft::bench
