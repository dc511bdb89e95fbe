// Double buffering: a computation in blocks, where each block's collective runs while the next
// blocks are computed. From T. Hoefler et al., "A Case for Non-Blocking Collective Operations"
// (ISPA 2006 workshops, LNCS 4331), section 4.
#pragma once

#include "weft/weft.hpp"  // first: it says which C++ it needs

#include <cstddef>
#include <functional>
#include <ranges>
#include <vector>

namespace weft {
inline namespace cpp {

namespace detail {
inline constexpr auto keep = [](std::size_t, auto&&) {};
}

// For blocks 0, 1, ...: compute(block, buffer) fills the buffer, start(block, buffer) starts the
// collective on it and returns the Request; the next blocks are computed in between. When the
// buffer is needed again, and at the end, waits for the block and calls finish(block, buffer).
//
// Buffers   with n buffers, n - 1 blocks are in flight while one is computed. Two are double
//           buffering; one means no overlap. Block i has buffers[i % n], from its computation to
//           its finish.
// Order     each of the three functions is called in the order of the blocks. Every rank has the
//           same number of blocks; the number of buffers may differ.
// Throws    what the functions and the waits throw. Waits first for blocks in flight, so that
//           nothing is pending afterwards.
template <std::ranges::random_access_range Buffers, class Compute, class Start,
          class Finish = decltype(detail::keep)>
void pipeline(std::size_t blocks, Buffers&& buffers, Compute compute, Start start,
              Finish finish = {}) {
    const std::size_t n = std::ranges::size(buffers);
    if (n == 0)
        throw Error(WEFT_REFUSED_ARGUMENT, "0 buffers; expected 1 or more (weft::pipeline)");
    const auto buffer = [&](std::size_t block) -> decltype(auto) {
        return std::ranges::begin(
            buffers)[static_cast<std::ranges::range_difference_t<Buffers>>(block % n)];
    };
    std::vector<Request> on_their_way(n);
    for (std::size_t block = 0; block < blocks + n; ++block) {
        Request& request = on_their_way[block % n];
        if (block >= n) {
            request.wait();
            std::invoke(finish, block - n, buffer(block));
        }
        if (block < blocks) {
            std::invoke(compute, block, buffer(block));
            request = std::invoke(start, block, buffer(block));
        }
    }
}

}  // namespace cpp
}  // namespace weft
