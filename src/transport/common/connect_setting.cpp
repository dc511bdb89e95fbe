#include "transport/common/connect_setting.h"

#include "base/setting.h"

namespace weft {

Result<bool> connects_ahead_from_environment() {
    const Result<std::optional<std::string_view>> when = word_setting("connect");
    if (!when.is_ok()) return when.status();
    return *when == "ahead";
}

}  // namespace weft
