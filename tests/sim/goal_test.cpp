// Programs in GOAL: the reader of texts, and their schedules in the LogGP machine.
#include "sim/goal.h"

#include "algorithm/catalogue.h"
#include "lab/every_rank.h"
#include "lab/print/goal.h"
#include "schedule/repeats.h"
#include "sim/loggp.h"
#include "support/loggp.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::simulate::goal_test {

using test::contains;

std::string refusal(const std::string& text) {
    return read_goal(text).is_ok() ? "" : last_detail();
}

TEST(GoalReader, ReadsEveryKindOfStatement) {
    const Result<GoalProgram> program = read_goal(
        "// a comment\n"
        "/* and one\n of two lines */ num_ranks 2\r\n"
        "\n"
        "rank 0 {\n"
        "first: send 8b to 1 tag 3 cpu 1 nic 2\n"
        "\tsend 0 b to 0\r\n"
        "// in between\n"
        "work_1: calc 500 cpu 4\n"
        "work_1 requires first\n"
        "work_1 irequires first\n"
        "}\n"
        "rank 1 { recv 65536b from -1 tag -1 nic 255\n"
        "recv 1b from 1\n"
        "}\n"
        "rank 7 is not read");
    ASSERT_TRUE(program.is_ok()) << last_detail();
    ASSERT_EQ((*program).size(), 2u);
    const GoalRank& first = (*program)[0];
    ASSERT_EQ(first.ops.size(), 3u);
    EXPECT_EQ(first.ops[0].kind, GoalKind::send);
    EXPECT_EQ(first.ops[0].size, 8u);
    EXPECT_EQ(first.ops[0].peer, 1);
    EXPECT_EQ(first.ops[0].tag, 3u);
    EXPECT_EQ(first.ops[0].cpu, 1);
    EXPECT_EQ(first.ops[0].nic, 2);
    EXPECT_EQ(first.ops[0].line, 6u);
    EXPECT_EQ(first.ops[1].size, 0u);
    EXPECT_EQ(first.ops[1].tag, 0u);
    EXPECT_EQ(first.ops[2].kind, GoalKind::calc);
    EXPECT_EQ(first.ops[2].size, 500u);
    EXPECT_EQ(first.ops[2].cpu, 4);
    ASSERT_EQ(first.orders.size(), 2u);
    EXPECT_EQ(first.orders[0].before, 0u);
    EXPECT_EQ(first.orders[0].after, 2u);
    EXPECT_FALSE(first.orders[0].by_start);
    EXPECT_TRUE(first.orders[1].by_start);
    const GoalRank& second = (*program)[1];
    ASSERT_EQ(second.ops.size(), 2u);
    EXPECT_EQ(second.ops[0].peer, any_source);
    EXPECT_EQ(second.ops[0].tag, any_tag);
    EXPECT_EQ(second.ops[0].nic, 255);
}

TEST(GoalReader, RefusesWithTheLine) {
    const std::string begin = "num_ranks 2\nrank 0 {\n";
    for (const auto& [text, sentence] : {
             std::pair<std::string, std::string>{
                 "", "line 1: 'the end of the text'; expected num_ranks"},
             {"num_ranks 0\n", "line 1: '0'; expected 1..2147483647"},
             {"num_ranks 2\nrank 1 {\n}\n", "line 2: 'rank 1'; expected rank 0"},
             {begin, "line 3: 'the end of the text'; expected a statement, or }"},
             {begin + "}\n", "line 4: 'the end of the text'; expected rank 1"},
             {begin + "jump 8\n", "line 3: expected send, recv, calc, or LABEL requires LABEL"},
             {begin + "send 8 to 1\n", "line 3: ' to 1'; expected b"},
             {begin + "send 8b to -1\n", "line 3: '-1'; expected a number"},
             {begin + "send 8b to 2\n", "line 3: '2'; expected 0..1"},
             {begin + "\nsend 8b to 1 cpu 300\n", "line 4: '300'; expected 0..255"},
             {begin + "send 8b to 1 nic 0 tag 0\n",
              "line 3: 'tag 0'; expected the end of the line"},
             {begin + "calc 5 // not here\n",
              "line 3: '// not here'; expected the end of the line"},
             {begin + "calc 5 nic 1\n", "line 3: 'nic 1'; expected the end of the line"},
             {begin + "calc 99999999999999999999\n",
              "line 3: '99999999999999999999'; expected 0..1"},
             {begin + "a: calc 5\na: calc 5\n", "line 4: label a is defined twice"},
             {begin + "a: calc 5\na requires b\n", "line 4: label b is not defined above"},
             {begin + "a: calc 5\na requires\n", "line 4: 'the end of the line'; expected a label"},
             {begin + "/* for ever", "line 3: 'the end of the text'; expected a statement, or }"},
         }) {
        EXPECT_TRUE(contains(refusal(text), sentence)) << text;
    }
}

// Cut anywhere, or with a byte changed, a text is read or refused.
TEST(GoalReader, SurvivesAnyText) {
    const std::string text =
        "num_ranks 1\n/* c */ rank 0 {\na: send 8b to 0 tag -1\nb: recv 8 b from -1\nb irequires "
        "a\n}\n";
    ASSERT_TRUE(read_goal(text).is_ok()) << last_detail();
    for (std::size_t i = 0; i < text.size(); ++i) {
        (void)read_goal(text.substr(0, i));
        for (const char c : {'\0', '\n', '9', '{', '}', '-', ':', '/', '*', 'x', '\xff'}) {
            std::string changed = text;
            changed[i] = c;
            (void)read_goal(changed);
        }
    }
}

TEST(GoalReader, ReadsWhatSchedulesAreWrittenAs) {
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec("allreduce");
    const algorithm::GlobalArgs agreed{.collective = spec->collective, .ranks = 6, .bytes = 64};
    const EveryRank every_rank(*spec, agreed, /*in_place=*/false);
    for (const algorithm::Algorithm* known : spec->algorithms) {
        if (!known->unmet_need(agreed).empty()) continue;
        const auto schedules = build_all(*known, every_rank.problems());
        ASSERT_TRUE(schedules.is_ok()) << known->name;
        const Result<GoalProgram> program = read_goal(to_goal(*schedules));
        ASSERT_TRUE(program.is_ok()) << known->name << ": " << last_detail();
        EXPECT_EQ((*program).size(), 6u);
    }
}

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

std::string refusal_of_schedules(const std::string& text) {
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
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        if (spec.is_among_neighbors() || spec.sizes != algorithm::Sizes::uniform) continue;
        for (const algorithm::Algorithm* const algorithm : spec.algorithms) {
            algorithm::GlobalArgs agreed;
            agreed.collective = spec.collective;
            agreed.ranks = 8;
            agreed.bytes = 1000;
            agreed.tuning.segment_bytes = 256;
            if (!algorithm->unmet_need(agreed).empty()) continue;
            std::vector<Schedule> schedules;
            bool is_comparable = true;
            for (Rank r = 0; r < agreed.ranks; ++r) {
                Result<Schedule> schedule =
                    build_rank(*algorithm, spec.problem(agreed, r, /*in_place=*/true));
                ASSERT_TRUE(schedule.is_ok()) << last_detail();
                for (const Op& op : schedule->ops())
                    is_comparable &= op.is_message() || op.kind == OpKind::join;
                schedules.push_back(std::move(*schedule));
            }
            if (!is_comparable) continue;
            SCOPED_TRACE(std::string(spec.name) + " " + algorithm->name);
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
        return refusal_of_schedules("num_ranks 2\nrank 0 {\n" + body + "}\nrank 1 {\n}\n");
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
        refusal_of_schedules(sends + "rank 1 {\nrecv 2b from 0 tag 8\nrecv 1b from 0 tag 7\n}\n"),
        "line 7: 2 bytes with tag 8 from rank 0, whose message number 1 to rank 1 (line 3) has 1 "
        "with tag 7"))
        << last_detail();
    EXPECT_EQ(
        refusal_of_schedules(sends + "rank 1 {\nrecv 1b from 0 tag 7\nrecv 2b from 0 tag -1\n}\n"),
        "");
}

}  // namespace weft::simulate::goal_test
