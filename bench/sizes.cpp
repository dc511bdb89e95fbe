// Reads and prints sizes.
#include "bench/sizes.h"

#include <algorithm>
#include <charconv>

namespace weft::bench {
namespace {

constexpr std::int64_t size_max = std::int64_t{1} << 36;
constexpr std::int64_t range_factor = 8;

bool parse_size(std::string_view text, std::int64_t& bytes) {
    std::int64_t unit = 1;
    if (!text.empty()) {
        switch (text.back()) {
            case 'k':
            case 'K': unit = 1 << 10; break;
            case 'm':
            case 'M': unit = 1 << 20; break;
            case 'g':
            case 'G': unit = 1 << 30; break;
            default: break;
        }
        if (unit > 1) text.remove_suffix(1);
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error != std::errc{} || end != text.data() + text.size()) return false;
    if (bytes < 1 || bytes > size_max / unit) return false;
    bytes *= unit;
    return true;
}

Status bad_sizes(const std::string& text) {
    return failure(WEFT_REFUSED_ARGUMENT,
                   "sizes = \"%s\"; expected a range as 8:4M or a list as 8,512,16K, each at least "
                   "1 and at most 64G",
                   text.c_str());
}

}  // namespace

Result<std::vector<std::int64_t>> parse_sizes(const std::string& text) {
    std::vector<std::int64_t> sizes;
    std::int64_t size = 0;
    if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
        std::int64_t last = 0;
        if (!parse_size(std::string_view(text).substr(0, colon), size) ||
            !parse_size(std::string_view(text).substr(colon + 1), last) || size > last) {
            return bad_sizes(text);
        }
        for (; size < last; size *= range_factor) sizes.push_back(size);
        sizes.push_back(last);
        return sizes;
    }
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        if (!parse_size(std::string_view(text).substr(begin, end - begin), size)) {
            return bad_sizes(text);
        }
        sizes.push_back(size);
        begin = end + 1;
    }
    return sizes;
}

std::string size_text(std::int64_t bytes) {
    const char* const units[] = {"", "K", "M", "G"};
    std::size_t unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return std::to_string(bytes) + units[unit];
}

}  // namespace weft::bench
