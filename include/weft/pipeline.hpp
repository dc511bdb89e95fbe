// Double buffering: a computation in blocks, each block's collective running behind the next blocks'
// computation. The scheme of T. Hoefler et al., "A Case for Non-Blocking Collective Operations"
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
// collective on it and returns the Request; the next blocks are computed meanwhile. When the buffer
// is needed again, and at the end, the block is waited for and finish(block, buffer) gets it.
//
// Buffers   n of them: n - 1 blocks are on their way while one is computed. Two are double buffering,
//           one is no overlap. Block i has buffers[i % n], from its computation to its finish.
// Order     of each of the three functions: that of the blocks. The same number of blocks on every
//           rank; the number of buffers may differ.
// Throws    what the functions and the waits throw. Blocks on their way are then waited for first:
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
