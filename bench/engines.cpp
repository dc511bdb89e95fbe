// The list of progress engines.
#include "bench/engines.h"

#include <array>

namespace weft::bench {
namespace {

constexpr std::array list = {
    Engine{"manual", WEFT_ENGINE_MANUAL},           Engine{"thread", WEFT_ENGINE_THREAD},
    Engine{"thread:poll", WEFT_ENGINE_THREAD_POLL}, Engine{"kernel", WEFT_ENGINE_KERNEL},
    Engine{"kernel:own", WEFT_ENGINE_KERNEL_OWN},   Engine{"auto", WEFT_ENGINE_AUTO},
};

}  // namespace

std::span<const Engine> engines() { return list; }

Result<Engine> find_engine(const std::string& name) {
    std::string known;
    for (const Engine& engine : list) {
        if (name == engine.name) return engine;
        known += known.empty() ? engine.name : std::string(", ") + engine.name;
    }
    return failure(WEFT_REFUSED_ARGUMENT, "engine = \"%s\"; expected one of %s", name.c_str(),
                   known.c_str());
}

Result<std::vector<Engine>> find_engines(const std::vector<std::string>& names) {
    std::vector<Engine> found;
    for (const std::string& name : names) {
        Result<Engine> engine = find_engine(name);
        if (!engine.is_ok()) return engine.status();
        found.push_back(*engine);
    }
    return found;
}

}  // namespace weft::bench
