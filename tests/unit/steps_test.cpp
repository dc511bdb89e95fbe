// Whether two algorithms do the same on every rank.
#include "lab/steps.h"
#include "algorithm/catalogue.h"
#include "schedule/builder.h"
#include "select/table.h"
#include "support/test.h"

namespace weft::steps_test {

// "gather", "knomial:ports=3".
bool are_alike(const char* collective, const std::string& one, const std::string& other, Rank ranks,
               std::int64_t bytes = 1000) {
    const algorithm::CollectiveSpec& spec = *algorithm::find_spec(collective);
    algorithm::GlobalArgs agreed;
    agreed.collective = spec.collective;
    agreed.ranks = ranks;
    agreed.bytes = bytes;
    const auto hash = [&](const std::string& setting, Rank rank) {
        const Result<Choice> choice = parse_choice(spec, setting, "setting");
        EXPECT_TRUE(choice.is_ok()) << last_detail();
        agreed.tuning = (*choice).tuning;
        const Result<Schedule> schedule =
            build_rank(*(*choice).algorithm, spec.problem(agreed, rank, /*in_place=*/false));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        return steps_hash(*schedule);
    };
    for (Rank r = 0; r < ranks; ++r) {
        if (hash(one, r) != hash(other, r)) return false;
    }
    return true;
}

TEST(Steps, OfAlgorithmsThatAreOneAtSomeSizes) {
    EXPECT_TRUE(are_alike("gather", "flat", "knomial:ports=3", 4));
    EXPECT_FALSE(are_alike("gather", "flat", "knomial:ports=3", 6));
    EXPECT_FALSE(are_alike("gather", "flat", "binomial", 4));
    EXPECT_FALSE(are_alike("scatter", "flat", "knomial:ports=3", 4)) << "in another order";
    EXPECT_TRUE(are_alike("bcast", "binomial", "knomial", 7));
    EXPECT_FALSE(are_alike("bcast", "binomial", "knomial:ports=3", 7));
    EXPECT_FALSE(are_alike("bcast", "binomial", "binomial:throttle=1", 7));
}

// Segments as long as the message, and more.
TEST(Steps, OfAPipelineWithOneSegment) {
    EXPECT_TRUE(are_alike("bcast", "chain:segment=16K", "chain", 5, 1000));
    EXPECT_TRUE(are_alike("bcast", "chain:segment=16K", "chain", 5, 16384));
    EXPECT_FALSE(are_alike("bcast", "chain:segment=16K", "chain", 5, 16385));
    EXPECT_FALSE(are_alike("bcast", "chain:segment=16K", "chain:segment=16K,window=2", 5, 1 << 20));
    EXPECT_TRUE(are_alike("bcast", "chain", "binomial", 2));
}

TEST(Steps, JoinsDoNotCount) {
    const auto hash = [](bool joined, bool both) {
        ScheduleBuilder builder(0, 3);
        const OpId first = builder.recv(builder.scratch(8), 1);
        const OpId second = builder.recv(builder.scratch(8), 2);
        const OpId after = both ? builder.join({first, second}) : builder.join({second});
        if (joined)
            builder.send(builder.scratch(8), 1, {builder.join({after})});
        else if (both)
            builder.send(builder.scratch(8), 1, {second, first});
        else
            builder.send(builder.scratch(8), 1, {second});
        return steps_hash(*builder.seal());
    };
    EXPECT_EQ(hash(true, true), hash(false, true));
    EXPECT_EQ(hash(true, false), hash(false, false));
    EXPECT_NE(hash(true, true), hash(true, false));
}

}  // namespace weft::steps_test
