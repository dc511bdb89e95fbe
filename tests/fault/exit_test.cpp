// A rank that returns from main with operations pending ends, and does not crash in the midst of what
// its threads do.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::exit_test {

class ExitWhilePending : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, ExitWhilePending, testing::ValuesIn(driven_by({"thread", "kernel"})),
                         Everywhere::name_of);

TEST_P(ExitWhilePending, EndsTheProcess) {
    const Folder folder;
    expect_success(command({6, "tests/fault/exit_program " + folder / "exits", ""}));
}

}  // namespace weft::test::exit_test
