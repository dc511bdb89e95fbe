#include "select/table.h"

#include <algorithm>

#include "base/setting.h"

namespace weft {
namespace {

using algorithm::CollectiveSpec;
using algorithm::GlobalArgs;

constexpr std::string_view spaces = " \t\r";
constexpr std::size_t quoted_max = 80;  // of a line, so that the sentence has room for the rest

// Removes the next word from `text`; empty: there is none.
std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(spaces));
    text.remove_prefix(word.size());
    return word;
}

}  // namespace

Status AlgorithmTable::add(std::string_view text, const std::string& source) {
    for (int number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = line.substr(0, line.find('#'));
        if (line.find_first_not_of(spaces) == line.npos) continue;
        WEFT_RETURN_IF_NOT_OK(add_line(line, source + ", line " + std::to_string(number)));
    }
    return ok;
}

Status AlgorithmTable::add_line(std::string_view text, const std::string& where) {
    const std::string_view all = text;
    const CollectiveSpec* spec = algorithm::find_spec(take_word(text));
    std::string_view word = take_word(text);
    TableLine line{spec ? spec->collective : Collective::barrier};
    while (spec && !word.empty() && read_condition(word, line)) word = take_word(text);
    if (!spec || word.empty() || !take_word(text).empty()) {
        return failure(WEFT_REFUSED_SETTING,
                       "%s: \"%.*s\"; expected COLLECTIVE [ranks=RANGE] [nodes=RANGE] "
                       "[bytes=RANGE] [combines] [reproducible] [engine=ENGINE] ALGORITHM, a range "
                       "such as 4, 4-8 or 64K-, an engine one of %s",
                       where.c_str(), static_cast<int>(std::min(all.size(), quoted_max)),
                       all.data(), engine_names().c_str());
    }
    WEFT_RETURN_IF_NOT_OK(parse_choice(*spec, word, where).move_to(line.choice));
    lines_.push_back(line);
    return ok;
}

bool AlgorithmTable::read_condition(std::string_view word, TableLine& line) {
    if (word == "combines") return line.combines = true;
    if (word == "reproducible") return line.reproducible = true;
    const std::size_t equals = word.find('=');
    if (equals == word.npos) return false;
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (key != "engine") return read_range(key, value, line);
    line.engine = engine_named(value);
    return line.engine.has_value();
}

bool AlgorithmTable::read_range(std::string_view key, std::string_view value, TableLine& line) {
    const std::size_t dash = value.find('-');
    const auto from = parse_bytes(value.substr(0, dash));
    const bool is_open = dash + 1 == value.size();
    const auto to = dash == value.npos ? from : parse_bytes(value.substr(dash + 1));
    Range* const range = key == "ranks"   ? &line.ranks
                         : key == "nodes" ? &line.nodes
                         : key == "bytes" ? &line.bytes
                                          : nullptr;
    if (!range || !from || (!is_open && (!to || *to < *from))) return false;
    range->from = *from;
    if (!is_open) range->to = *to;
    line.has_bytes |= key == "bytes";
    return true;
}

const Choice* AlgorithmTable::choose(const GlobalArgs& agreed,
                                     std::optional<EngineKind> engine) const {
    const std::int64_t nodes = agreed.topology ? agreed.topology->nodes() : 1;
    for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
        if (line->collective != agreed.collective) continue;
        if (!line->ranks.has(agreed.ranks) || !line->nodes.has(nodes)) continue;
        if (line->has_bytes && !line->bytes.has(agreed.bytes)) continue;
        if (line->combines && !agreed.combines) continue;
        if (line->reproducible && !agreed.reproducible) continue;
        if (line->engine && line->engine != engine) continue;
        GlobalArgs tuned = agreed;
        tuned.tuning = line->choice.tuning;
        if (line->choice.algorithm->unmet_need(tuned).empty()) return &line->choice;
    }
    return nullptr;
}

}  // namespace weft
