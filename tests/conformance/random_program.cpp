// One rank of a random program, through the C API: CASE PATIENCE_SECONDS ["plant"]. Ends with
// status 1 and a sentence when a result or an answer is wrong, with 4 when it hangs.
#include "support/random/public_calls.h"
#include "support/random/rank_run.h"
#include "support/random/watchdog.h"

#include <cstdio>
#include <cstdlib>

namespace weft::test::random {
namespace {

int fail(const char* what, const std::string& why) {
    std::fprintf(stderr, "%s: %s\n", what, why.c_str());
    return 1;
}

int main(int argc, char** argv) {
    Case c;
    if (argc < 3 || !Case::parse(argv[1], c)) return fail("usage", "CASE PATIENCE_SECONDS [plant]");
    if (weft_init() != WEFT_OK) return fail("weft_init", weft_last_detail());
    const Program program = generate(c);
    PublicCalls calls;
    RankRun run(calls, c, program,
                {.algorithms_forced = std::getenv("WEFT_ALGORITHM") != nullptr,
                 .may_poll = false,
                 .may_own = true,
                 .plant = argc > 3});
    {
        Watchdog watchdog({&run}, std::atoi(argv[2]), c.text());
        run.run();
    }
    if (!run.wrong().empty()) return fail("wrong", run.wrong());
    if (weft_finalize() != WEFT_OK) return fail("weft_finalize", weft_last_detail());
    return 0;
}

}  // namespace
}  // namespace weft::test::random

int main(int argc, char** argv) { return weft::test::random::main(argc, argv); }
