#include "bench/engines.h"

#include "base/engine_kind.h"

namespace weft::bench {

Result<Engine> find_engine(const std::string& name) {
    const std::optional<EngineKind> kind = engine_named(name);
    if (!kind)
        return failure(WEFT_REFUSED_ARGUMENT, "engine = \"%s\"; expected one of %s", name.c_str(),
                       engine_names().c_str());
    return Engine{traits(*kind).name, static_cast<weft_engine>(*kind)};
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
