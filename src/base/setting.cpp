#include "base/setting.h"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace weft {
namespace {

using Long = long long;

// Nothing unless the whole text is a number.
template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) return std::nullopt;
    return value;
}

bool holds(SettingRange range, std::optional<std::int64_t> value) {
    return value && *value >= range.min && *value <= range.max;
}

Setting not_set() { return std::optional<std::int64_t>(); }

}  // namespace

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
    return parse<std::int64_t>(text);
}

Setting whole_number_setting(const char* name, SettingRange range) {
    const char* text = std::getenv(name);
    if (!text) return not_set();
    const std::optional<std::int64_t> value = parse<std::int64_t>(text);
    if (holds(range, value)) return value;
    return failure(WEFT_REFUSED_SETTING, "%s = '%s'; expected a whole number %lld..%lld", name,
                   text, Long{range.min}, Long{range.max});
}

Setting bytes_setting(const char* name, SettingRange range) {
    const char* text = std::getenv(name);
    if (!text) return not_set();
    const std::optional<std::int64_t> value = parse_bytes(text);
    if (holds(range, value)) return value;
    return failure(WEFT_REFUSED_SETTING,
                   "%s = '%s'; expected a number of bytes %lld..%lld, as 65536 or 64K", name, text,
                   Long{range.min}, Long{range.max});
}

Setting seconds_setting(const char* name) {
    constexpr double seconds_max = 1'000'000;
    const char* text = std::getenv(name);
    if (!text) return not_set();
    const std::optional<double> value = parse<double>(text);
    if (value && *value > 0 && *value <= seconds_max) {
        return std::optional(static_cast<std::int64_t>(*value * 1e9));
    }
    return failure(WEFT_REFUSED_SETTING,
                   "%s = '%s'; expected seconds, more than 0 and at most %.0f, as 10 or 0.5", name,
                   text, seconds_max);
}

Result<bool> switch_setting(const char* name, bool if_not_set) {
    const char* text = std::getenv(name);
    if (!text) return if_not_set;
    if (std::string_view(text) == "0") return false;
    if (std::string_view(text) == "1") return true;
    return failure(WEFT_REFUSED_SETTING, "%s = '%s'; expected 0 or 1", name, text);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
    int shift = 0;
    switch (text.empty() ? '\0' : text.back()) {
        case 'k':
        case 'K': shift = 10; break;
        case 'm':
        case 'M': shift = 20; break;
        case 'g':
        case 'G': shift = 30; break;
        default: break;
    }
    if (shift > 0) text.remove_suffix(1);
    const std::optional<std::int64_t> value = parse<std::int64_t>(text);
    if (!value || *value < 0 || *value > std::numeric_limits<std::int64_t>::max() >> shift) {
        return std::nullopt;
    }
    return *value << shift;
}

std::optional<std::vector<Rank>> parse_sizes(std::string_view text) {
    std::vector<Rank> sizes;
    std::int64_t product = 1;
    while (true) {
        const std::size_t end = text.find('x');
        const std::optional<Rank> size = parse<Rank>(text.substr(0, end));
        if (!size || *size < 1) return std::nullopt;
        sizes.push_back(*size);
        product *= *size;
        if (product > std::numeric_limits<Rank>::max()) return std::nullopt;
        if (end == text.npos) return sizes;
        text.remove_prefix(end + 1);
    }
}

}  // namespace weft
