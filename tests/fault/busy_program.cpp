// A rank computes for longer than WEFT_PEER_TIMEOUT while much is sent to it, without any call of the
// library: SECONDS. It is alive: everything must arrive.
#include <weft/weft.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "support/fault_program.h"

using weft::test::fail;
using weft::test::now_s;

int main(int argc, char** argv) {
    if (argc != 2) return 1;
    if (weft_init() != WEFT_OK) return fail(-1, "weft_init");
    const weft_comm world = weft_comm_world();
    int rank = -1;
    weft_comm_rank(world, &rank);
    // One message that its receiver has let go, which fills the sockets, and many small ones.
    constexpr std::size_t large = 2 << 20;
    constexpr std::size_t small = 1000;
    constexpr std::size_t pieces = 200;
    std::vector<std::uint64_t> one(large, rank == 0 ? 7 : 0);
    std::vector<std::vector<std::uint64_t>> many(pieces, std::vector<std::uint64_t>(small));
    for (auto& piece : many) std::ranges::fill(piece, rank == 0 ? 8 : 0);
    std::vector<weft_request> requests(pieces + 1);
    if (weft_barrier(world) != WEFT_OK) return fail(rank, "weft_barrier");
    for (std::size_t i = 0; i <= pieces; ++i) {
        const bool is_one = i == 0;
        if (weft_ibcast(is_one ? one.data() : many[i - 1].data(), is_one ? large : small,
                        WEFT_UINT64, 0, world, &requests[i]) != WEFT_OK) {
            return fail(rank, "weft_ibcast");
        }
    }
    if (rank != 0) {
        for (double end_s = now_s() + std::atof(argv[1]); now_s() < end_s;) {
        }
    }
    if (weft_waitall(requests.size(), requests.data(), nullptr) != WEFT_OK) {
        return fail(rank, "weft_waitall");
    }
    if (one != std::vector<std::uint64_t>(large, 7)) return fail(rank, "wrong data");
    for (const auto& piece : many) {
        if (piece != std::vector<std::uint64_t>(small, 8)) return fail(rank, "wrong data");
    }
    return weft_finalize() == WEFT_OK ? 0 : fail(rank, "weft_finalize");
}
