// Joining by another library's exchange: oob_program.cpp says what must hold.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::oob_test {

class JoinedOutOfBand : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, JoinedOutOfBand, Everywhere::all(), Everywhere::name_of);

TEST_P(JoinedOutOfBand, TakesTwoExchangesAndNoThread) {
    for (int ranks : where().some_of({1, 2, 3, 4})) {
        expect_success(std::string(where().settings) + " " + settings_of(engine()) + " " +
                       WEFT_BUILD_DIR "/tests/conformance/oob_program " + std::to_string(ranks));
    }
}

}  // namespace weft::test::oob_test
