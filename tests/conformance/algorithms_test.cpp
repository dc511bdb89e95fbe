// Every algorithm of every collective on real processes, forced one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithm/catalogue.h"
#include "select/select.h"
#include "support/surroundings.h"

namespace weft::test {
namespace {

using algorithm::Algorithm;
using algorithm::Family;
using algorithm::Tunes;

// The algorithms of a family as settings, with several segments and with more than one port, that
// can serve all operations of so many ranks, and of a single one.
std::vector<std::string> choices(const Family& family, Rank ranks) {
    std::vector<std::string> texts;
    for (const Algorithm* known : family.algorithms) {
        const std::string name = known->name;
        if (known->tunes == Tunes::segments) texts.push_back(name + ":segment=4K,window=3");
        if (known->tunes == Tunes::throttle) texts.push_back(name + ":throttle=1");
        for (std::uint32_t ports : {1u, 2u}) {
            algorithm::Agreed size;
            size.ranks = ranks;
            size.tuning.ports = ports;
            if (!known->unmet_need(size).empty()) continue;
            if (known->tunes == Tunes::ports) {
                texts.push_back(name + ":ports=" + std::to_string(ports));
            } else if (ports == 1) {
                texts.push_back(name);
            }
        }
    }
    return texts;
}

class Algorithms : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Algorithms, Everywhere::all(), Everywhere::name_of);

TEST_P(Algorithms, GiveTheResultsOfTheirCollective) {
    for (int ranks : where().some_of({2, 3, 4, 7})) {
        std::size_t most = 0;
        for (const Family& family : algorithm::catalogue()) {
            ASSERT_FALSE(choices(family, ranks).empty()) << family.name;
            most = std::max(most, choices(family, ranks).size());
        }
        for (std::size_t k = 0; k < most; ++k) {
            // The k-th of every collective in one job.
            std::string settings;
            for (const Family& family : algorithm::catalogue()) {
                const std::vector<std::string> known = choices(family, ranks);
                settings += " " + setting_of(family) + "=" + known[k % known.size()];
            }
            expect_success(
                command({ranks, "tests/conformance/comms_program " + engine() + " all_collectives",
                         settings}));
        }
    }
}

}  // namespace
}  // namespace weft::test
