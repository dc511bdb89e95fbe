#include "communicator/lending.h"

#include <algorithm>

#include "transport/strand.h"

namespace weft {

std::uint32_t agreed_streams(std::span<const Lending> members) {
    if (members.size() < 2) return 0;
    std::uint32_t streams = Strands::streams_max;
    bool is_wanted = false;
    for (const Lending& member : members) {
        streams = std::min(streams, member.streams_left);
        is_wanted |= member.is_wanted != 0;
    }
    return is_wanted ? streams : 0;
}

}  // namespace weft
