// Every algorithm of every collective on real processes, forced one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithm/catalogue.h"
#include "select/select.h"
#include "support/surroundings.h"
#include "support/tori.h"

namespace weft::test {
namespace {

using algorithm::Algorithm;
using algorithm::Family;
using algorithm::Tunes;

// The algorithms of a family as settings, with several segments and with more than one port, that
// can serve such calls.
std::vector<std::string> choices(const Family& family, algorithm::Agreed size) {
    std::vector<std::string> texts;
    for (const Algorithm* known : family.algorithms) {
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
                if (known->tunes == Tunes::leaders) texts.push_back(name + ":leaders=2");
            }
        }
    }
    return texts;
}

// Settings of jobs, in which the algorithms of each collective take turns; if they are to be
// reproducible, those of collectives that reduce.
std::vector<std::string> all_in_turn(const algorithm::Agreed& size) {
    std::vector<std::string> jobs;
    for (std::size_t k = 0, most = 1; k < most; ++k) {
        std::string& settings = jobs.emplace_back();
        for (const Family& family : algorithm::catalogue()) {
            if (size.reproducible && !family.reduces) continue;
            const std::vector<std::string> known = choices(family, size);
            EXPECT_FALSE(known.empty()) << family.name;
            if (known.empty()) continue;
            most = std::max(most, known.size());
            settings += " " + setting_of(family) + "=" + known[k % known.size()];
        }
    }
    return jobs;
}

class Algorithms : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Algorithms, Everywhere::all(), Everywhere::name_of);

TEST_P(Algorithms, GiveTheResultsOfTheirCollective) {
    for (int ranks : some_of({2, 3, 4, 5, 7, 8})) {
        const Torus torus(squarest_torus(ranks));
        const std::string declared = " WEFT_TOPOLOGY=torus:" + to_text(torus.sizes());
        for (const std::string& settings : all_in_turn({.ranks = ranks, .torus = &torus})) {
            expect_success(
                command({ranks, "tests/conformance/comms_program " + engine() + " all_collectives",
                         settings + declared}));
        }
    }
}

// No algorithm cuts an element, or combines two that its operation does not.
TEST_P(Algorithms, CombineElementsOfAnySize) {
    for (int ranks : where().some_of({2, 3, 4, 5, 7, 8})) {
        std::string all;
        for (const Family& family : algorithm::catalogue()) {
            if (!family.reduces) continue;
            const std::string to = std::string(family.name) + "=";
            const auto in_order = choices(family, {.ranks = ranks, .commutative = false});
            for (const std::string& choice : in_order) all += " '" + to + choice + "'";
            for (const std::string& choice : choices(family, {.ranks = ranks})) {
                if (std::ranges::find(in_order, choice) == in_order.end())
                    all += " '+" + to + choice + "'";
            }
        }
        expect_success(command({ranks, "tests/conformance/opaque_program" + all}));
    }
}

// The bits do not depend on the algorithm, nor on where it runs.
TEST_P(Algorithms, GiveTheBitsOfTheReferenceIfReductionsAreReproducible) {
    for (int ranks : some_of({2, 3, 4, 8})) {
        const algorithm::Agreed size = {.ranks = ranks, .commutative = false, .reproducible = true};
        std::vector<std::string> all = all_in_turn(size);
        all.emplace_back();  // the library's choice
        for (const std::string& settings : all) {
            expect_success(command({ranks, "tests/conformance/reproducible_program",
                                    settings + " WEFT_REPRODUCIBLE=1"}));
        }
    }
}

}  // namespace
}  // namespace weft::test
