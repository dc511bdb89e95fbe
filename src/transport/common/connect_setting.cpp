#include "transport/common/connect_setting.h"

#include <cstdlib>
#include <string_view>

namespace weft {

Result<bool> connects_ahead_from_environment() {
    const char* text = std::getenv("WEFT_CONNECT");
    const std::string_view when = text != nullptr ? text : "need";
    if (when == "need" || when == "ahead") return when == "ahead";
    return failure(WEFT_REFUSED_SETTING, "WEFT_CONNECT = '%s'; expected need or ahead", text);
}

}  // namespace weft
