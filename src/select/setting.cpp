#include "select/setting.h"

#include "base/setting.h"

namespace weft {
namespace {

// The largest number of segments in flight.
constexpr std::int64_t window_max = 1 << 16;
constexpr std::int64_t ports_max = 64;
constexpr std::int64_t leaders_max = 1 << 16;

// Returns the part of `text` before `separator` and leaves the part after it.
std::string_view take_until(std::string_view& text, char separator) {
    std::size_t end = text.find(separator);
    std::string_view head = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return head;
}

Status refused(const char* variable, std::string_view text, const char* expected) {
    return failure(WEFT_REFUSED_SETTING, "%s: \"%.*s\"; expected %s", variable,
                   static_cast<int>(text.size()), text.data(), expected);
}

}  // namespace

Result<AlgorithmSetting> parse_algorithm(const char* variable, std::string_view text) {
    AlgorithmSetting setting;
    std::string_view rest = text;
    setting.name = take_until(rest, ':');
    // (A separator is followed by something: what was left out was perhaps meant.)
    bool has_more = setting.name.size() < text.size();
    while (has_more) {
        const std::size_t left = rest.size();
        std::string_view value = take_until(rest, ',');
        has_more = value.size() < left;
        std::string_view key = take_until(value, '=');
        std::optional<std::int64_t> number = parse_bytes(value);
        if (key == "segment") {
            if (!number || *number == 0)
                return refused(variable, text, "segment=BYTES, such as 64K");
            setting.segment_bytes = *number;
        } else if (key == "window") {
            if (!number || *number == 0 || *number > window_max) {
                return refused(variable, text, "window=1..65536");
            }
            setting.window = static_cast<std::uint32_t>(*number);
        } else if (key == "ports") {
            if (!number || *number == 0 || *number > ports_max) {
                return refused(variable, text, "ports=1..64");
            }
            setting.ports = static_cast<std::uint32_t>(*number);
        } else if (key == "throttle") {
            if (!number || *number > 1) return refused(variable, text, "throttle=0 or throttle=1");
            setting.throttle = *number == 1;
        } else if (key == "inner") {
            setting.inner = value;
        } else if (key == "leaders") {
            if (!number || *number == 0 || *number > leaders_max) {
                return refused(variable, text, "leaders=1..65536");
            }
            setting.leaders = static_cast<std::uint32_t>(*number);
        } else {
            return refused(variable, text,
                           "NAME, NAME:segment=BYTES,window=COUNT, NAME:ports=COUNT, "
                           "NAME:throttle=1 or NAME:leaders=COUNT,inner=NAME");
        }
    }
    return setting;
}

}  // namespace weft
