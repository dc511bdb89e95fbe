#include "base/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

int Fd::moved(int fd) {
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, first);
    const int error = errno;
    ::close(fd);
    errno = error;
    return above;
}

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

// One bit per descriptor; descriptors above the limit stay open in children.

namespace {

constexpr std::size_t descriptors_watched = std::size_t{1} << 20;  // more than usual limits
constexpr std::size_t word_bits = 64;

// Pages that are never written take no memory.
std::atomic<std::uint64_t> words[descriptors_watched / word_bits];

}  // namespace

void UnsharedFd::note(bool is_open) const {
    if (!fd_ || static_cast<std::size_t>(fd_.get()) >= descriptors_watched) return;
    const auto number = static_cast<std::size_t>(fd_.get());
    const std::uint64_t bit = std::uint64_t{1} << number % word_bits;
    if (is_open)
        words[number / word_bits].fetch_or(bit, std::memory_order_relaxed);
    else
        words[number / word_bits].fetch_and(~bit, std::memory_order_relaxed);
}

void UnsharedFd::close_all_in_child() {
    for (std::size_t i = 0; i < descriptors_watched / word_bits; ++i) {
        std::uint64_t word = words[i].load();
        if (word != 0) words[i].store(0);
        for (; word != 0; word &= word - 1)
            ::close(static_cast<int>(i * word_bits) + std::countr_zero(word));
    }
}

}  // namespace weft
