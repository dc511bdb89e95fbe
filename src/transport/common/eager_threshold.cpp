#include "transport/common/eager_threshold.h"

#include "base/setting.h"

namespace weft {

Result<std::optional<std::size_t>> eager_threshold_from_environment() {
    const Setting bytes = number_setting("WEFT_RENDEZVOUS");
    if (!bytes.is_ok()) return bytes.status();
    std::optional<std::size_t> size;
    if (*bytes) size = static_cast<std::size_t>(**bytes);
    return size;
}

}  // namespace weft
