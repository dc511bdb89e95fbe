// Reading the settings.
#include "transport/shm/settings.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <bit>

#include "base/setting.h"
#include "transport/common/rendezvous.h"

namespace weft::shm {
namespace {

constexpr std::size_t ring_bytes_min = 16 * 1024;
constexpr std::size_t ring_bytes_max = std::size_t{64} << 20;
constexpr std::size_t ring_bytes_of_all = std::size_t{2} << 20;  // a rank's rings together

}  // namespace

Settings Settings::defaults(std::size_t ranks_of_node) {
    Settings s;
    if (ranks_of_node > 8)
        s.ring_bytes = std::max(ring_bytes_min, std::bit_floor(ring_bytes_of_all / ranks_of_node));
    return s;
}

Result<Settings> Settings::from_environment(std::size_t ranks_of_node) {
    Settings s = defaults(ranks_of_node);

    Setting ring = bytes_setting("WEFT_SHM_RING", {ring_bytes_min, ring_bytes_max});
    if (!ring.is_ok()) return ring.status();
    if (*ring) s.ring_bytes = static_cast<std::size_t>(**ring);
    if (!std::has_single_bit(s.ring_bytes))
        return failure(WEFT_REFUSED_SETTING, "WEFT_SHM_RING = %zu; expected a power of two",
                       s.ring_bytes);

    Result<std::optional<std::size_t>> rendezvous = rendezvous_bytes_from_environment();
    if (!rendezvous.is_ok()) return rendezvous.status();
    s.rendezvous_bytes = rendezvous->value_or(s.rendezvous_bytes);

    if (const char* large = getenv("WEFT_SHM_LARGE")) {
        if (strcmp(large, "ring") == 0)
            s.large = LargeMethod::ring;
        else if (strcmp(large, "vm_readv") == 0)
            s.large = LargeMethod::vm_readv;
        else
            return failure(WEFT_REFUSED_SETTING,
                           "WEFT_SHM_LARGE = \"%s\"; expected ring or vm_readv", large);
    }
    return s;
}

}  // namespace weft::shm
