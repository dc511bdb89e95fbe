// Programs in GOAL in the LogGP machine.
#include "sim/goal_schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/catalogue.h"
#include "lab/print/goal.h"
#include "schedule/unroll.h"
#include "sim/loggp.h"
#include "support/loggp.h"
#include "support/process.h"

namespace weft::simulate {
namespace {

using test::contains;

constexpr std::int64_t ns = 1000;

LogGpParameters with_calculations(LogGpParameters p = {}) {
    p.byte_copy_ps = ns;
    return p;
}

std::vector<Schedule> read(const std::string& text) {
    const Result<GoalProgram> program = read_goal(text);
    EXPECT_TRUE(program.is_ok()) << last_detail();
    Result<std::vector<Schedule>> schedules = schedules_of(*program);
    EXPECT_TRUE(schedules.is_ok()) << last_detail();
    return schedules.is_ok() ? std::move(*schedules) : std::vector<Schedule>{};
}

std::string refusal(const std::string& text) {
    const Result<GoalProgram> program = read_goal(text);
    EXPECT_TRUE(program.is_ok()) << last_detail();
    return schedules_of(*program).is_ok() ? "" : last_detail();
}

TEST(GoalSchedules, CalculationsKeepTheCpu) {
    const std::vector<Schedule> schedules = read(
        "num_ranks 2\n"
        "rank 0 {\na: calc 700\ns: send 9b to 1 tag 5\ns requires a\n}\n"
        "rank 1 {\nc: calc 100000\nr: recv 9b from 0 tag -1\nz: calc 0\nz requires r\nd: calc 10\n"
        "d requires z\n}\n");
    const LogGpOutcome outcome = test::simulate_ranks(schedules, with_calculations());
    EXPECT_EQ(outcome.end_ps, (std::vector<std::int64_t>{2200 * ns, 101'510 * ns}));
    EXPECT_EQ(outcome.cpu_ps, (std::vector<std::int64_t>{2200 * ns, 101'510 * ns}));
}

// Schedules of messages and joins alone: GOAL has no costs of others.
TEST(GoalSchedules, WhatIsWrittenIsReadAgain) {
    int compared = 0;
    for (const algorithm::Family& family : algorithm::catalogue()) {
        if (family.is_among_neighbors() || family.sizes != algorithm::Sizes::alike) continue;
        for (const algorithm::Algorithm* const algorithm : family.algorithms) {
            algorithm::Agreed agreed;
            agreed.collective = family.collective;
            agreed.ranks = 8;
            agreed.bytes = 1000;
            agreed.tuning.segment_bytes = 256;
            if (!algorithm->unmet_need(agreed).empty()) continue;
            std::vector<Schedule> schedules;
            bool is_comparable = true;
            for (Rank r = 0; r < agreed.ranks; ++r) {
                Result<Schedule> schedule =
                    build_rank(*algorithm, family.problem(agreed, r, /*in_place=*/true));
                ASSERT_TRUE(schedule.is_ok()) << last_detail();
                for (const Op& op : schedule->ops())
                    is_comparable &= op.is_message() || op.kind == OpKind::join;
                schedules.push_back(std::move(*schedule));
            }
            if (!is_comparable) continue;
            SCOPED_TRACE(std::string(family.name) + " " + algorithm->name);
            for (const std::int64_t eager : {1 << 30, 100}) {
                LogGpParameters p;
                p.eager_bytes_max = eager;
                const LogGpOutcome expected = test::simulate_ranks(schedules, p);
                const LogGpOutcome outcome =
                    test::simulate_ranks(read(to_goal(schedules)), with_calculations(p));
                EXPECT_EQ(outcome.end_ps, expected.end_ps);
                EXPECT_EQ(outcome.cpu_ps, expected.cpu_ps);
                EXPECT_EQ(outcome.events, expected.events);
            }
            ++compared;
        }
    }
    EXPECT_GT(compared, 15);
}

TEST(GoalSchedules, RefusesWhatSchedulesDoNotHave) {
    const auto alone = [](const std::string& body) {
        return refusal("num_ranks 2\nrank 0 {\n" + body + "}\nrank 1 {\n}\n");
    };
    for (const auto& [body, sentence] :
         {std::pair{"calc 1 cpu 1\n", "line 3: cpu; expected one CPU of each rank"},
          std::pair{"calc 1\nsend 1b to 1 nic 2\n", "line 4: nic; expected one NIC of each rank"},
          std::pair{"recv 1b from -1\n", "line 3: a receive from any rank"},
          std::pair{"send 1b to 0\n", "line 3: a message to the rank itself"},
          std::pair{"calc 18446744073709551615\n", "line 3: a size above 2^50"},
          std::pair{"a: calc 1\nb: calc 1\nb irequires a\n", "lines 4 and 3: irequires"},
          std::pair{"a: calc 1\na requires a\n", "rank 0: the schedule's operations wait"}}) {
        EXPECT_TRUE(contains(alone(body), sentence)) << body << last_detail();
    }
    const std::string sends = "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 7\nsend 2b to 1 tag 8\n}\n";
    EXPECT_TRUE(contains(
        refusal(sends + "rank 1 {\nrecv 2b from 0 tag 8\nrecv 1b from 0 tag 7\n}\n"),
        "line 7: 2 bytes with tag 8 from rank 0, whose message number 1 to rank 1 (line 3) has 1 "
        "with tag 7"))
        << last_detail();
    EXPECT_EQ(refusal(sends + "rank 1 {\nrecv 1b from 0 tag 7\nrecv 2b from 0 tag -1\n}\n"), "");
}

}  // namespace
}  // namespace weft::simulate
