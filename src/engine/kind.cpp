#include <array>

#include "engine/engine.h"

namespace weft {
namespace {

constexpr std::array names = {"manual", "thread", "thread:poll", "kernel", "kernel:own", "auto"};

}  // namespace

const char* engine_name(EngineKind kind) { return names[static_cast<std::size_t>(kind)]; }

std::optional<EngineKind> engine_named(std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (name == names[i]) return static_cast<EngineKind>(i);
    }
    return std::nullopt;
}

}  // namespace weft
