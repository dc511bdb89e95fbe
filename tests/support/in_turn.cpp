#include "support/in_turn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "select/select.h"

namespace weft::test {

using algorithm::Algorithm;
using algorithm::CollectiveSpec;
using algorithm::Tunes;

std::vector<std::string> choices(const CollectiveSpec& spec, algorithm::GlobalArgs size) {
    std::vector<std::string> texts;
    for (const Algorithm* known : spec.algorithms) {
        const std::string name = known->name;
        for (std::uint32_t ports : {1u, 2u}) {
            size.tuning.ports = ports;
            if (!known->unmet_need(size).empty()) continue;
            if (known->tunes == Tunes::ports) {
                texts.push_back(name + ":ports=" + std::to_string(ports));
            } else if (ports == 1) {
                texts.push_back(name);
                if (known->tunes == Tunes::segments) texts.push_back(name + ":segment=4K,window=3");
                if (known->tunes == Tunes::throttle) texts.push_back(name + ":throttle=1");
                if (known->follows_inner()) texts.push_back(name + ":inner=ring");
                if (known->follows_leaders()) texts.push_back(name + ":leaders=2");
            }
        }
    }
    return texts;
}

std::string all_in_turn(const algorithm::GlobalArgs& size) {
    std::string all;
    for (std::size_t k = 0, most = 1; k < most; ++k) {
        all += " '";
        for (const CollectiveSpec& spec : algorithm::catalogue()) {
            if (size.reproducible && !spec.reduces) continue;
            const std::vector<std::string> known = choices(spec, size);
            EXPECT_FALSE(known.empty()) << spec.name;
            if (known.empty()) continue;
            most = std::max(most, known.size());
            all += spec.name + ("=" + known[k % known.size()]) + " ";
        }
        all += "'";
    }
    return all;
}

}  // namespace weft::test
