#include "weft/library_choice.h"

#include <cstdio>

#include "base/setting.h"
#include "select/select.h"

namespace weft {
namespace {

using algorithm::Tuning;

// As in a table: "chain:segment=16384,window=8".
std::string text_of(const Choice& choice) {
    const Tuning& tuning = choice.tuning;
    const Tuning usual;
    std::string text = choice.algorithm->name;
    char before = ':';
    const auto add = [&](bool differs, const char* name, const std::string& value) {
        if (!differs) return;
        text += before + std::string(name) + "=" + value;
        before = ',';
    };
    const auto number = [](auto value) { return std::to_string(value); };
    add(tuning.segment_bytes != usual.segment_bytes, "segment", number(tuning.segment_bytes));
    add(tuning.window.has_value(), "window", number(tuning.window.value_or(0)));
    add(tuning.ports != usual.ports, "ports", number(tuning.ports));
    add(tuning.throttle, "throttle", "1");
    add(tuning.leaders != usual.leaders, "leaders", number(tuning.leaders));
    add(tuning.inner != nullptr, "inner", tuning.inner ? tuning.inner->name : "");
    return text;
}

}  // namespace

const algorithm::Algorithm* library_choice(const CLI::App& command,
                                           const algorithm::GlobalArgs& agreed, Tuning& tuning) {
    warn_of_settings();
    Result<Selector> selector = Selector::from_environment();
    if (!selector.is_ok()) return nullptr;
    Result<std::optional<std::string_view>> engine = word_setting("WEFT_ENGINE");
    if (!engine.is_ok()) return nullptr;
    selector->set_engine(*engine ? engine_named(**engine) : default_engine);
    Result<Choice> choice = selector->choose(agreed);
    if (!choice.is_ok()) return nullptr;
    std::fprintf(stderr,
                 "weft %s: %s by %s, as the library would choose; --algorithm names others\n",
                 command.get_name().c_str(), algorithm::spec_of(agreed.collective).name,
                 text_of(*choice).c_str());
    const auto follow = [&](const char* option, auto& to, const auto& from) {
        const CLI::Option* const given = command.get_option_no_throw(option);
        if (!given || given->count() == 0) to = from;
    };
    follow("--segment", tuning.segment_bytes, choice->tuning.segment_bytes);
    follow("--window", tuning.window, choice->tuning.window);
    follow("--ports", tuning.ports, choice->tuning.ports);
    follow("--throttle", tuning.throttle, choice->tuning.throttle);
    follow("--leaders", tuning.leaders, choice->tuning.leaders);
    follow("--inner", tuning.inner, choice->tuning.inner);
    return choice->algorithm;
}

}  // namespace weft
