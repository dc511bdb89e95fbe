#include "transport/common/dealing.h"

#include <map>

namespace weft {

std::vector<PlaceInJob> places_in_job(std::span<const std::string> hosts) {
    struct Node {
        std::uint32_t index;
        std::uint32_t ranks;
    };
    std::map<std::string, Node> nodes;
    std::vector<PlaceInJob> places;
    for (const std::string& host : hosts) {
        Node& node = nodes.try_emplace(host, Node{static_cast<std::uint32_t>(nodes.size()), 0})
                         .first->second;
        places.push_back({node.index, node.ranks++});
    }
    return places;
}

}  // namespace weft
