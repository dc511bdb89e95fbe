// Schedules in the languages of other programs.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lab/print/dot.h"
#include "lab/print/goal.h"
#include "support/problems.h"

namespace weft {
namespace {

// Two blocks from rank 0 to rank 1 through scratch, then a word back.
std::vector<Schedule> two_ranks() {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 2; ++r) {
        ScheduleBuilder b(r, 2);
        const Region block = {Buffer::recv, 0, 8};
        b.repeat_begin({.total_bytes = 12, .block_bytes = 8, .window = 2});
        if (r == 0) b.send(block, 1);
        if (r == 1) b.recv(block, 0);
        OpId passed = b.repeat_end();
        if (r == 0) b.recv({Buffer::recv, 12, 4}, 1);
        if (r == 1) b.send({Buffer::recv, 0, 4}, 0, {passed});
        schedules.push_back(*b.seal());
    }
    return schedules;
}

TEST(Goal, WritesRepeatsOut) {
    EXPECT_EQ(to_goal(two_ranks()),
              "num_ranks 2\n"
              "\n"
              "rank 0 {\n"
              "l0: calc 0\n"
              "l1: calc 0\n"
              "l2: send 8b to 1 tag 0\n"
              "l3: calc 0\n"
              "l4: calc 0\n"
              "l5: send 4b to 1 tag 1\n"
              "l6: calc 0\n"
              "l7: calc 0\n"
              "l8: recv 4b from 1 tag 0\n"
              "l1 requires l0\n"
              "l4 requires l0\n"
              "l2 requires l1\n"
              "l3 requires l2\n"
              "l7 requires l3\n"
              "l5 requires l4\n"
              "l6 requires l5\n"
              "l7 requires l6\n"
              "}\n"
              "\n"
              "rank 1 {\n"
              "l0: calc 0\n"
              "l1: calc 0\n"
              "l2: recv 8b from 0 tag 0\n"
              "l3: calc 0\n"
              "l4: calc 0\n"
              "l5: recv 4b from 0 tag 1\n"
              "l6: calc 0\n"
              "l7: calc 0\n"
              "l8: send 4b to 0 tag 0\n"
              "l1 requires l0\n"
              "l4 requires l0\n"
              "l2 requires l1\n"
              "l3 requires l2\n"
              "l7 requires l3\n"
              "l5 requires l4\n"
              "l6 requires l5\n"
              "l7 requires l6\n"
              "l8 requires l7\n"
              "}\n");
}

// Follows the grammar of txt2bin, and what a send and its receive share agrees.
void parse(const std::string& goal, Rank ranks) {
    std::istringstream lines(goal);
    std::string line;
    std::getline(lines, line);
    ASSERT_EQ(line, "num_ranks " + std::to_string(ranks));
    std::multiset<std::string> sent;
    std::multiset<std::string> received;
    for (Rank r = 0; r < ranks; ++r) {
        std::getline(lines, line);
        ASSERT_EQ(line, "");
        std::getline(lines, line);
        ASSERT_EQ(line, "rank " + std::to_string(r) + " {");
        std::set<std::string> labels;
        while (std::getline(lines, line) && line != "}") {
            std::istringstream words(line);
            std::string label;
            std::string verb;
            std::string size;
            std::string word;
            std::string peer;
            std::string tag;
            words >> label >> verb;
            if (verb == "requires") {
                words >> word;
                ASSERT_TRUE(labels.contains(label) && labels.contains(word)) << line;
                continue;
            }
            ASSERT_EQ(label.back(), ':') << line;
            ASSERT_TRUE(labels.insert(label.substr(0, label.size() - 1)).second) << line;
            words >> size >> word >> peer >> word >> tag;
            const std::string own = std::to_string(r);
            if (verb == "send") sent.insert(size + ' ' + own + ' ' + peer + ' ' + tag);
            if (verb == "recv") received.insert(size + ' ' + peer + ' ' + own + ' ' + tag);
        }
        ASSERT_EQ(line, "}");
        ASSERT_FALSE(labels.empty());
    }
    ASSERT_FALSE(std::getline(lines, line));
    ASSERT_EQ(sent, received);
}

TEST(Goal, EveryAlgorithmIsWellFormed) {
    for (const test::Subject& subject : test::everything()) {
        test::Grid grid;
        grid.ranks = {1, 2, 5, 8};
        grid.any_root = false;
        grid.bytes = {40};
        grid.pipelines = {{16, 2}};
        test::for_each_problem(subject, grid, [&](const test::Trial& problem) {
            SCOPED_TRACE(test::to_text(subject, problem));
            auto schedules = test::build_all(subject, problem);
            ASSERT_TRUE(schedules.is_ok()) << last_detail();
            parse(to_goal(*schedules), problem.ranks);
        });
    }
}

TEST(Dot, RanksAreClustersAndMessagesAreDashed) {
    EXPECT_EQ(to_dot(two_ranks()),
              "digraph schedule {\n"
              "    node [shape=box fontname=monospace];\n"
              "    subgraph cluster_0 {\n"
              "        label=\"rank 0\";\n"
              "        r0_0 [label=\"0  join\" shape=plain];\n"
              "        subgraph cluster_r0_1 {\n"
              "        label=\"2 times, 2 at a time\";\n"
              "        r0_1 [label=\"1  send    recv[0..8) -> rank 1\"];\n"
              "        }\n"
              "        r0_2 [label=\"2  join\" shape=plain];\n"
              "        r0_3 [label=\"3  recv    recv[12..16) <- rank 1\"];\n"
              "    }\n"
              "    r0_0 -> r0_1;\n"
              "    r0_1 -> r0_2;\n"
              "    subgraph cluster_1 {\n"
              "        label=\"rank 1\";\n"
              "        r1_0 [label=\"0  join\" shape=plain];\n"
              "        subgraph cluster_r1_1 {\n"
              "        label=\"2 times, 2 at a time\";\n"
              "        r1_1 [label=\"1  recv    recv[0..8) <- rank 0\"];\n"
              "        }\n"
              "        r1_2 [label=\"2  join\" shape=plain];\n"
              "        r1_3 [label=\"3  send    recv[0..4) -> rank 0\"];\n"
              "    }\n"
              "    r1_2 -> r1_3;\n"
              "    r1_0 -> r1_1;\n"
              "    r1_1 -> r1_2;\n"
              "    r0_1 -> r1_1 [style=dashed constraint=false];\n"
              "    r1_3 -> r0_3 [style=dashed constraint=false];\n"
              "}\n");
}

}  // namespace
}  // namespace weft
