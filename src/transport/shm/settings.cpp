// Reading the settings.
#include "transport/shm/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <bit>

namespace weft::shm {
namespace {

constexpr std::size_t ring_bytes_min = 16 * 1024;
constexpr std::size_t ring_bytes_max = std::size_t{64} << 20;
constexpr std::size_t ring_bytes_of_all = std::size_t{2} << 20;  // a rank's rings together

// A message must leave room for others in the ring, and for the gap at its end.
std::size_t eager_bytes_max(std::size_t ring_bytes) { return ring_bytes / 8; }

// The variable's value in bytes; `otherwise` when it is not set.
Result<std::size_t> bytes_setting(const char* name, std::size_t otherwise) {
    const char* text = getenv(name);
    if (text == nullptr) return otherwise;
    char* end = nullptr;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        return failure(WEFT_REFUSED_SETTING, "%s = \"%s\"; expected a number of bytes", name, text);
    return static_cast<std::size_t>(value);
}

}  // namespace

Settings Settings::defaults(std::size_t ranks_of_node) {
    Settings s;
    if (ranks_of_node > 8)
        s.ring_bytes = std::max(ring_bytes_min, std::bit_floor(ring_bytes_of_all / ranks_of_node));
    s.eager_bytes = std::min(s.eager_bytes, eager_bytes_max(s.ring_bytes));
    return s;
}

Result<Settings> Settings::from_environment(std::size_t ranks_of_node) {
    Settings s = defaults(ranks_of_node);

    Result<std::size_t> ring = bytes_setting("WEFT_SHM_RING", s.ring_bytes);
    if (!ring.is_ok()) return ring.status();
    if (!std::has_single_bit(*ring) || *ring < ring_bytes_min || *ring > ring_bytes_max)
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_SHM_RING = %zu; expected a power of two, %zu..%zu", *ring,
                       ring_bytes_min, ring_bytes_max);
    s.ring_bytes = *ring;

    Result<std::size_t> eager =
        bytes_setting("WEFT_SHM_EAGER", std::min(s.eager_bytes, eager_bytes_max(s.ring_bytes)));
    if (!eager.is_ok()) return eager.status();
    if (*eager > eager_bytes_max(s.ring_bytes))
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_SHM_EAGER = %zu; expected at most %zu, an eighth of the ring", *eager,
                       eager_bytes_max(s.ring_bytes));
    s.eager_bytes = *eager;

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
