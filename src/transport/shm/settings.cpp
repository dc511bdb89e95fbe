// Reading the settings.
#include "transport/shm/settings.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/setting.h"

namespace weft::shm {
namespace {

constexpr std::size_t ring_bytes_min = 16 * 1024;
constexpr std::size_t ring_bytes_of_all = std::size_t{16} << 20;  // a rank's rings together

// As large as the second-level cache, or 1 MiB. The next line of a smaller ring is still in the
// reader's cache; fetching it from there takes three times as long as from the cache that the cores
// share, to which a larger ring's lines have been evicted by then (a message of 1 MiB: 102 us with
// rings of up to 256 KiB, 60 with 512 KiB, 35 from 1 MiB on). The lines of a still larger ring have
// left that cache, too.
std::size_t best_ring_bytes() {
    const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    constexpr std::size_t unknown = std::size_t{1} << 20;
    const std::size_t bytes = cache > 0 ? static_cast<std::size_t>(cache) : unknown;
    return std::clamp(std::bit_ceil(bytes), std::size_t{1} << 20, std::size_t{4} << 20);
}

}  // namespace

Settings Settings::defaults(std::size_t ranks_of_node) {
    Settings s;
    s.ring_bytes =
        std::clamp(std::bit_floor(ring_bytes_of_all / std::max(ranks_of_node, std::size_t{1})),
                   ring_bytes_min, best_ring_bytes());
    return s;
}

Result<Settings> Settings::from_environment(std::size_t ranks_of_node) {
    Settings s = defaults(ranks_of_node);

    WEFT_RETURN_IF_NOT_OK(read_number("shm_ring", s.ring_bytes));
    if (!std::has_single_bit(s.ring_bytes))
        return failure(WEFT_REFUSED_SETTING, "%s = %zu; expected a power of two",
                       setting_title("shm_ring").c_str(), s.ring_bytes);

    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_RENDEZVOUS", s.eager_threshold));

    const Result<std::optional<std::string_view>> large = word_setting("shm_large");
    if (!large.is_ok()) return large.status();
    if (*large == "vm_readv") s.large = LargeMethod::vm_readv;
    return s;
}

}  // namespace weft::shm
