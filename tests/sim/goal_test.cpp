// The reader of GOAL texts.
#include "sim/goal.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "algorithm/catalogue.h"
#include "lab/every_rank.h"
#include "lab/print/goal.h"
#include "support/process.h"

namespace weft::simulate {
namespace {

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
    const algorithm::Family* const family = algorithm::find_family("allreduce");
    const algorithm::Agreed agreed{.collective = family->collective, .ranks = 6, .bytes = 64};
    const EveryRank every_rank(*family, agreed, /*in_place=*/false);
    for (const algorithm::Algorithm* known : family->algorithms) {
        if (!known->unmet_need(agreed).empty()) continue;
        const auto schedules = build_all(*known, every_rank.problems());
        ASSERT_TRUE(schedules.is_ok()) << known->name;
        const Result<GoalProgram> program = read_goal(to_goal(*schedules));
        ASSERT_TRUE(program.is_ok()) << known->name << ": " << last_detail();
        EXPECT_EQ((*program).size(), 6u);
    }
}

}  // namespace
}  // namespace weft::simulate
