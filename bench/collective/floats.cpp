// Measures allreduce of float32, which communicators with a wire format send in fewer bytes. Operands are 1 and -1, the
// same on all ranks: in every format their sums are exact (of at most 8 ranks).
#include <algorithm>
#include <array>

#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

std::size_t elements(std::size_t bytes) { return std::max<std::size_t>(bytes / sizeof(float), 1); }

std::size_t whole_bytes(std::size_t bytes, int) { return elements(bytes) * sizeof(float); }

void fill(Case& c, std::uint64_t seed) {
    const auto send = c.send.as<float>();
    const auto expected = c.expected.as<float>();
    const auto ranks = static_cast<float>(c.job.ranks);
    for (std::size_t i = 0; i < send.size(); ++i) {
        send[i] = (i + seed) % 3 == 0 ? -1.0f : 1.0f;
        expected[i] = ranks * send[i];
    }
    fill_blank(c.recv);
}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->allreduce, request, c.send.data(), c.recv.data(), elements(c.bytes),
                 WEFT_FLOAT32, WEFT_SUM, c.job.comm);
}

constexpr Collective allreduce_of_floats = {.name = "iallreduce:float32",
                                            .has_size = true,
                                            .send_bytes = whole_bytes,
                                            .recv_bytes = whole_bytes,
                                            .fill = fill,
                                            .start = start,
                                            .plain = {}};

}  // namespace

std::span<const Collective* const> calls_of_other_types() {
    static constexpr std::array list = {&allreduce_of_floats};
    return list;
}

}  // namespace weft::bench
