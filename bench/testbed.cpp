// A testbed in words.
#include "bench/testbed.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/cores.h"

namespace weft::bench {

std::vector<int> Testbed::cores_of_ranks() const {
    if (cores.empty()) return bind == "core" ? own_cores() : std::vector<int>();
    std::vector<int> list;
    for (std::size_t at = 0; at < cores.size();) {
        list.push_back(std::atoi(cores.c_str() + at));
        at = std::min(cores.find(',', at), cores.size() - 1) + 1;
    }
    return list;
}

bool Testbed::gives_each_rank_a_core() const {
    const std::vector<int> list = cores_of_ranks();
    std::set<int> taken;
    for (int rank = 0; rank < ranks && !list.empty(); ++rank)
        taken.insert(list[static_cast<std::size_t>(rank) % list.size()]);
    return std::cmp_equal(taken.size(), ranks);
}

std::vector<std::string> cluster_arguments(const Testbed& testbed) {
    if (testbed.nodes == 0) return {};
    std::vector<std::string> words = {"--nodes", std::to_string(testbed.nodes),
                                      "--rate",  testbed.rate,
                                      "--links", std::to_string(testbed.links)};
    if (testbed.gso_bytes > 0) {
        words.insert(words.end(), {"--gso", std::to_string(testbed.gso_bytes)});
    }
    return words;
}

std::vector<std::string> arguments(const Testbed& testbed) {
    std::vector<std::string> words = {"--ranks",     std::to_string(testbed.ranks),
                                      "--bind",      testbed.bind,
                                      "--transport", testbed.transport};
    for (const std::string& word : cluster_arguments(testbed)) words.push_back(word);
    if (!testbed.cores.empty()) words.insert(words.end(), {"--cores", testbed.cores});
    return words;
}

std::string description(const Testbed& testbed) {
    std::string text = std::to_string(testbed.ranks) + (testbed.ranks == 1 ? " rank" : " ranks");
    if (testbed.nodes > 0) {
        text += " on " + std::to_string(testbed.nodes) + " emulated node" +
                (testbed.nodes == 1 ? "" : "s") + ", " +
                (testbed.links > 1 ? std::to_string(testbed.links) + " " : "") + "links of " +
                testbed.rate + (testbed.links > 1 ? " each" : "");
        if (testbed.gso_bytes > 0) {
            text += ", packets of " + std::to_string(testbed.gso_bytes) + " bytes";
        }
    }
    return text;
}

}  // namespace weft::bench
