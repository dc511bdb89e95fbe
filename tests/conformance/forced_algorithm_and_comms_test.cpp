// A forced algorithm is for the user's calls: communicators are made also where their size is not
// one that the algorithm can do.
#include "process/construct.h"
#include "support/in_call.h"
#include "support/test.h"
#include "support/thread_job.h"

namespace weft::test::forced_algorithm_and_comms_test {

TEST(ForcedAlgorithm, DoesNotKeepCommunicatorsFromBeingMade) {
    ThreadJob::Options options{.may_spin = false};
    ASSERT_TRUE(options.selector.force(Collective::allgather, "standard_exchange:ports=2").is_ok());
    ThreadJob job(2, std::move(options));
    job.run([](ThreadRank& rank) {
        InCall in_call(rank.process().engine());
        Result<Communicator*> made = construct(rank.process(), rank.process().world(), {});
        EXPECT_TRUE(made.is_ok()) << last_detail();
        // A call of the user's that looks the same is refused as before.
        char from[16] = {};
        char into[32];
        EXPECT_EQ(rank.process()
                      .world()
                      .start(Call{.collective = Collective::allgather,
                                  .send_buf = from,
                                  .recv_buf = into,
                                  .count = sizeof from})
                      .status()
                      .code,
                  WEFT_REFUSED_SETTING);
    });
}

}  // namespace weft::test::forced_algorithm_and_comms_test
