#include "bench/engines.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>

#include "base/engine_kind.h"
#include "c_api/guard.h"

namespace weft::bench {

weft_status set_engine(weft_engine engine) {
    const auto kind = static_cast<EngineKind>(engine);
    if (!traits(kind).is_hidden) return weft_set_engine(engine);
    Process& process = *c_api::current_process();
    const Status status = process.check_engine(kind);
    if (status.is_ok()) process.engine().set_kind(kind);
    return status.code;
}

Result<Engine> find_engine(const std::string& name) {
    const auto found = std::ranges::find(engine_list, name, &EngineTraits::name);
    if (found == engine_list.end())
        return failure(WEFT_REFUSED_ARGUMENT, "engine = \"%s\"; expected one of %s", name.c_str(),
                       engine_names(/*with_hidden=*/true).c_str());
    return Engine{found->name, static_cast<weft_engine>(found->kind)};
}

void prefer_no_engine() { setenv("WEFT_ENGINE", "manual", /*overwrite=*/0); }

}  // namespace weft::bench
