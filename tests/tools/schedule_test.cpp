// `weft schedule` as a user calls it.
#include "algorithm/catalogue.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::schedule_test {

Finished schedule(const std::string& arguments) {
    return run(WEFT_BUILD_DIR "/weft schedule " + arguments);
}

TEST(ScheduleCommand, ProvesACallOfAllRanks) {
    for (const char* call : {"bcast --algorithm chain --ranks 13 --root 5 --bytes 1M",
                             "allgather --algorithm standard_exchange --ranks 9 --ports 2",
                             "allreduce --algorithm recursive_doubling --ranks 7 --ordered",
                             "alltoall --algorithm bruck --ranks 6 --in-place"}) {
        SCOPED_TRACE(call);
        Finished done = expect_success(schedule(std::string(call) + " --check"));
        EXPECT_TRUE(contains(done.out, "proved ")) << done.out;
        EXPECT_TRUE(contains(done.out, "no deadlock, no hazard, result as promised")) << done.out;
    }
}

TEST(ScheduleCommand, ShowsEveryCollective) {
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        const std::string call = spec.name + std::string(" --ranks 4");
        const Finished shown = expect_success(schedule(call));
        EXPECT_TRUE(contains(shown.out, "rounds")) << shown.out;
        for (const algorithm::Algorithm* known : spec.algorithms) {
            const std::string one =
                call + " --torus 2x2 --nodes 2 --check --algorithm " + known->name;
            const Finished proved = expect_success(schedule(one));
            EXPECT_TRUE(contains(proved.out, "proved ")) << one << ": " << proved.out;
        }
    }
}

// Without --algorithm: by the table, not by the order of the list.
TEST(ScheduleCommand, TakesTheAlgorithmThatTheLibraryWouldTake) {
    const auto chosen = [](const std::string& settings, const std::string& call) {
        const Finished done =
            expect_success(settings + " " WEFT_BUILD_DIR "/weft schedule " + call);
        const auto named = matches_in(done.err, "^weft schedule: \\w+ by ([^ ]+), as the library");
        return named.size() == 1 ? named[0][1] : "none: " + done.err;
    };
    EXPECT_EQ(chosen("", "alltoall -n 8 --bytes 64"), "bruck");
    EXPECT_EQ(chosen("", "alltoall -n 8 --bytes 1M"), "shift");
    EXPECT_EQ(chosen("", "bcast -n 8 --bytes 1M"), "chain");
    EXPECT_EQ(chosen("", "bcast -n 8 --nodes 8 --bytes 4K"), "knomial:ports=3");
    EXPECT_EQ(chosen("", "bcast -n 8 --nodes 8 --bytes 1M"), "chain:segment=16384");
    EXPECT_EQ(chosen("WEFT_ALGORITHM=bcast=circulant", "bcast -n 8"), "circulant");
    EXPECT_TRUE(contains(schedule("alltoall -n 8 --bytes 1M").out, "alltoall shift, 8 ranks"));
    EXPECT_EQ(schedule("alltoall -a flat").err, "") << "it was named";
    expect_refusal("WEFT_ALGORITHM=bcast=none " WEFT_BUILD_DIR "/weft schedule bcast", 2,
                   "WEFT_ALGORITHM=bcast");
}

TEST(ScheduleCommand, RefusesWhatAnAlgorithmCannotDoWithASentence) {
    Finished done =
        expect_refusal(schedule("allgather --algorithm standard_exchange --ranks 10"), 2,
                       "standard_exchange needs a number of ranks that is a power of 2; this "
                       "call has 10");
    done = schedule("allgather -a ring --ports 2");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "--ports with ring; it has no ports"));
    done = schedule("gather --algorithm binary --ranks 6 --root 9");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "root = 9; expected 0..5")) << done.err;
    done = schedule("allreduce --algorithm ring --ranks 4 --ordered");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "ring needs")) << done.err;
}

// No algorithm cuts an element that is reduced.
TEST(ScheduleCommand, CutsReductionsBetweenElementsOfTheType) {
    const std::string ring = "allreduce -a ring -n 2 --rank 0 --bytes 48 --type ";
    for (const auto& [type, first] :
         {std::pair{"float16", "[0..24)"}, std::pair{"bfloat16", "[0..24)"},
          std::pair{"complex64", "[0..24)"}, std::pair{"complex128", "[0..32)"}}) {
        const Finished done = expect_success(schedule(ring + type));
        EXPECT_TRUE(contains(done.out, std::string("send") + first)) << type << ": " << done.out;
        EXPECT_EQ(schedule(ring + type + " --check").status, 0);
    }
    expect_refusal(schedule("allreduce --bytes 20 --type complex64"), 2,
                   "bytes = 20; expected a multiple of 8 (--type complex64)");
    EXPECT_NE(schedule("allreduce --type float8").status, 0);
}

TEST(ScheduleCommand, RefusesSizesThatOverflow) {
    for (std::string option : {"--bytes", "--segment"}) {
        for (std::string size : {"99999999999999999999", "9223372036854775807", "9999999999999999G",
                                 "68719476737", "65G", "-1", "1.5", "many"}) {
            Finished done = schedule("gather " + option + "=" + size);
            EXPECT_NE(done.status, 0) << option << ' ' << size;
            EXPECT_TRUE(
                contains(done.err, "'" + size + "'; expected bytes, such as 64, 4K or 1M, at "))
                << done.err;
        }
        EXPECT_EQ(schedule("bcast " + option + " 4kb").status, 0);
    }
    EXPECT_EQ(schedule("bcast --bytes 0").status, 0);
    EXPECT_NE(schedule("bcast --segment 0").status, 0);
}

// UBSan sees sums that overflow.
TEST(ScheduleCommand, CountsTheLargestSizes) {
    for (std::string call : {"alltoall -a bruck", "allgather -a bruck", "gather", "scatter"}) {
        Finished done = expect_success(schedule(call + " --bytes 64G --ranks 512 --rank 0"));
        EXPECT_TRUE(matches_in(done.out, "[ (\\[]-[0-9]").empty()) << done.out;
    }
}

TEST(ScheduleCommand, SaysThatOutputIsLost) {
    for (std::string call :
         {"--list", "bcast", "bcast --ranks 64", "bcast --format svg", "bcast --format dot",
          "bcast --format tasks", "bcast --check", "--help"}) {
        expect_refusal(schedule(call + " > /dev/full"), 1, "weft: output is lost: ");
    }
}

TEST(ScheduleCommand, CountsRoundsWithTheAlgorithmsPorts) {
    const Finished one = schedule("allgather -a standard_exchange -n 16 --rank 0");
    EXPECT_TRUE(contains(one.out, "rounds           4 (claimed 4)"));
    const Finished three = schedule("allgather -a standard_exchange -n 16 --rank 0 --ports 3");
    EXPECT_TRUE(contains(three.out, "rounds           2 (claimed 2)"));
    EXPECT_TRUE(contains(three.out, "at most 6 by one rank (claimed 6)"));
}

// The grammar of LogGOPSim's txt2bin, line by line; labels are defined before they are used.
TEST(ScheduleCommand, WritesGoal) {
    Finished done = schedule("allreduce --algorithm recursive_doubling --ranks 5 --format goal");
    ASSERT_EQ(done.status, 0) << done.err;
    std::istringstream lines(done.out);
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(line, "num_ranks 5");
    const char* const operation =
        R"(l\d+: (calc \d+|send \d+b to \d+ tag \d+|recv \d+b from \d+ tag \d+))";
    std::string defined;
    int ranks = 0;
    int dependencies = 0;
    while (std::getline(lines, line)) {
        if (line.empty() || line == "}") continue;
        if (line == "rank " + std::to_string(ranks) + " {") {
            ++ranks;
            defined = " ";
        } else if (!match_of(line, operation).empty()) {
            defined += line.substr(0, line.find(':')) + " ";
        } else if (const Match parts = match_of(line, R"((l\d+) requires (l\d+))");
                   !parts.empty()) {
            ++dependencies;
            for (std::size_t i : {1, 2}) {
                EXPECT_TRUE(contains(defined, " " + parts[i] + " ")) << line;
            }
        } else {
            ADD_FAILURE() << "no line of GOAL: " << line;
        }
    }
    EXPECT_EQ(ranks, 5);
    EXPECT_GT(dependencies, 10);
}

// Table II of the CORE-Direct paper, with the rank's own clear-to-send, and its lists.
TEST(ScheduleCommand, WritesTasks) {
    const std::string call = "allgather --algorithm standard_exchange --ranks 4 --rank 0";
    Finished done = expect_success(schedule(call + " --format tasks"));
    EXPECT_TRUE(contains(done.out,
                         "Rank    0\n"
                         "Step 0  recv from 1\n"
                         "        send to 1\n"
                         "        wait (1 recv CQ) from 1\n"
                         "Step 1  recv from 2\n"))
        << done.out;
    EXPECT_TRUE(contains(done.out,
                         "list 2, to rank 2\n"
                         "    wait 0\n"))
        << done.out;
    done = schedule(call + " --format tasks --protocol rendezvous");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(contains(done.out,
                         "Step 0  send CTS to 1\n"
                         "        recv CTS from 1\n"
                         "        wait (1 CTS CQ) from 1\n"
                         "        recv from 1\n"))
        << done.out;
    EXPECT_EQ(schedule(call + " --protocol rendezvous").status, 2);
}

// Section VI.E of the same paper: 7 connections of a rank of 128 with standard exchange, 14 with Bruck
// (here one less, where two partners are the same), 2 with the ring.
TEST(ScheduleCommand, CountsWhatTasksNeed) {
    for (auto [algorithm, most] :
         {std::pair{"standard_exchange", 7}, std::pair{"bruck", 13}, std::pair{"ring", 2}}) {
        const Finished done =
            schedule(std::string("allgather -n 128 --format tasks -a ") + algorithm);
        const std::string expected = "connections      " + std::to_string(64 * most) +
                                     "; at most " + std::to_string(most) + " on one rank\n";
        EXPECT_TRUE(contains(done.out, expected)) << expected;
        EXPECT_TRUE(contains(done.out, "\ntasks  "));
        EXPECT_TRUE(contains(done.out, "\nmemory  "));
    }
}

TEST(ScheduleCommand, SaysWhatAnAlgorithmNeedsAndFollows) {
    const std::string power = "\nneeds            a number of ranks that is a power of ";
    Finished done = schedule("reduce_scatter_block -a recursive_halving");
    EXPECT_TRUE(contains(done.out, power + "2, and an operation that commutes\nrounds "))
        << done.out;
    done = schedule("allgather -a standard_exchange");
    EXPECT_TRUE(contains(done.out, power + "ports + 1\nfollows          ports\nrounds "))
        << done.out;
    done = schedule("bcast -a chain");
    EXPECT_TRUE(contains(done.out, "\n\nfollows          segment, window\nrounds ")) << done.out;
    done = schedule("bcast -a hierarchical");
    EXPECT_TRUE(contains(done.out, "\n\nfollows          nodes\nrounds ")) << done.out;
    done = schedule("bcast -a binomial");
    EXPECT_TRUE(contains(done.out, "\n\nfollows          throttle\nrounds ")) << done.out;
    done = schedule("allgather -a multi_leader --nodes 2 --leaders 2 --inner ring");
    EXPECT_TRUE(
        contains(done.out, "\n\nfollows          inner, leaders, nodes\nrounds           3\n"))
        << done.out;
    done = schedule("gather -a flat");
    EXPECT_FALSE(contains(done.out, "needs") || contains(done.out, "follows")) << done.out;
}

// Figure 2 of the SCI paper: no link of a 4x4 torus has two messages in a step of the gather.
TEST(ScheduleCommand, PrintsTheLoadsOfLinks) {
    const Finished done = expect_success(schedule("gather -a torus --torus 4x4 --root 15 --links"));
    EXPECT_TRUE(contains(done.out,
                         "step 3: 1 message, at most 1 on a link\n"
                         "   0.. 3  x . . . .  y . . . .\n"
                         "   4.. 7  x . 1 1 .  y . . . 1\n"))
        << done.out;
    EXPECT_TRUE(contains(done.out, "links            at most 1 message on one in a step\n"));
    const Finished by_rank = schedule("gather -a binomial --torus 4x4 --root 15 --links");
    EXPECT_TRUE(contains(by_rank.out, "links            at most 3 messages on one in a step\n"))
        << by_rank.out;
    const Finished ring = schedule("allgather -a ring --torus 2x2x2 --links");
    EXPECT_TRUE(contains(ring.out,
                         "step 0: 8 messages, at most 1 on a link\n"
                         "  0..1  x 1 1  y 1 .  z 1 .\n"
                         "  2..3  x 1 1  y 1 .  z . .\n"))
        << ring.out;
}

// A binomial gather whose root is the last of the path.
TEST(ScheduleCommand, PlacesRanksAlongAPathOfTheTorus) {
    const std::string call = "gather -a binomial --torus 4x4 --root 15 --links";
    const Finished path = schedule(call + " --order path");
    EXPECT_TRUE(contains(path.out, "links            at most 1 message on one in a step\n"))
        << path.out;
    EXPECT_FALSE(contains(schedule(call).out, "at most 1 message on one in a step\n"));
    // From each rank to the next it is one link: along the row, or down.
    const Finished ring = schedule("allgather -a ring --torus 4x4 --links --order path");
    EXPECT_TRUE(contains(ring.out, "   4.. 7  x 1 1 . 1  y . . 1 .\n")) << ring.out;
}

TEST(ScheduleCommand, CountsBytesBetweenNodes) {
    // Three blocks of 64 bytes from each of two nodes to the other.
    const Finished done = schedule("allgather -a hierarchical -n 6 --nodes 2 --rank 0");
    EXPECT_TRUE(contains(done.out, "\nbetween nodes    384 bytes (claimed 384)\n")) << done.out;
    const Finished flat = schedule("allgather -a linear -n 6 --nodes 2 --rank 0");
    EXPECT_TRUE(contains(flat.out, "\nbetween nodes    1152 bytes\n")) << flat.out;
    EXPECT_FALSE(contains(schedule("allgather -n 6 --rank 0").out, "between nodes"));
}

TEST(ScheduleCommand, DeclaresATorus) {
    EXPECT_EQ(schedule("alltoall -a torus --torus 3x4 --check").status, 0);
    const Finished cube = schedule("gather -a torus -n 8 --torus 2x2x2 --rank 0");
    EXPECT_TRUE(contains(
        cube.out, "needs            a torus (WEFT_TOPOLOGY)\nrounds           3 (claimed 3)\n"))
        << cube.out;
    for (auto [call, sentence] :
         {std::pair{"-a torus -n 8", "torus needs a torus (WEFT_TOPOLOGY) of the communicator's"},
          std::pair{"--torus 2x4 -n 9", "torus = 2x4 has 8 ranks; expected 9 (--ranks)"},
          std::pair{"--torus 8", "torus = 8; expected two or three sizes, such as 4x4"},
          std::pair{"--torus 2x2x2x2", "torus = 2x2x2x2; expected two or three"},
          std::pair{"--torus 65x64", "of at most 4096 ranks"},
          std::pair{"--links", "--links without --torus"},
          std::pair{"--torus 2x2 --order path", "--order without --links"},
          std::pair{"-a torus --torus 2x2 --links --order path", "--order with torus"},
          std::pair{"--links --torus 2x2 --rank 1", "--rank with --links"}}) {
        expect_refusal(schedule(std::string("gather ") + call), 2, sentence);
    }
}

TEST(ScheduleCommand, WritesSvg) {
    const Finished done =
        expect_success(schedule("bcast --algorithm hierarchical --ranks 6 --nodes 2 --format svg"));
    EXPECT_EQ(done.out.rfind("<svg ", 0), 0u) << done.out;
    EXPECT_TRUE(contains(done.out, ">bcast hierarchical, 6 ranks, root 0<")) << done.out;
    expect_refusal(schedule("bcast --format svg --rank 1"), 2, "a drawing shows all ranks");
}

TEST(ScheduleCommand, WritesDot) {
    Finished done = expect_success(schedule("bcast --algorithm binomial --ranks 4 --format dot"));
    EXPECT_EQ(done.out.rfind("digraph", 0), 0u) << done.out;
}

}  // namespace weft::test::schedule_test
