#include "base/engine_kind.h"

#include <algorithm>

namespace weft {
namespace {

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < engine_list.size(); ++i) {
        if (static_cast<std::size_t>(engine_list[i].kind) != i) return false;
    }
    return true;
}
static_assert(is_in_order());

}  // namespace

std::optional<EngineKind> engine_named(std::string_view name) {
    const auto found = std::ranges::find(engine_list, name, &EngineTraits::name);
    if (found == engine_list.end() || found->is_hidden) return std::nullopt;
    return found->kind;
}

std::optional<EngineKind> engine_numbered(int number) {
    if (number < 0 || static_cast<std::size_t>(number) >= engine_list.size()) return std::nullopt;
    const auto kind = static_cast<EngineKind>(number);
    if (traits(kind).is_hidden) return std::nullopt;
    return kind;
}

std::string engine_names(bool with_hidden) {
    std::string names;
    for (const EngineTraits& engine : engine_list) {
        if (engine.is_hidden && !with_hidden) continue;
        if (!names.empty()) names += &engine == &engine_list.back() ? " or " : ", ";
        names += engine.name;
    }
    return names;
}

}  // namespace weft
