#include "transport/tcp/dealing.h"

#include <map>
#include <string>

namespace weft::tcp {

std::vector<PlaceInJob> places_in_job(const Address& own,
                                      const std::vector<std::vector<Address>>& peers) {
    struct Node {
        std::uint32_t index;
        std::uint32_t ranks;
    };
    std::map<std::string, Node> nodes;
    std::vector<PlaceInJob> places;
    for (const std::vector<Address>& addresses : peers) {
        const std::string host = (addresses.empty() ? own : addresses.front()).host();
        Node& node = nodes.try_emplace(host, Node{static_cast<std::uint32_t>(nodes.size()), 0})
                         .first->second;
        places.push_back({node.index, node.ranks++});
    }
    return places;
}

}  // namespace weft::tcp
