#include "base/descriptors.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "base/fd.h"

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
    // Standard streams that are closed must stay so.
    const std::size_t streams = std::min<std::size_t>(entries.size(), Fd::first);
    if (poll(entries.data(), entries.size(), 0) < 0) return 0;
    const auto open =
        std::ranges::count_if(entries.begin() + static_cast<long>(streams), entries.end(),
                              [](const pollfd& entry) { return (entry.revents & POLLNVAL) == 0; });
    return max - streams - static_cast<std::size_t>(open);
}

}  // namespace weft
