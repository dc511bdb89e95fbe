#include "select/select.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "base/hash.h"
#include "base/text_file.h"

namespace weft {
namespace {

using algorithm::Algorithm;
using algorithm::CollectiveSpec;
using algorithm::GlobalArgs;

// The shipped lines, shared by all selectors.
const AlgorithmTable& shipped() {
    static const AlgorithmTable table = [] {
        AlgorithmTable made;
        WEFT_ASSERT(made.add(shipped_table, "shipped.table").is_ok());
        return made;
    }();
    return table;
}

// "a table with hash 0123456789abcdef"
std::string digest_of(const char* what, const std::string& content) {
    std::array<char, 60> digest{};
    std::snprintf(digest.data(), digest.size(), "%s with hash %016llx", what,
                  static_cast<unsigned long long>(Hash().add(content).value()));
    return digest.data();
}

// The last sentence is the reason.
Status not_readable(const Status& status, const std::string& source, const char* expected) {
    const std::string reason = last_detail();
    return failure(status.code, "%s: %s; %s", source.c_str(), reason.c_str(), expected);
}

}  // namespace

std::string setting_of(const CollectiveSpec& spec) {
    std::string name = "WEFT_ALGORITHM_";
    for (const char* c = spec.name; *c; ++c) name += static_cast<char>(std::toupper(*c));
    return name;
}

Result<Selector> Selector::from_environment() {
    Selector selector;
    const char* path = std::getenv("WEFT_TUNING");
    if (path && *path) WEFT_RETURN_IF_NOT_OK(selector.read_table(path));
    WEFT_RETURN_IF_NOT_OK(selector.read_selection());
    for (const CollectiveSpec& spec : algorithm::catalogue()) {
        const char* text = std::getenv(setting_of(spec).c_str());
        if (text && *text) WEFT_RETURN_IF_NOT_OK(selector.force(spec.collective, text));
    }
    return selector;
}

Status Selector::force(Collective collective, const std::string& text, const std::string& name) {
    Result<Choice> choice = parse_choice(algorithm::spec_of(collective), text, name);
    if (!choice.is_ok()) return choice.status();
    forced_[static_cast<std::size_t>(collective)] = Forced{*choice, name, text};
    return ok;
}

Status Selector::read_table(const char* path) {
    const std::string source = std::string("WEFT_TUNING=") + path;
    Result<std::string> text = read_text_file(path);
    if (!text.is_ok())
        return not_readable(text.status(), source, "expected a file as `weft tune` writes it");
    auto table = std::make_shared<AlgorithmTable>();
    WEFT_RETURN_IF_NOT_OK(table->add(*text, source));
    table_ = std::move(table);
    tuning_ = digest_of("a table", *text);
    return ok;
}

Status Selector::read_selection() {
    const char* const by = std::getenv("WEFT_SELECT");
    const std::string how = by ? by : "";
    if (how.empty() || how == "table") return ok;
    if (how != "model" && how != "model:cpu") {
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_SELECT = '%s'; expected table, model or model:cpu", by);
    }
    const char* const path = std::getenv("WEFT_MODEL");
    constexpr const char* expected = "expected a file as `weft bench loggp --json` writes it";
    if (!path || !*path)
        return failure(WEFT_REFUSED_SETTING, "WEFT_SELECT=%s without WEFT_MODEL; %s", by, expected);
    const std::string source = std::string("WEFT_MODEL=") + path;
    Result<std::string> text = read_text_file(path);
    if (!text.is_ok()) return not_readable(text.status(), source, expected);
    Result<model::MeasuredParameters> parameters = model::read_measured(*text);
    if (!parameters.is_ok()) return not_readable(parameters.status(), source, expected);
    const ModelGoal goal = how == "model" ? ModelGoal::time : ModelGoal::cpu_time;
    model_ = std::make_shared<ModelSelection>(ModelSelection{goal, std::move(*parameters)});
    model_digest_ = digest_of("parameters", *text);
    return ok;
}

Result<Choice> Selector::choose(const GlobalArgs& agreed) const {
    const Collective collective = agreed.collective;
    const CollectiveSpec& spec = algorithm::spec_of(collective);
    if (const auto& forced = forced_[static_cast<std::size_t>(collective)]) {
        GlobalArgs tuned = agreed;
        tuned.tuning = forced->choice.tuning;
        const std::string lacks = forced->choice.algorithm->unmet_need(tuned);
        if (lacks.empty()) return forced->choice;
        return failure(WEFT_REFUSED_SETTING, "%s=%s needs %s", forced->name.c_str(),
                       forced->text.c_str(), lacks.c_str());
    }
    if (table_) {
        if (const Choice* listed = table_->choose(agreed, engine_)) return *listed;
    }
    if (model_) {
        if (const std::optional<Choice> best = model_->choose(agreed)) return *best;
    }
    if (const Choice* listed = shipped().choose(agreed, engine_)) return *listed;
    const auto meets = [&](const Algorithm* a) { return a->unmet_need(agreed).empty(); };
    const auto first = std::ranges::find_if(spec.algorithms, meets);
    WEFT_ASSERT(first != spec.algorithms.end());
    return Choice{*first, agreed.tuning};
}

std::string Selector::text() const {
    std::string text;
    for (const CollectiveSpec& spec : algorithm::catalogue()) {
        const auto& forced = forced_[static_cast<std::size_t>(spec.collective)];
        if (forced) text += std::string(spec.name) + "=" + forced->text + "\n";
    }
    return text;
}

}  // namespace weft
