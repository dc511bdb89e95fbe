// `weft simulate` as a user calls it.
#include "algorithm/catalogue.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::simulate_test {

Finished simulate(const std::string& arguments) {
    return run(WEFT_BUILD_DIR "/weft simulate " + arguments);
}

// A ping-pong of one byte.
class SimulateGoal : public testing::Test {
  protected:
    SimulateGoal() {
        std::ofstream(path_) << "num_ranks 2\n"
                                "rank 0 {\nsend 1b to 1 tag 1\nrecv 1b from 1 tag 2\n}\n"
                                "rank 1 {\nr: recv 1b from 0 tag 1\ns: send 1b to 0 tag 2\n"
                                "s requires r\n}\n";
    }

    Finished simulated(const std::string& arguments) {
        return simulate("--goal '" + path_ + "' --compat lgs " + arguments);
    }

    const Folder folder_;
    const std::string path_ = folder_ / "ping_pong.goal";
    const std::string head_ =
        path_ + "\nL 2500, o 1500, g 1000, G 6, O 0, S 65535\nevents           6\n";
};

TEST_F(SimulateGoal, PrintsText) {
    const Finished done = expect_success(simulated(""));
    EXPECT_EQ(done.out, head_ +
                            "rank 0           11000 ns\n"
                            "rank 1           7000 ns\n"
                            "end              11000 ns, rank 0\n");
}

TEST_F(SimulateGoal, PrintsCsvAndJson) {
    EXPECT_EQ(simulated("-L 5000 -o1000 --format csv").out, "rank,end_ns\n0,14000\n1,8000\n");
    EXPECT_EQ(
        simulated("--format json --latency 5000").out,
        "{\"title\": \"" + path_ +
            "\",\n \"parameters\": {\"L\": 5000, \"o\": 1500, \"g\": 1000, \"G\": 6, \"O\": 0, "
            "\"S\": 65535},\n \"events\": 6,\n \"end_ns\": 16000,\n \"rank_end_ns\": [16000, "
            "9500]}\n");
}

// By the rules of LogGP: with late starts, for one.
TEST_F(SimulateGoal, WithoutLogGopsim) {
    const std::string call = "--goal '" + path_ + "' ";
    const Finished done = expect_success(simulate(call));
    EXPECT_EQ(done.out, head_ +
                            "rank 0           11000 ns, CPU busy 3000 ns\n"
                            "rank 1           7000 ns, CPU busy 3000 ns\n"
                            "end              11000 ns, rank 0\n"
                            "CPU busy         at most 3000 ns, rank 0; on average 3000 ns\n");
    EXPECT_TRUE(contains(simulate(call + "--skew late:10000:1").out,
                         "\nend              17000 ns, rank 0\n"));
    EXPECT_TRUE(contains(simulate(call + "--nodes 1x2 --inside 100:50:0:0").out,
                         "\nend              400 ns, rank 0\n"));
    EXPECT_TRUE(contains(simulate(call + "--format trace").out, "\"traceEvents\""));
    for (const auto& [more, sentence] :
         {std::pair{"--copy 1", "--reduction and --copy with --goal"},
          std::pair{"-n 3", "has 2 ranks; expected 3 (--ranks)"},
          std::pair{"--skew late:10:2", "skew = late:10:2; expected"},
          std::pair{"--torus 2x2", "torus = 2x2 has 4 ranks; expected 2"}}) {
        expect_refusal(simulate(call + more), 2, sentence);
    }
    std::ofstream(path_) << "num_ranks 1\nrank 0 {\na: calc 5\nb: calc 5 cpu 1\n}\n";
    expect_refusal(simulate(call), 2, path_ + ", line 4: cpu; expected one CPU of each rank");
}

TEST_F(SimulateGoal, ReadsTheStandardInput) {
    const Finished done =
        run("cat '" + path_ +
            "' | " WEFT_BUILD_DIR "/weft simulate --goal - --compat lgs --format csv");
    EXPECT_EQ(done.out, "rank,end_ns\n0,11000\n1,7000\n") << done.err;
}

TEST_F(SimulateGoal, RefusesWithASentence) {
    Finished done = expect_refusal(simulate("--goal /none --compat lgs"), 2,
                                   "weft simulate: cannot read /none");
    std::ofstream(path_) << "num_ranks 2\nrank 0 {\nsend 1b to 7\n}\n";
    done = simulated("");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "ping_pong.goal, line 3: '7'; expected 0..1")) << done.err;
    std::ofstream(path_) << "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\n}\n";
    done = simulated("");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(
        contains(done.err, "ping_pong.goal: rank 1 has no receive for a message from rank 0"))
        << done.err;
    EXPECT_NE(simulated("-L -1").status, 0);
    // Both wait for each other, by the rules of either.
    std::ofstream(path_) << "num_ranks 2\n"
                            "rank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\n"
                            "rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n";
    done = simulated("");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "rank 0 gets no message for its receive of line 3")) << done.err;
    done = simulate("--goal '" + path_ + "'");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "deadlock: rank 0 waits for ever")) << done.err;
}

TEST_F(SimulateGoal, SimulatesWhatWeftScheduleWrites) {
    const Finished done =
        run(WEFT_BUILD_DIR "/weft schedule barrier -n 16 --format goal | " WEFT_BUILD_DIR
                           "/weft simulate --goal - --compat lgs -G 0");
    EXPECT_TRUE(contains(done.out, "\nend              22000 ns, rank 0\n"))
        << done.out << done.err;
}

TEST(SimulateCollective, PrintsText) {
    const Finished done =
        expect_success(simulate("allreduce -a recursive_doubling -n 4 --bytes 1K --in-place "
                                "--reduction 0.25 -G 0.18"));
    EXPECT_EQ(done.out,
              "allreduce recursive_doubling, 4 ranks, 1024 bytes\n"
              "L 2500, o 1500, g 1000, G 0.18, O 0, reduction 0.25, copy 0, S 65535\n"
              "events           32\n"
              "rank 0           11880.28 ns, CPU busy 6512 ns\n"
              "rank 1           11880.28 ns, CPU busy 6512 ns\n"
              "rank 2           11880.28 ns, CPU busy 6512 ns\n"
              "rank 3           11880.28 ns, CPU busy 6512 ns\n"
              "end              11880.28 ns, rank 0\n"
              "CPU busy         at most 6512 ns, rank 0; on average 6512 ns\n"
              "closed form      11880.28 ns: CPU 6512 ns, network 5368.28 ns\n"
              "lower bound      8500 ns\n"
              "of the optimum   at least 71.5 %\n");
}

TEST(SimulateCollective, PrintsCsvAndJson) {
    const std::string call = "bcast -a binomial -n 2 --bytes 1 --format ";
    EXPECT_EQ(simulate(call + "csv").out, "rank,end_ns,cpu_ns\n0,1500,1500\n1,5500,1500\n");
    EXPECT_EQ(
        simulate(call + "json").out,
        "{\"title\": \"bcast binomial, 2 ranks, 1 bytes\",\n \"parameters\": {\"L\": 2500, "
        "\"o\": 1500, \"g\": 1000, \"G\": 6, \"O\": 0, \"reduction\": 0, \"copy\": 0, "
        "\"S\": 65535},\n \"events\": 3,\n \"end_ns\": 5500,\n \"rank_end_ns\": [1500, 5500],\n "
        "\"rank_cpu_ns\": [1500, 1500],\n \"closed_form_ns\": 5500, \"closed_form_cpu_ns\": "
        "3000,\n "
        "\"lower_bound_ns\": 5500,\n \"optimality_percent\": 100.0}\n");
}

TEST(SimulateCollective, WritesATrace) {
    const Finished done =
        expect_success(simulate("bcast -a binomial -n 2 --bytes 1 --format trace"));
    EXPECT_TRUE(done.out.starts_with("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"))
        << done.out;
    for (const char* line :
         {"{\"ph\": \"X\", \"pid\": 0, \"tid\": 0, \"name\": \"send\", \"ts\": 0, \"dur\": 1.5}",
          "{\"ph\": \"X\", \"pid\": 0, \"tid\": 1, \"name\": \"send\", \"ts\": 1.5, \"dur\": 1}",
          "{\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"name\": \"receive\", \"ts\": 4, \"dur\": 1}",
          "{\"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"name\": \"receive\", \"ts\": 4, \"dur\": 1.5}",
          "\"name\": \"process_name\", \"args\": {\"name\": \"rank 1\"}}\n]}\n"})
        EXPECT_TRUE(contains(done.out, line));
    if (run("python3 --version").status != 0) return;
    EXPECT_EQ(run("echo '" + done.out + "' | python3 -m json.tool > /dev/null").status, 0);
}

// Everybody waits for the late root, of whose lateness nothing is absorbed; a late leaf does no harm.
TEST(SimulateCollective, Disturbed) {
    const std::string call = "bcast -a binomial -n 4 --bytes 1 --absorbed --skew late:2000:";
    const Finished root = simulate(call + "0");
    EXPECT_TRUE(contains(root.out,
                         "\ndisturbed        at most 2000 ns, rank 0\n"
                         "undisturbed end  11000 ns\n"
                         "absorbed         0.0 % of the most disturbed rank's\n"))
        << root.out << root.err;
    const Finished leaf = simulate(call + "3 --format json");
    EXPECT_TRUE(
        contains(leaf.out,
                 "\"rank_disturbed_ns\": [0, 0, 0, 2000],\n \"undisturbed_end_ns\": 11000,\n "
                 "\"absorbed_percent\": 100.0,\n \"lower_bound_ns\": "))
        << leaf.out << leaf.err;
    const std::string noisy =
        "barrier -n 100 --skew normal:1000 --noise 10000:500:20.5 --format csv --seed ";
    const Finished first = simulate(noisy + "5");
    EXPECT_TRUE(first.out.starts_with("rank,end_ns,cpu_ns,disturbed_ns\n0,"))
        << first.out << first.err;
    EXPECT_EQ(simulate(noisy + "5").out, first.out);
    EXPECT_NE(simulate(noisy + "6").out, first.out);
}

// Rank 0 sends to 2 and then to 1, 2 to 3, each in 1500 ns. The first noise takes 1000 ns from rank 0's second send,
// which only rank 1 waits for; the second one 500 ns from rank 2's, which the end waits for.
TEST(SimulateCollective, DisturbedByATrace) {
    const Folder folder;
    const std::string path = folder / "noise";
    std::ofstream(path) << "# begin duration\n2000 1000\n6000 500\n";
    const std::string call =
        "bcast -a binomial -n 4 --bytes 1 --absorbed --noise-together "
        "--noise-trace " +
        path;
    const Finished text = simulate(call);
    EXPECT_TRUE(contains(text.out,
                         "\nend              11500 ns, rank 3\n"
                         "CPU busy         at most 3000 ns, rank 0; on average 2250 ns\n"
                         "disturbed        at most 1000 ns, rank 0\n"
                         "undisturbed end  11000 ns\n"
                         "absorbed         50.0 % of the most disturbed rank's\n"))
        << text.out << text.err;
    const Finished json = simulate(call + " --format json");
    EXPECT_TRUE(
        contains(json.out, "\"end_ns\": 11500,\n \"rank_end_ns\": [4000, 8000, 7500, 11500]"))
        << json.out;
    EXPECT_TRUE(contains(json.out, "\"absorbed_percent\": 50.0,\n \"lower_bound_ns\": "))
        << json.out;
    std::ofstream(path) << "2000 1000\n2500 1\n";
    expect_refusal(simulate(call), 2, path + ": line 2 begins before the end of the noise");
}

TEST(SimulateCollective, WithAProfile) {
    const std::string call = "bcast -a binomial -n 2 --bytes 8 --profile sci-dma ";
    const Finished done = simulate(call + "--torus 1x2");
    EXPECT_TRUE(
        contains(done.out,
                 "bcast binomial, 2 ranks, 8 bytes, sci-dma, torus 1x2\n"
                 "L 29288.763, o 5000, g 0, G 4.891, O 0, reduction 1, copy 1, o of receives "
                 "100, O of receives 1, link 4.891, hop 70, S 68719476736\n"))
        << done.out << done.err;
    EXPECT_TRUE(contains(done.out, "\nend              34500 ns, rank 1\n")) << done.out;
    EXPECT_TRUE(
        contains(simulate(call + "-L 0 -o 7 --recv-byte-overhead 0").out,
                 "L 0, o 7, g 0, G 4.891, O 0, reduction 1, copy 1, o of receives 100, O of "
                 "receives 0, "));
    EXPECT_TRUE(contains(simulate("bcast -a binomial -n 2 --bytes 1 --recv-overhead 50").out,
                         "\nend              4050 ns, rank 1\n"));
}

// A row's value in an experiment's JSON.
std::string value_in(const std::string& row, const std::string& column) {
    const std::string key = "\"" + column + "\": ";
    const std::size_t at = row.find(key);
    if (at == row.npos) return "";
    const std::size_t from = at + key.size();
    return row.substr(from, row.find_first_of(",}", from) - from);
}

void expect_share(const std::string& row, const std::string& column) {
    const std::string share = value_in(row, column);
    ASSERT_NE(share, "") << row;
    EXPECT_GT(std::stod(share), 0) << row;
    EXPECT_LE(std::stod(share), 100) << row;
}

// The rows of an experiment that has been told to be small. Its JSON is checked.
std::vector<std::string> rows_of(const std::string& arguments) {
    const Finished done = expect_success(simulate("experiment " + arguments + " --format json"));
    if (run("python3 --version").status == 0) {
        const Folder folder;
        std::ofstream(folder / "json") << done.out;
        EXPECT_EQ(run("python3 -m json.tool " + (folder / "json") + " /dev/null").status, 0);
    }
    EXPECT_EQ(simulate("experiment " + arguments).status, 0);
    std::vector<std::string> rows;
    std::istringstream stream(done.out);
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with("  {")) rows.push_back(line);
    }
    return rows;
}

// Of alltoall on a torus of 4x4, the sums of loads are known; moving hides more than storing.
TEST(SimulateExperiment, Sci) {
    double moved = 0;
    double stored = 0;
    double woken = 100;
    double switched = 0;
    int sums = 0;
    for (const std::string& row : rows_of("sci -n 16 --bytes 64K")) {
        const std::string algorithm = value_in(row, "algorithm");
        if (value_in(row, "collective") != "\"alltoall\"") continue;
        if (const std::string sum = value_in(row, "sum"); !sum.empty()) {
            if (algorithm == "\"pairwise\"") {
                EXPECT_EQ(sum, "30");
            } else if (algorithm == "\"shift\"") {
                EXPECT_EQ(sum, "37");
            }
            ++sums;
        } else if (algorithm == "\"pairwise\"" && value_in(row, "progress") == "\"manual\"") {
            const double overlap = std::stod(value_in(row, "overlap_percent"));
            const std::string transfer = value_in(row, "transfer");
            if (transfer == "\"sci-dma\"") moved = overlap;
            if (transfer == "\"sci-pio\"") stored = overlap;
            if (transfer == "\"supersockets\"") woken = overlap;
            if (transfer == "\"infiniband\"") {
                switched = overlap;
                EXPECT_EQ(value_in(row, "by_rounds_us"), "null") << "it has no torus";
            }
        }
    }
    EXPECT_EQ(sums, 5);
    EXPECT_GT(moved, stored);
    EXPECT_LT(woken, 10) << "a CPU that stores hides nothing, whoever wakes the receiver";
    EXPECT_GT(switched, woken);
    EXPECT_GT(moved, switched) << "as in the paper's section 4.1";
    for (const std::string& row : rows_of("sci -n 16 --bytes 4K")) {
        if (value_in(row, "sum").empty()) expect_share(row, "of_the_optimum_percent");
    }
}

// Ranks that share a node send twice as much over its links.
TEST(SimulateExperiment, SciWithTwoRanksANode) {
    int rows = 0;
    for (const std::string& row : rows_of("sci -n 32 --bytes 64")) {
        const bool is_shared = value_in(row, "ranks_per_node") == "2";
        const std::string rounds = value_in(row, "by_rounds_us");
        if (!rounds.empty()) {
            const bool has_torus = value_in(row, "transfer") != "\"infiniband\"";
            EXPECT_EQ(rounds == "null", is_shared || !has_torus) << row;
        } else if (is_shared && value_in(row, "algorithm") == "\"pairwise\"") {
            EXPECT_EQ(value_in(row, "sum"), "120") << "30 steps, each with twice the load of 4x4";
        }
        rows += is_shared ? 1 : 0;
    }
    EXPECT_EQ(rows, 10 + 10 * 2 * 4) << "two ways of progress over four networks";
}

// With a card, more of the same collective is hidden than with a host that looks as often.
TEST(SimulateExperiment, CoreDirect) {
    int rows = 0;
    for (const std::string& row : rows_of("core-direct -n 32 --bytes 1K")) {
        expect_share(row, "host_of_the_optimum_percent");
        expect_share(row, "card_of_the_optimum_percent");
        if (value_in(row, "layout") != "\"flat\"") continue;
        EXPECT_GT(std::stod(value_in(row, "overlap_percent")),
                  std::stod(value_in(row, "host_overlap_percent")))
            << row;
        ++rows;
    }
    EXPECT_GE(rows, 3);
}

// A card hides all of a collective that combines nothing, and a host that never looks next to nothing.
TEST(SimulateExperiment, Scale) {
    int rows = 0;
    for (const std::string& row : rows_of("scale -n 256")) {
        const std::string progress = value_in(row, "progress");
        if (progress.empty()) {
            EXPECT_GE(std::stod(value_in(row, "noisy_us")), std::stod(value_in(row, "quiet_us")));
            expect_share(row, "of_the_optimum_percent");
            continue;
        }
        const double overlap = std::stod(value_in(row, "overlap_percent"));
        const double noisy_overlap = std::stod(value_in(row, "noisy_overlap_percent"));
        EXPECT_LE(noisy_overlap, 100) << row;
        // Hosts combine.
        if (progress == "\"offload\"" && value_in(row, "collective") != "\"allreduce\"") {
            EXPECT_GT(overlap, 99) << row;
            EXPECT_GT(noisy_overlap, 25) << "no noise on the card: " << row;
        } else if (progress == "\"never\"") {
            EXPECT_LT(overlap, 20) << row;
        }
        ++rows;
    }
    EXPECT_EQ(rows, 2 * 3 * 5);
}

// No time is below the bound.
TEST(SimulateExperiment, Best) {
    int rows = 0;
    for (const std::string& row : rows_of("best -n 16 --bytes 8,64K")) {
        expect_share(row, "of_the_optimum_percent");
        EXPECT_GE(std::stod(value_in(row, "time_us")), std::stod(value_in(row, "bound_us")));
        ++rows;
    }
    EXPECT_EQ(rows, 2 * 2 * 2);
}

TEST(SimulateExperiment, RefusesWithASentence) {
    expect_refusal(simulate("experiment best --bytes 1T"), 2, "bytes = 1T; expected sizes");
    EXPECT_NE(simulate("experiment none").status, 0);
}

// Two messages on a link in each of four rounds.
TEST(SimulateCollective, OnATorus) {
    const std::string call = "allreduce -a recursive_doubling --in-place --bytes 1001 --torus 4x4 ";
    const Finished done = simulate(call);
    EXPECT_TRUE(
        contains(done.out,
                 "allreduce recursive_doubling, 16 ranks, 1001 bytes, torus 4x4\n"
                 "L 2500, o 1500, g 1000, G 6, O 0, reduction 0, copy 0, link 6, hop 0, S 65535\n"))
        << done.out << done.err;
    EXPECT_TRUE(contains(done.out, "\nend              70000 ns, rank 0\n")) << done.out;
    EXPECT_TRUE(contains(done.out, "\nby rounds        70000 ns\n")) << done.out;
    // 1,876 bytes through a node's interface: one as a message of its own, each other takes 5.976 ns.
    EXPECT_TRUE(
        contains(done.out, "\nlower bound      16705 ns\nof the optimum   at least 23.9 %\n"))
        << done.out;
    EXPECT_TRUE(
        contains(simulate(call + "--link-gap 3").out, "\nend              46000 ns, rank 0\n"));
    // Two ranks of a node: an exchange within it, which takes no time here, then both with the other node.
    EXPECT_TRUE(contains(simulate("allreduce -a recursive_doubling --in-place --bytes 1001 --torus "
                                  "1x2 --nodes 2x2 --inside 0:0:0:0")
                             .out,
                         "\nend              17500 ns, rank 0\n"));
    EXPECT_EQ(simulate("alltoall -a torus --torus 3x4 --hop 70").status, 0);
}

// Each rank sends 1,001 bytes to the other node: 1000 * 8 ns for each of the two, of which the burst saves 500.
TEST(SimulateCollective, OnNodes) {
    const std::string call =
        "allreduce -a recursive_doubling --in-place --bytes 1001 --nodes 2x2 --link-gap 8 -G 1 "
        "--inside 300:100:100:0.5 ";
    const Finished done = simulate(call);
    EXPECT_TRUE(contains(done.out,
                         "allreduce recursive_doubling, 4 ranks, 1001 bytes, nodes 2x2\n"
                         "L 2500, o 1500, g 1000, G 1, O 0, reduction 0, copy 0, link 8, inside L "
                         "300, inside o 100, inside g 100, inside G 0.5, inside O 0, S 65535\n"))
        << done.out << done.err;
    EXPECT_TRUE(contains(done.out, "\nend              22500 ns, rank 0\n")) << done.out;
    EXPECT_TRUE(contains(done.out, "\nof the optimum   at least ")) << done.out;
    EXPECT_TRUE(
        contains(simulate(call + "--burst 500").out, "\nend              18500 ns, rank 0"));
    for (const char* algorithm : {"hierarchical", "hierarchical --inner ring"})
        EXPECT_EQ(simulate(std::string("allgather --nodes 4x2 -a ") + algorithm).status, 0);
    EXPECT_TRUE(contains(simulate("barrier --nodes 4x2 --cores 2 --burst 128K").out,
                         ", nodes 4x2, bursts of 131072 bytes, 2 cores\n"));
}

TEST(SimulateCollective, BesideAComputation) {
    const std::string call = "barrier -a dissemination -n 16 --compute 100000 ";
    EXPECT_TRUE(contains(simulate(call).out, "\nend              119500 ns, rank 0\n"));
    const Finished host = simulate(call + "--progress host:10000");
    EXPECT_TRUE(contains(host.out,
                         "barrier dissemination, 16 ranks, 64 bytes, host:10000\n"
                         "L 2500, o 1500, g 1000, G 6, O 0, reduction 0, copy 0, compute 100000, "
                         "S 65535\n"))
        << host.out << host.err;
    EXPECT_TRUE(contains(host.out, "\nend              112000 ns, rank 0\n"));
    EXPECT_TRUE(contains(
        host.out, "\nrank 0           112000 ns, CPU busy 12000 ns, waits 0 ns, overlap 45.5 %\n"))
        << host.out;
    EXPECT_TRUE(contains(host.out,
                         "\nwait             at most 0 ns, rank 0; on average 0 ns\n"
                         "overlap          45.5 %\n"
                         "lower bound      100000 ns\n"
                         "of the optimum   at least 89.3 %\n"))
        << host.out;
    for (const char* engine : {"thread:500", "offload:100"}) {
        EXPECT_TRUE(contains(simulate(call + "--progress " + engine).out,
                             "\nend              100000 ns, rank 0\n"));
    }
    EXPECT_TRUE(contains(simulate(call + "--progress offload:100:50").out,
                         "\nend              100400 ns, rank 0\n"));
    const Finished shared = simulate(call + "--progress thread:500:shared --format csv");
    EXPECT_TRUE(
        shared.out.starts_with("rank,end_ns,cpu_ns,wait_ns,overlap_percent\n"
                               "0,114000,14000,0,41.7\n"))
        << shared.out << shared.err;
    // Of the way of 2500, 1000 is computed.
    const Finished json = simulate("barrier -a dissemination -n 2 --compute 1000 --format json");
    EXPECT_TRUE(contains(json.out,
                         "\"rank_wait_ns\": [1500, 1500],\n \"rank_overlap_percent\": [100.0, "
                         "100.0],\n \"overlap_percent\": 100.0,\n \"lower_bound_ns\": 5500,"))
        << json.out << json.err;
}

// What the card leaves to the host waits for the host's looks; a card that also handles the messages
// within a node leaves less.
TEST(SimulateCollective, BesideAComputationThatLooksForWhatTheCardLeaves) {
    const auto hidden = [](const std::string& progress) {
        const Finished done = simulate(
            "allgather -a hierarchical --inner ring --nodes 4x4 --inside 200:100:0:0:0.25 "
            "--compute 30000 --progress " +
            progress);
        const std::size_t at = done.out.find("\noverlap");
        EXPECT_NE(at, std::string::npos) << done.out << done.err;
        return at == std::string::npos ? 0 : std::stod(done.out.substr(at + 17));
    };
    const double at_the_end = hidden("offload:100:100");
    const double by_looks = hidden("offload:100:100:1000:100");
    EXPECT_GT(by_looks, at_the_end + 10);
    EXPECT_GT(hidden("offload:100:100:1000:100 --card-inside"), by_looks + 10);
}

TEST(SimulateCollective, WithSeveralLeaders) {
    const std::string call = "allgather -a multi_leader --nodes 4x4 --leaders ";
    EXPECT_EQ(simulate(call + "1").status, 0);
    EXPECT_NE(simulate(call + "1").out, simulate(call + "4").out);
}

// Two ranks compute on one core, and their threads work there.
TEST(SimulateCollective, BesideComputationsOnOneCore) {
    const Finished done = simulate(
        "bcast -a binomial --nodes 2x1 --cores 1 --compute 100000 --progress thread:500:shared");
    // A send, a wake-up and a receive beside 200000.
    EXPECT_TRUE(contains(done.out, "\nend              203500 ns, rank ")) << done.out << done.err;
}

// Of every 10 us 2 are taken away: from a card's collective none, from what is computed some.
TEST(SimulateCollective, BesideAComputationWithNoise) {
    const std::string call =
        "barrier -a dissemination -n 16 --noise 10000:2000 --noise-together --progress ";
    EXPECT_TRUE(contains(simulate(call + "offload:100").out, "\nend              10800 ns"));
    for (const char* engine : {"host:200", "thread:0:shared"}) {
        const Finished done = simulate(call + engine + std::string(" --compute 100000"));
        EXPECT_TRUE(contains(done.out, "\nend              140000 ns, rank 0\n"))
            << done.out << done.err;
    }
}

TEST(SimulateCollective, SaysItsSpeed) {
    const Finished done = simulate("barrier -n 64 --speed --format csv");
    EXPECT_TRUE(done.out.starts_with("rank,end_ns")) << done.out;
    EXPECT_TRUE(contains(done.err, " million events a second, ")) << done.err;
    EXPECT_TRUE(contains(done.err, " bytes a rank, peak memory of the command ")) << done.err;
}

TEST(SimulateCollective, AllOfThem) {
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        if (spec.is_among_neighbors()) continue;
        for (const char* rules : {"", " --compat lgs", " -S 10"}) {
            const Finished done =
                expect_success(simulate(spec.name + std::string(" -n 8") + rules));
            EXPECT_TRUE(contains(done.out, "\nend  ")) << done.out;
        }
    }
}

TEST(SimulateCollective, ByTheRulesOfLogGopsim) {
    const std::string call = "allgather -a ring -n 8 --bytes 1 --format csv";
    EXPECT_TRUE(contains(simulate(call + " --compat lgs").out, "\n0,38500\n"));
    EXPECT_TRUE(contains(simulate(call).out, "\n0,38500,21000\n"));
}

TEST(SimulateCollective, TakesTheAlgorithmThatTheLibraryWouldTakeBetweenNodes) {
    const Finished done = expect_success(WEFT_BUILD_DIR "/weft simulate bcast -n 8 --bytes 4K");
    EXPECT_TRUE(contains(done.err, "weft simulate: bcast by knomial:ports=3, as the library"));
    EXPECT_TRUE(contains(done.out, "bcast knomial, 8 ranks"));
    const Finished named =
        run(WEFT_BUILD_DIR "/weft simulate bcast -a knomial --ports 3 -n 8 --bytes 4K");
    EXPECT_EQ(done.out, named.out);
}

TEST(SimulateCollective, RefusesWithASentence) {
    for (const auto& [call, sentence] :
         {std::pair{"", "expected a collective, or --goal"},
          std::pair{"bcast --goal -", "--goal with a collective"},
          std::pair{"bcast -a none", "algorithm = none; expected one of: "},
          std::pair{"bcast --root 4", "root = 4; expected 0..3"},
          std::pair{"allgather -a standard_exchange -n 6",
                    "needs a number of ranks that is a power"},
          std::pair{"allgather -a ring --ports 2", "--ports with ring; it has no ports"},
          std::pair{"allgather -a ring --throttle", "--throttle with ring; it has no throttle"},
          std::pair{"neighbor_alltoall", "neighbor_alltoall is among neighbors"},
          std::pair{"gatherv -n 5000", "5000 ranks with gatherv; expected at most 4096"},
          std::pair{"bcast --torus 2x4 -n 9", "torus = 2x4 has 8 ranks; expected 9 (--ranks)"},
          std::pair{"bcast --torus 8", "torus = 8; expected two or three sizes, such as 4x4"},
          std::pair{"bcast --torus 65x64", "of at most 4096 ranks"},
          std::pair{"bcast --hop 5", "--hop without --torus"},
          std::pair{"bcast --link-gap 5", "--link-gap without --torus and --nodes"},
          std::pair{"bcast --burst 5", "--burst, --inside and --cores without --nodes"},
          std::pair{"bcast --nodes 4", "nodes = 4; expected nodes x ranks of each, such as 4x2"},
          std::pair{"bcast --nodes 4x2 -n 9", "nodes = 4x2 have 8 ranks; expected 9 (--ranks)"},
          std::pair{"bcast --nodes 1025x1024", "of at most 1048576 ranks"},
          std::pair{"bcast --nodes 2x2 --torus 2x2",
                    "nodes = 2x2; expected 4 nodes, as torus = 2x2"},
          std::pair{"bcast --nodes 4x2 --torus 2x2 --burst 4K", "--burst with --torus"},
          std::pair{"bcast --nodes 2x2 --inside 5", "inside = 5; expected L:o:g:G or L:o:g:G:O"},
          std::pair{"bcast --nodes 2x2 --inside 1:2:3:4:5:6", "inside = 1:2:3:4:5:6; expected"},
          std::pair{"bcast --nodes 2x2 --cores 2 --compute 5", "--cores with --compute"},
          std::pair{"bcast --nodes 2x2 --cores 2 --progress thread:5:shared --noise 9:1",
                    "--cores with --compute or --progress; expected --progress thread:WAKE:shared, "
                    "without noise"},
          std::pair{"bcast --nodes 4x2 --torus 2x2 --cores 2", "--cores with --torus"},
          std::pair{"bcast --nodes 2x2 --compat lgs", "--nodes with --compat lgs"},
          std::pair{"bcast -a hierarchical --nodes 4097x1", "4097 ranks with hierarchical"},
          std::pair{"bcast -a binomial --inner chain", "--inner with binomial; it has no inner"},
          std::pair{"allgather -a hierarchical --nodes 2x2 --inner none",
                    "inner = none; expected one"},
          std::pair{"bcast --torus 2x2 --compat lgs", "--torus with --compat lgs"},
          std::pair{"bcast --progress card:5", "progress = card:5; expected host:POLL"},
          std::pair{"bcast --progress offload:1:2:3:4:5",
                    "progress = offload:1:2:3:4:5; expected host:POLL"},
          std::pair{"bcast --nodes 2x2 --card-inside",
                    "--card-inside without --nodes and --progress offload"},
          std::pair{"bcast -a chain --leaders 2", "--leaders with chain; it has no choice"},
          std::pair{"bcast --progress host", "progress = host; expected host:POLL"},
          std::pair{"bcast --progress thread:1:2", "progress = thread:1:2; expected host:POLL"},
          std::pair{"bcast --compute 5 --compat lgs", "--compute and --progress with --compat lgs"},
          std::pair{"bcast --noise 9:1 --noise-trace x", "--noise with --noise-trace"},
          std::pair{"bcast --noise-together", "--noise-together without --noise and --noise-trace"},
          std::pair{"bcast --noise-trace /none", "cannot read /none"},
          std::pair{"bcast --noise-trace /dev/null", "/dev/null: no noise in it"},
          std::pair{"bcast --profile sci-pio --compat lgs",
                    "--recv-byte-overhead with --compat lgs"},
          std::pair{"bcast --profile sci-pio --progress offload:5",
                    "--profile sci-pio with --progress offload; its CPU sends"},
          std::pair{"bcast --skew late:100:4", "skew = late:100:4; expected normal:NS, "},
          std::pair{"bcast --skew normal:1:2", "skew = normal:1:2; expected normal:NS, "},
          std::pair{"bcast --skew some:1", "skew = some:1; expected normal:NS, "},
          std::pair{"bcast --noise 100:60:40", "noise = 100:60:40; expected PERIOD:NOISE"},
          std::pair{"bcast --noise 100", "noise = 100; expected PERIOD:NOISE"},
          std::pair{"bcast --noise 9:1 --compat lgs", "--skew and --noise with --compat lgs"},
          std::pair{"bcast -a chain --bytes 64G --segment 1", "a rank has 137438953474 operations"},
          std::pair{"bcast -a chain --bytes 64G --segment 1 --compat lgs",
                    "--compat with more than 16777216 operations"},
          std::pair{"bcast -a binomial --bytes 64G -S 64G -G 1000000000 --compat lgs",
                    "take more than 2^63 ns"},
          std::pair{"bcast -a binomial --bytes 64G -S 64G -G 1000000000",
                    "the simulated time is above 50 days"},
          std::pair{"bcast --compat lgs -L 0.5", "--compat lgs with a part of a ns"},
          std::pair{"bcast --compat lgs --format trace", "--format trace with --compat lgs"}}) {
        expect_refusal(simulate(call), 2, sentence);
    }
    for (const char* time :
         {"", ".", "1.", ".5", "1.2345", "-1", "1e3", "99999999999", "1000000001"})
        EXPECT_NE(simulate(std::string("bcast -L '") + time + "'").status, 0) << time;
    EXPECT_EQ(simulate("bcast -G 1000000000").status, 0);
    EXPECT_EQ(simulate("bcast -G 2000 --compat lgs").status, 0);
    EXPECT_EQ(simulate("bcast -a binomial -G 1000 -L 1000000000 --bytes 64G -S 64G").status, 0);
}

// 60 random programs; in a run of all tests 1,000.
class SimulateRandomGoal : public testing::TestWithParam<int> {};

TEST_P(SimulateRandomGoal, AgreesWithAnInterpreter) {
    if (run("python3 --version").status != 0) GTEST_SKIP() << "no python3";
    const int programs = runs_all() ? 200 : 12;
    expect_success("python3 -B " WEFT_SOURCE_DIR "/tests/sim/compare_goal.py " WEFT_BUILD_DIR
                   "/weft " +
                   std::to_string(programs) + " " + std::to_string(1 + GetParam() * programs));
}

INSTANTIATE_TEST_SUITE_P(Fifth, SimulateRandomGoal, testing::Range(0, 5));

}  // namespace weft::test::simulate_test
