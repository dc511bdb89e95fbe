// `weft bench loggp` finds the parameters of the simulator, which are known, and prints those of a transport.
#include "support/pattern.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::loggp_test {

const std::string bench = WEFT_BUILD_DIR "/weft bench loggp ";

struct Known {
    double L, o, g, G, O, reduction, copy;
};

double value_of(const std::string& line, const std::string& name) {
    std::smatch found;
    const std::regex field("\"" + name + "\":\\{\"value\":([-+.e0-9]+)");
    return std::regex_search(line, found, field) ? std::stod(found[1]) : std::nan("");
}

void expect_near(const std::string& line, const std::string& name, double known) {
    EXPECT_NEAR(value_of(line, name), known, known * 0.01 + 1e-9) << name << " in " << line;
}

// A line of the file for each kind of messages, and one for the rest.
std::vector<std::string> found_in_simulator(const Known& known) {
    std::ostringstream command;
    const Folder folder;
    command << bench << "--simulated -L " << known.L << " -o " << known.o << " -g " << known.g
            << " -G " << known.G << " -O " << known.O << " --reduction " << known.reduction
            << " --copy " << known.copy << " -S 64K --json " << folder / "parameters";
    expect_success(command.str());
    std::istringstream text(content(folder / "parameters"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
}

TEST(LogGp, IsFoundInTheSimulatorThatHasIt) {
    for (const Known& known : {Known{2500, 1500, 2000, 6, 0, 0, 0},
                               {5000, 1000, 3000, 2, 0.5, 1.5, 0.25},
                               {1400, 200, 600, 3, 1, 0.1, 2},
                               {800, 90, 40, 0.08, 0.01, 0.2, 0.1}}) {
        const std::vector<std::string> lines = found_in_simulator(known);
        ASSERT_EQ(lines.size(), 5u);
        for (const int eager : {1, 2}) {
            const std::string& line = lines[static_cast<std::size_t>(eager)];
            expect_near(line, "L_ns", known.L);
            expect_near(line, "o_s_ns", known.o);
            expect_near(line, "o_r_ns", known.o);
            expect_near(line, "G_ns_per_byte", known.G);
            for (const char* name : {"O_ns_per_byte", "O_s_ns_per_byte", "O_r_ns_per_byte"})
                expect_near(line, name, known.O);
            if (known.g > known.o)
                expect_near(line, "g_ns", known.g);
            else
                EXPECT_TRUE(contains(line, "\"g\":\"not observable\"") && !contains(line, "g_ns"))
                    << "a gap below the overhead cannot be seen: " << line;
        }
        for (const int any : {1, 2, 3}) {
            const std::string& line = lines[static_cast<std::size_t>(any)];
            EXPECT_FALSE(contains(line, "\"ends\"")) << "one end after the other: " << line;
        }
        // With a question, an answer and the data.
        expect_near(lines[3], "L_ns", 3 * known.L);
        expect_near(lines[3], "G_ns_per_byte", known.G);
        expect_near(lines[4], "gamma_ns_per_byte", known.reduction);
        expect_near(lines[4], "copy_ns_per_byte", known.copy);
    }
}

TEST(LogGp, IsMeasuredBetweenTwoRanks) {
    const Finished done =
        run(bench + "--repetitions 6 --transport shm --small 1,64 --eager 1K,8K --large 64K,128K");
    ASSERT_EQ(done.status, 0) << done.err;
    for (const char* words : {"2 ranks over shm, engine manual", "small", "eager", "rendezvous",
                              "to wake a rank that sleeps"})
        EXPECT_TRUE(contains(done.out, words));
}

TEST(LogGp, RefusesWhatItCannotMeasure) {
    EXPECT_EQ(run(bench + "--ranks 3").status, 2);
    expect_refusal(bench + "--small 8", 2, "small sizes = 8; expected two or more");
    for (const auto& [options, sentence] :
         {std::pair{"--transport mpi", "transport = mpi; expected --against with it"},
          {"--against lam", "against = \"lam\"; expected some of mpich"},
          {"--against all", "--against names several MPIs; expected one"}}) {
        expect_refusal(bench + options, 2, sentence);
    }
}

// `weft bench predict`: measured times beside the simulator's with such parameters. 2o + L of an empty message, and
// one after the other.
TEST(Predict, PrintsWhatTheSimulatorSaysBesideWhatIsMeasured) {
    const Folder folder;
    const std::string model = folder / "parameters";
    ASSERT_EQ(run(bench + "--simulated -L 2500 -o 1500 -g 1000 --json " + model).status, 0);
    const std::string predict = WEFT_BUILD_DIR "/weft bench predict --bind none --model ";
    const Finished done =
        run(predict + model + " --collective ibarrier,ibcast --sizes 1,4K --repetitions 5 --json " +
            (folder / "rows"));
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(matches_in(done.out, "barrier +- +dissemination +[0-9.]+ +5[.]5 ").empty())
        << done.out;
    EXPECT_FALSE(matches_in(done.out, "bcast +4K +binomial +[0-9.]+ +30[.]1 ").empty()) << done.out;
    EXPECT_TRUE(contains(done.out, "Median of |predicted / measured - 1|:\n")) << done.out;
    EXPECT_TRUE(contains(content(folder / "rows"), "\"collective\":\"bcast\",\"bytes\":4096,"));
    EXPECT_TRUE(contains(content(folder / "rows"), "\"differs\":"));
    EXPECT_FALSE(matches_in(done.out,
                            "\n[0-9]+ of [0-9]+ cells do not repeat within 20 %; they "
                            "count[.]\n")
                     .empty())
        << done.out;
    EXPECT_FALSE(matches_in(done.out,
                            "predicted to be the fastest +1?[0-9]+[.][0-9]+ [(]median of 3 "
                            "calls; at most ")
                     .empty())
        << done.out;
    EXPECT_TRUE(contains(done.out, "by WEFT_SELECT=model         none was chosen\n"))
        << "within one node";
    for (const auto& [options, sentence] :
         {std::pair{model + " --collective igatherv", "collective = igatherv; expected one whose"},
          {model + " --ranks 3 --nodes 2",
           "3 ranks on 2 nodes; expected as many ranks on each node"},
          {model + " --ranks 2 --nodes 2 --links 2", "links = 2; expected 1"},
          {model + " --shared " + (folder / "none"), "cannot read the model"},
          std::pair{folder / "none", "cannot read the model"}}) {
        expect_refusal(predict + options, 2, sentence);
    }
}

// 2o + L + 4095 G, not G + 2O.
TEST(Predict, EndsThatWorkAlong) {
    const Folder folder;
    const std::string model = folder / "parameters";
    ASSERT_EQ(run(bench + "--simulated -L 2500 -o 1500 -g 1000 -G 6 -O 6 -S 64K --json " + model +
                  " && sed -i 's/\"G_ns/\"ends\":\"along\",\"G_ns/' " + model)
                  .status,
              0);
    const Finished done = run(WEFT_BUILD_DIR "/weft bench predict --bind none --model " + model +
                              " --collective ibcast --sizes 4K --repetitions 1");
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(matches_in(done.out, "bcast +4K +binomial +[0-9.]+ +30[.]1 ").empty()) << done.out;
}

// Four ranks: three children at a time are all of them. Noise does not decide between the two names.
TEST(Predict, AlgorithmsWithTheSameSchedulesAreMeasuredOnce) {
    const Folder folder;
    const std::string model = folder / "parameters";
    ASSERT_EQ(run(bench + "--simulated --json " + model).status, 0);
    const Finished done = run(WEFT_BUILD_DIR "/weft bench predict --bind none --ranks 4 --model " +
                              model + " --collective igather,ibcast --sizes 8 --repetitions 1 " +
                              "--json " + (folder / "rows"));
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(
        matches_in(done.out, "gather +8 +flat .*  knomial:ports=3, hierarchical\n").empty())
        << done.out;
    EXPECT_FALSE(
        matches_in(done.out, "bcast +8 +chain .*  chain:segment=16K, chain:segment=512K").empty())
        << done.out;
    EXPECT_TRUE(contains(content(folder / "rows"), "\"same_schedules\":[\"chain:segment=16K\""))
        << content(folder / "rows");
}

// Between nodes the closed forms choose, too: for a megabyte a pipeline with segments that are measured for that alone.
TEST(Predict, TheChoiceOfTheModelIsMeasured) {
    if (run(WEFT_BUILD_DIR "/weft run -n 2 --nodes 2 --rate 1gbit true").status != 0)
        GTEST_SKIP() << "no emulated nodes here";
    const Folder folder;
    const std::string model = folder / "parameters";
    ASSERT_EQ(
        run(bench + "--simulated -L 50000 -o 10000 -g 20000 -G 6 -S 64K --json " + model).status,
        0);
    const Finished done = run(
        WEFT_BUILD_DIR
        "/weft bench predict --bind none --ranks 4 --nodes 2 --rate 100gbit --model " +
        model + " --collective ibcast --sizes 8,1M --repetitions 1 --json " + (folder / "rows"));
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(
        matches_in(done.out,
                   "by WEFT_SELECT=model +[0-9.]+ [(]median of 2 calls; at most [0-9.]+[)]")
            .empty())
        << done.out;
    const std::string rows = content(folder / "rows");
    EXPECT_EQ(matches_in(rows, "\"chosen_by\":\\[[^\\]]*\"model\"").size(), 2u) << rows;
    EXPECT_EQ(matches_in(rows,
                         "\"algorithm\":\"[a-z]+:segment=64K\".*\"chosen_by\":"
                         "\\[[^\\]]*\"model\"")
                  .size(),
              1u)
        << rows;
}

// 2o + L, of which L is idle, whatever the number of ranks; and what getrusage says.
TEST(Predict, IdleSharesBesideGetrusage) {
    const Folder folder;
    const std::string model = folder / "parameters";
    ASSERT_EQ(run(bench + "--simulated -L 2000 -o 1500 -g 1000 -G 0 -S 64K --json " + model).status,
              0);
    const std::string predict =
        WEFT_BUILD_DIR "/weft bench predict --bind none --idle-share --model ";
    const Finished done =
        run(predict + model + " --ranks 3 --sizes 4K --repetitions 2 --json " + (folder / "rows"));
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(matches_in(done.out, "ibarrier +- +2 +-?[0-9.]+ +- +40[.]0\\n").empty())
        << done.out;
    EXPECT_FALSE(matches_in(done.out, "ibcast +4K +3 +-?[0-9.]+ +- +40[.]0\\n").empty())
        << done.out;
    EXPECT_FALSE(matches_in(done.out, "Verdict: .* in [0-3] of 3 calls").empty()) << done.out;
    EXPECT_TRUE(contains(content(folder / "rows"), "\"is_independent_of_ranks\":"));
    EXPECT_NE(run(predict + model + " --collective ibcast").status, 0);
}

}  // namespace weft::test::loggp_test
