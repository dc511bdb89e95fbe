// Schedules in the languages of other programs, and as drawings.
#include "lab/print/dot.h"
#include "lab/print/goal.h"
#include "lab/print/svg.h"
#include "support/pattern.h"
#include "support/problems.h"
#include "support/test.h"

namespace weft::text_forms_test {

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

// Elements are closed in the opposite order of opening, attributes are quoted, and there is one root.
void expect_well_formed(const std::string& xml) {
    std::vector<std::string> open;
    std::size_t length = 0;
    for (const test::Match& tag :
         test::matches_in(xml, R"re([^<>&]*<(/?)(\w+)((?: [\w-]+="[^"<>&]*")*)(/?)>)re")) {
        ASSERT_TRUE(length == 0 || !open.empty()) << tag[0] << " behind the root";
        length += tag[0].size();
        const bool closes = !tag[1].empty();
        if (closes) {
            ASSERT_EQ(open.back(), tag[2]);
            open.pop_back();
        } else if (tag[4].empty()) {
            open.push_back(tag[2]);
        }
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(xml.substr(length), "\n");  // the tags and the text before them are all there is
}

std::int64_t count_of(const std::string& text, const std::string& part) {
    std::int64_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

const std::string arrow = "<path d=\"M";
const std::string dot = "<circle ";
const std::string dashed = "stroke-dasharray";

// The drawing without the lines of ranks, the arrow's head and the legend.
std::string marks_of(const std::string& svg) {
    const std::size_t begin = svg.find("</marker>");
    const std::size_t end = svg.rfind("</g>");
    EXPECT_LT(begin, end);
    return svg.substr(begin, end - begin);
}

TEST(Svg, EveryMessageIsAnArrow) {
    for (const test::Subject& subject : test::everything()) {
        test::Grid grid;
        grid.ranks = {1, 5, 8};
        grid.any_root = false;
        grid.bytes = {0, 40};
        grid.pipelines = {{16, 2}};
        test::for_each_problem(subject, grid, [&](const test::Trial& problem) {
            SCOPED_TRACE(test::to_text(subject, problem));
            auto schedules = test::build_all(subject, problem);
            ASSERT_TRUE(schedules.is_ok()) << last_detail();
            const int ports = static_cast<int>(problem.tuning.ports);
            const std::vector<Rank> one_node(schedules->size(), 0);
            const std::string svg =
                to_svg("a title", *schedules, *timetable(*schedules, ports), Topology(one_node));
            expect_well_formed(svg);
            const std::int64_t messages = measure(*schedules, ports)->messages;
            EXPECT_EQ(count_of(marks_of(svg), arrow), messages);
            EXPECT_LT(static_cast<std::int64_t>(svg.size()), 3000 + 100 * messages);
        });
    }
}

// Rank 0 sends to 1, which combines that with its own and sends to 2; rank 2 answers rank 0 with an
// empty message.
TEST(Svg, RoundsGoFromLeftToRight) {
    const Region block = {Buffer::recv, 0, 8};
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 3; ++r) {
        ScheduleBuilder b(r, 3);
        if (r == 0) {
            b.send(block, 1);
            b.recv({Buffer::recv, 8, 0}, 2);
        } else if (r == 1) {
            const OpId got = b.recv({Buffer::recv, 8, 8}, 0);
            b.send(block, 2, {b.reduce({Buffer::recv, 8, 8}, block, {got})});
        } else {
            const OpId got = b.recv(block, 1);
            b.send({Buffer::recv, 8, 0}, 0, {got});
        }
        schedules.push_back(*b.seal());
    }
    const std::vector<Rank> nodes = {0, 1, 1};
    const std::string svg =
        to_svg("three ranks", schedules, *timetable(schedules), Topology(nodes));
    expect_well_formed(svg);
    EXPECT_EQ(count_of(svg, ">three ranks<"), 2);
    for (const char* mark : {"M65 46L111 70\"/>", "M121 70L167 94\"/>",
                             "M177 94L223 46\" stroke-dasharray", "<circle cx=\"116\" cy=\"70\""}) {
        EXPECT_EQ(count_of(marks_of(svg), mark), 1) << mark << '\n' << svg;
    }
    EXPECT_EQ(count_of(marks_of(svg), dot), 1);
    EXPECT_EQ(count_of(marks_of(svg), dashed), 1);
    EXPECT_EQ(count_of(svg, "operands combined"), 1);
    EXPECT_EQ(count_of(svg, "empty message"), 1);
    EXPECT_EQ(count_of(svg, "fill=\"#eef1f3\""), 2) << "ranks 1 and 2 are on the second node";
}

}  // namespace weft::text_forms_test
