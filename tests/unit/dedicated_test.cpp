// Which ranks want dedicated connections, and what the members of a communicator agree on.
#include "offload/offload.h"

#include "support/test.h"
#include "transport/dedicated.h"

namespace weft::dedicated_test {

TEST(Dedicated, IsWantedByEnginesThatOffload) {
    for (const EngineTraits& engine : engine_list) {
        EXPECT_EQ(wants_dedicated(engine.kind, false), engine.offloads) << engine.name;
    }
}

TEST(Dedicated, IsNotWantedByAutoWhereARankHasSeveralInterfaces) {
    EXPECT_FALSE(wants_dedicated(EngineKind::automatic, true));
    EXPECT_TRUE(wants_dedicated(EngineKind::kernel, true));
    EXPECT_TRUE(wants_dedicated(EngineKind::kernel_own, true));
    EXPECT_FALSE(wants_dedicated(EngineKind::thread, true));
}

TEST(Dedicated, HasAsManyStreamsAsEveryMemberCanServeIfAnyWantsThem) {
    using Shares = std::vector<DedicatedShare>;
    EXPECT_EQ(agreed_streams(Shares{{3, 0}, {2, 1}, {16, 0}}), 2u);
    EXPECT_EQ(agreed_streams(Shares{{16, 1}, {16, 1}}), DedicatedConnections::streams_max);
    EXPECT_EQ(agreed_streams(Shares{{16, 0}, {16, 0}}), 0u);
    EXPECT_EQ(agreed_streams(Shares{{16, 1}}), 0u) << "nobody to be connected with";
}

}  // namespace weft::dedicated_test
