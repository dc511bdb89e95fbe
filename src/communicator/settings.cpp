#include "communicator/settings.h"

#include <algorithm>
#include <string>

#include "base/hash.h"
#include "base/setting.h"
#include "transport/link_limit.h"

namespace weft {
namespace {

constexpr std::string_view spaces = " \t\n";

Status refused(std::string_view word) {
    return failure(WEFT_REFUSED_ARGUMENT,
                   "settings: \"%.*s\"; expected COLLECTIVE=ALGORITHM, reproducible=0, "
                   "reproducible=1, accumulate=type, accumulate=float32, wire=exact, "
                   "wire=bfloat16, wire=int8, links=all, links=1..%u, offload=0 or offload=1",
                   static_cast<int>(word.size()), word.data(), LinkLimit::links_max);
}

Status change(CommunicatorSettings& settings, std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos) return refused(word);
    const std::string name(word.substr(0, equals));
    const std::string value(word.substr(equals + 1));
    const bool is_switch = value == "0" || value == "1";
    if (name == "offload" && is_switch) {
        settings.offloads = value == "1";
        return ok;
    }
    if (name == "reproducible" && is_switch) {
        settings.reproducible = value == "1";
        return ok;
    }
    if (name == "accumulate" && (value == "type" || value == "float32")) {
        settings.accumulates = value == "float32";
        return ok;
    }
    if (name == "wire") {
        const auto* const format = std::ranges::find(wire_format_names, value);
        if (format == std::end(wire_format_names)) return refused(word);
        settings.wire = static_cast<WireFormat>(format - wire_format_names);
        return ok;
    }
    if (name == "links") {
        const auto links = value == "all" ? 0 : parse_whole_number(value).value_or(-1);
        if (links < 0 || links > LinkLimit::links_max || value == "0") return refused(word);
        settings.links = static_cast<std::uint32_t>(links);
        return ok;
    }
    if (!algorithm::find_spec(name)) return refused(word);
    return settings.selector.force(word, "");
}

}  // namespace

Result<CommunicatorSettings> CommunicatorSettings::changed(std::string_view words) const {
    CommunicatorSettings changed = *this;
    while (true) {
        words.remove_prefix(std::min(words.find_first_not_of(spaces), words.size()));
        if (words.empty()) return changed;
        const std::string_view word = words.substr(0, words.find_first_of(spaces));
        WEFT_RETURN_IF_NOT_OK(change(changed, word));
        words.remove_prefix(word.size());
    }
}

std::uint64_t CommunicatorSettings::digest() const {
    Hash hash;
    hash.add(selector.text()).add(reproducible ? "reproducible=1\n" : "").add(links);
    if (accumulates) hash.add("accumulate=float32\n");
    if (wire != WireFormat::exact) {
        hash.add("wire=").add(wire_format_names[static_cast<std::size_t>(wire)]).add("\n");
    }
    return std::max<std::uint64_t>(hash.value(), 1);
}

}  // namespace weft
