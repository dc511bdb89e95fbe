#include "process/dedicated.h"

#include <algorithm>

#include "transport/dedicated.h"

namespace weft {

bool wants_dedicated(EngineKind engine, bool has_several_interfaces) {
    const EngineTraits& wishes = traits(engine);
    return wishes.offloads && !(wishes.only_where_it_pays && has_several_interfaces);
}

std::uint32_t agreed_streams(std::span<const DedicatedShare> members) {
    if (members.size() < 2) return 0;
    std::uint32_t streams = DedicatedConnections::streams_max;
    bool is_wanted = false;
    for (const DedicatedShare& member : members) {
        streams = std::min(streams, member.streams_left);
        is_wanted |= member.is_wanted != 0;
    }
    return is_wanted ? streams : 0;
}

}  // namespace weft
