// A testbed in words.
#include "bench/testbed.h"

namespace weft::bench {

std::vector<std::string> arguments(const Testbed& testbed) {
    std::vector<std::string> words = {"--ranks",     std::to_string(testbed.ranks),
                                      "--bind",      testbed.bind,
                                      "--transport", testbed.transport};
    if (testbed.nodes > 0) {
        words.insert(words.end(),
                     {"--nodes", std::to_string(testbed.nodes), "--rate", testbed.rate});
        if (testbed.gso_bytes > 0) {
            words.insert(words.end(), {"--gso", std::to_string(testbed.gso_bytes)});
        }
    }
    if (!testbed.cores.empty()) words.insert(words.end(), {"--cores", testbed.cores});
    return words;
}

std::string description(const Testbed& testbed) {
    std::string text = std::to_string(testbed.ranks) + (testbed.ranks == 1 ? " rank" : " ranks");
    if (testbed.nodes > 0) {
        text += " on " + std::to_string(testbed.nodes) + " emulated node" +
                (testbed.nodes == 1 ? "" : "s") + ", links of " + testbed.rate;
        if (testbed.gso_bytes > 0) {
            text += ", packets of " + std::to_string(testbed.gso_bytes) + " bytes";
        }
    }
    return text;
}

}  // namespace weft::bench
