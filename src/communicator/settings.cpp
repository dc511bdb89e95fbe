#include "communicator/settings.h"

#include <algorithm>
#include <string>

#include "base/hash.h"

namespace weft {
namespace {

constexpr std::string_view spaces = " \t\n";

Status refused(std::string_view word) {
    return failure(WEFT_REFUSED_ARGUMENT,
                   "settings: \"%.*s\"; expected COLLECTIVE=ALGORITHM, reproducible=0, "
                   "reproducible=1, offload=0 or offload=1",
                   static_cast<int>(word.size()), word.data());
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
    const algorithm::Family* family = algorithm::find_family(name);
    if (!family) return refused(word);
    return settings.selector.force(family->collective, value, name);
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
    hash.add(selector.text()).add(reproducible ? "reproducible=1\n" : "");
    return std::max<std::uint64_t>(hash.value(), 1);
}

}  // namespace weft
