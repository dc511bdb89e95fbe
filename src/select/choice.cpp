#include "select/choice.h"

#include <algorithm>
#include <limits>

#include "base/setting.h"

namespace weft {
namespace {

using algorithm::CollectiveSpec;
using algorithm::Tunes;
using algorithm::Tuning;

// A parameter that is a number.
struct Parameter {
    std::string_view name;
    const char* form;
    std::int64_t min;
    std::int64_t max;
    Tunes tunes;       // the algorithms that follow it
    const char* what;  // that the others do not have
    void (*set)(Tuning& tuning, std::int64_t value);
};

std::uint32_t small(std::int64_t value) { return static_cast<std::uint32_t>(value); }

constexpr Parameter parameters[] = {
    {"segment", "segment=BYTES, such as 64K", 1, std::numeric_limits<std::int64_t>::max(),
     Tunes::segments, "segments", [](Tuning& t, std::int64_t value) { t.segment_bytes = value; }},
    {"window", "window=1..65536", 1, 65'536, Tunes::segments, "segments",
     [](Tuning& t, std::int64_t value) { t.window = small(value); }},
    {"ports", "ports=1..64", 1, 64, Tunes::ports, "ports",
     [](Tuning& t, std::int64_t value) { t.ports = small(value); }},
    {"throttle", "throttle=0 or throttle=1", 0, 1, Tunes::throttle, "throttle",
     [](Tuning& t, std::int64_t value) { t.throttle = value == 1; }},
    {"leaders", "leaders=1..65536", 1, 65'536, Tunes::leaders, "choice of leaders",
     [](Tuning& t, std::int64_t value) { t.leaders = small(value); }}};
constexpr std::string_view inner_parameter = "inner";

const Parameter* find_parameter(std::string_view name) {
    const auto* const found = std::ranges::find(parameters, name, &Parameter::name);
    return found == std::end(parameters) ? nullptr : found;
}

// One part of a refusal's sentence.
std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

Status refused(const std::string& name, const std::string& why) {
    return failure(WEFT_REFUSED_SETTING, "%s%s%s", name.c_str(), name.empty() ? "" : ": ",
                   why.c_str());
}

Status set_inner(const CollectiveSpec& spec, Choice& choice, std::string_view value,
                 std::string_view text, const std::string& name) {
    const algorithm::Algorithm* const inner = spec.find(std::string(value));
    if (!inner || inner->follows_topology) {
        return refused(name, quoted(text) + ": inner=" + std::string(value) +
                                 " is not a flat algorithm; expected one of: " +
                                 algorithm::names_of(spec.flat_algorithms()));
    }
    choice.tuning.inner = inner;
    return ok;
}

Status set_parameter(const CollectiveSpec& spec, Choice& choice, std::string_view item,
                     std::string_view text, const std::string& name) {
    std::string_view value = item;
    const std::string_view key = take_until(value, "=");
    const algorithm::Algorithm& algorithm = *choice.algorithm;
    const auto lacks = [&](const char* what, const algorithm::Algorithm& who) {
        return refused(name, quoted(text) + "; " + who.name + " has no " + what);
    };
    if (key == inner_parameter) {
        if (!algorithm.follows_inner()) return lacks("inner algorithm", algorithm);
        return set_inner(spec, choice, value, text, name);
    }
    const Parameter* const parameter = find_parameter(key);
    if (!parameter) {
        return refused(name, quoted(text) +
                                 "; expected NAME, NAME:segment=BYTES,window=COUNT, "
                                 "NAME:ports=COUNT, NAME:throttle=1 or "
                                 "NAME:leaders=COUNT,inner=NAME,ports=COUNT");
    }
    const std::optional<std::int64_t> number = parse_bytes(value);
    if (!number || *number < parameter->min || *number > parameter->max)
        return refused(name, quoted(text) + "; expected " + parameter->form);
    // Among leaders it is the inner algorithm, named before, that has ports.
    const bool is_of_inner = parameter->tunes == Tunes::ports && choice.tuning.inner;
    const algorithm::Algorithm& follower = is_of_inner ? *choice.tuning.inner : algorithm;
    const bool follows = parameter->tunes == Tunes::leaders ? follower.follows_leaders()
                                                            : follower.tunes == parameter->tunes;
    if (!follows) return lacks(parameter->what, follower);
    parameter->set(choice.tuning, *number);
    return ok;
}

std::string known_collectives() {
    std::string names;
    for (const CollectiveSpec& spec : algorithm::catalogue())
        names += (names.empty() ? "" : ", ") + std::string(spec.name);
    return names;
}

}  // namespace

Result<Choice> parse_choice(const CollectiveSpec& spec, std::string_view text,
                            const std::string& name) {
    std::string_view rest = text;
    const std::string algorithm(take_until(rest, ":"));
    Choice choice{spec.find(algorithm), {}};
    if (!choice.algorithm) {
        const bool lacks_colon = algorithm.find(',') != algorithm.npos;
        return refused(name, quoted(algorithm) + " is not known" +
                                 (lacks_colon ? "; a colon comes before parameters" : "") +
                                 "; expected one of: " + spec.known_names());
    }
    // (A separator is followed by something: what was left out was perhaps meant.)
    bool has_more = algorithm.size() < text.size();
    while (has_more) {
        has_more = rest.find(',') != rest.npos;
        const std::string_view item = take_until(rest, ",");
        WEFT_RETURN_IF_NOT_OK(set_parameter(spec, choice, item, text, name));
    }
    return choice;
}

Result<std::vector<NamedChoice>> parse_choices(std::string_view list, const std::string& name) {
    std::vector<NamedChoice> choices;
    for (bool has_more = !list.empty(); has_more;) {
        has_more = list.find(',') != list.npos;
        const std::string_view item = take_until(list, ",");
        std::string_view value = item;
        const std::string_view key = take_until(value, "=");
        const CollectiveSpec* const spec = algorithm::find_spec(key);
        const bool is_parameter = key == inner_parameter || find_parameter(key);
        if (!spec && is_parameter && !choices.empty()) {
            choices.back().text += "," + std::string(item);
            continue;
        }
        if (!spec) {
            return refused(name,
                           quoted(key) +
                               (choices.empty() ? " is no collective"
                                                : " is neither a collective nor a parameter") +
                               "; expected COLLECTIVE=ALGORITHM, of " + known_collectives());
        }
        if (key.size() == item.size()) {
            return refused(name, quoted(item) + "; expected " + std::string(key) +
                                     "=ALGORITHM, one of: " + spec->known_names());
        }
        if (std::ranges::find(choices, spec->collective, &NamedChoice::collective) != choices.end())
            return refused(name, std::string(key) + " is there twice; expected it once");
        choices.push_back({spec->collective, std::string(value), {}});
    }
    for (NamedChoice& one : choices) {
        const CollectiveSpec& spec = algorithm::spec_of(one.collective);
        WEFT_RETURN_IF_NOT_OK(
            parse_choice(spec, one.text, choice_name(name, one.collective)).move_to(one.choice));
    }
    return choices;
}

std::string choice_name(const std::string& name, Collective collective) {
    return name + (name.empty() ? "" : "=") + algorithm::spec_of(collective).name;
}

}  // namespace weft
