// Every algorithm of every collective on real processes, forced one after the other.
#include "algorithm/catalogue.h"
#include "support/in_turn.h"
#include "support/surroundings.h"
#include "support/test.h"
#include "support/tori.h"

namespace weft::test::algorithms_test {

using algorithm::CollectiveSpec;

class Algorithms : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Algorithms, Everywhere::all(), Everywhere::name_of);

// Of many, unless all tests run: the smallest, the largest, and one of the others, which take their turn.
std::vector<int> some_in_turn(const std::vector<int>& ranks) {
    if (runs_all() || ranks.size() <= 3) return ranks;
    return {ranks.front(), ranks[1 + test_turn() % (ranks.size() - 2)], ranks.back()};
}

TEST_P(Algorithms, GiveTheResultsOfTheirCollective) {
    for (int ranks : some_in_turn(some_of({2, 3, 4, 5, 7, 8}))) {
        const Torus torus(squarest_torus(ranks));
        expect_success(command({ranks,
                                "tests/conformance/comms_program " + engine() + " with_settings" +
                                    all_in_turn({.ranks = ranks, .torus = &torus}),
                                "WEFT_TOPOLOGY=torus:" + to_text(torus.sizes()),
                                "--timeout " + std::to_string(120 * sanitizer_slowdown)}));
    }
}

// No algorithm cuts an element, or combines two that its operation does not.
TEST_P(Algorithms, CombineElementsOfAnySize) {
    for (int ranks : some_in_turn(where().some_of({2, 3, 4, 5, 7, 8}))) {
        std::string all;
        for (const CollectiveSpec& spec : algorithm::catalogue()) {
            if (!spec.reduces) continue;
            const std::string to = std::string(spec.name) + "=";
            const auto in_order = choices(spec, {.ranks = ranks, .commutative = false});
            for (const std::string& choice : in_order) all += " '" + to + choice + "'";
            for (const std::string& choice : choices(spec, {.ranks = ranks})) {
                if (std::ranges::find(in_order, choice) == in_order.end())
                    all += " '+" + to + choice + "'";
            }
        }
        expect_success(command({ranks, "tests/conformance/opaque_program" + all}));
    }
}

// The bits do not depend on the algorithm, nor on where it runs.
TEST_P(Algorithms, GiveTheBitsOfTheReferenceIfReductionsAreReproducible) {
    for (int ranks : some_in_turn(some_of({2, 3, 4, 8}))) {
        const std::string all =
            all_in_turn({.ranks = ranks, .commutative = false, .reproducible = true});
        expect_success(command(
            {ranks, "tests/conformance/reproducible_program" + all, "WEFT_REPRODUCIBLE=1"}));
    }
}

}  // namespace weft::test::algorithms_test
