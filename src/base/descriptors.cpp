#include "base/descriptors.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <vector>

namespace weft {

std::size_t descriptors_max() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t descriptors_left() {
    constexpr std::size_t looked_at_max = 4096;
    const std::size_t max = descriptors_max();
    std::vector<pollfd> entries(std::min(max, looked_at_max));
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].fd = static_cast<int>(i);
    if (poll(entries.data(), entries.size(), 0) < 0) return 0;
    const auto open = std::ranges::count_if(
        entries, [](const pollfd& entry) { return (entry.revents & POLLNVAL) == 0; });
    return max - static_cast<std::size_t>(open);
}

}  // namespace weft
