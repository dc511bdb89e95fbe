// Whatever text a reader of the simulator gets, it reads or refuses it with a sentence, and what it
// has read can be simulated. A failure prints the seed that repeats it; WEFT_SEEDS sets how many
// are tried.
#include "model/measured.h"
#include "sim/disturbance.h"
#include "sim/goal.h"
#include "sim/lgs.h"
#include "sim/loggp.h"
#include "support/cases.h"
#include "support/mutate.h"
#include "support/test.h"

namespace weft::simulate::fuzz_test {

using test::mutated;

constexpr std::uint64_t texts_of_a_seed = 100;

// Calls `body(text)` for mutated texts.
template <class Words, class Body>
void for_mutations(const std::vector<std::string>& texts, const Words& words, Body body) {
    for (std::uint64_t seed = 1; seed <= test::seeds(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng random(seed);
        for (std::uint64_t i = 0; i < texts_of_a_seed; ++i) {
            const auto at = static_cast<std::size_t>(random.below(texts.size()));
            const std::string text = mutated(texts[at], words, random);
            body(text);
            if (testing::Test::HasFailure()) {
                std::fprintf(stderr, "--- the text:\n%s\n---\n", text.c_str());
                return;
            }
        }
    }
}

// A refusal has a sentence of one line that names a part of the input.
void expect_sentence(std::initializer_list<const char*> parts) {
    const std::string sentence = last_detail();
    bool names = false;
    for (const char* part : parts) names |= sentence.find(part) != sentence.npos;
    EXPECT_TRUE(names) << sentence;
}

// Programs that end, with everything that the language has.
const std::vector<std::string> programs = {
    "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\nb: recv 8b from 1 tag 4\nb requires a\nc: calc "
    "100\nc requires b\n"
    "}\nrank 1 {\na: recv 8b from 0 tag 3\nb: send 8b to 0 tag 4\nb requires a\n}\n",
    "// comment\n/* of\ntwo lines */ num_ranks 3\r\nrank 0 {\ns: send 70000b to 1 tag 1 cpu 1 nic "
    "1\n"
    "t: send 0b to 2\nt irequires s\nx: calc 12345 cpu 2\nx requires s\n}\nrank 1 {\nr: recv "
    "70000b from -1 tag -1 cpu 1\n"
    "u: send 70000 b to 2 tag 9\nu requires r\n}\nrank 2 {\na: recv 0b from 0\nb: recv 70000b from "
    "-1 tag 9 nic 1\n}\n",
    "num_ranks 1\nrank 0 {\na: send 65536b to 0 tag -1\nb: recv 65536b from 0\nb irequires a\nc: "
    "calc 0\nc requires b\n}\n",
    "num_ranks 4\nrank 0 {\nrecv 1b from -1\nrecv 1b from -1\nrecv 1b from -1 tag 7\n}\nrank 1 "
    "{\nsend 1b to 0\n}\n"
    "rank 2 {\nsend 1b to 0 tag 7\n}\nrank 3 {\nw: calc 5\ns: send 1b to 0\ns requires w\n}\n",
};
constexpr const char* goal_words[] = {
    "num_ranks ", "rank ",   "{",          "}",           "send ", "recv ", "calc ",
    "b to ",      "b from ", " requires ", " irequires ", " tag ", " cpu ", " nic ",
    "a",          ":",       "//",         "/*",          "*/",    " -1",   "\n}\nrank 1 {\n"};

TEST(Fuzz, GoalPrograms) {
    std::uint64_t read = 0, ended = 0, by_schedules = 0, refused = 0;
    for_mutations(programs, goal_words, [&](const std::string& text) {
        const Result<GoalProgram> program = read_goal(text);
        if (!program.is_ok()) {
            ++refused;
            return expect_sentence({"line "});
        }
        ++read;
        const Result<LgsOutcome> outcome = simulate_lgs(*program, LgsParameters{});
        if (outcome.is_ok()) {
            ++ended;
            EXPECT_EQ((*outcome).end.size(), (*program).size());
        } else {
            expect_sentence({"rank ", "all operations one after the other take more"});
        }
        const Result<std::vector<Schedule>> schedules = schedules_of(*program);
        if (!schedules.is_ok()) return expect_sentence({"line ", "lines ", "rank "});
        LogGpMachine machine({});
        for (const Schedule& schedule : *schedules) machine.add(schedule);
        if (machine.run().is_ok())
            ++by_schedules;
        else
            expect_sentence({"rank ", "deadlock", "the simulated time"});
    });
    // Mutations that leave nothing to simulate, or nothing to refuse, would show little.
    EXPECT_GT(refused, read / 10);
    EXPECT_GT(read, refused / 40);
    EXPECT_GT(ended, read / 10);
    EXPECT_GT(by_schedules, read / 20);
}

TEST(Fuzz, NoiseTraces) {
    const std::vector<std::string> traces = {"0 10\n100 5.5\n# a comment\n250.125 1000\n",
                                             "5\t1\r\n\n10 1 # more\n1000000 0.001\n",
                                             "1000000000000 1\n"};
    std::uint64_t read = 0;
    for_mutations(traces, std::vector<std::string>{"#", "10 1\n", "0 0\n", "1e3"},
                  [&](const std::string& text) {
                      const Result<NoiseTrace> trace = NoiseTrace::read(text);
                      if (!trace.is_ok())
                          return expect_sentence({"line ", "no noise", "nothing but noise"});
                      ++read;
                      for (const std::int64_t phase_ps : {std::int64_t{0}, std::int64_t{12345}}) {
                          const std::int64_t end_ps = (*trace).end_ps(phase_ps, 1000, 5000);
                          EXPECT_GE(end_ps, 6000);
                      }
                  });
    EXPECT_GT(read, 0u);
}

TEST(Fuzz, MeasuredParameters) {
    const std::string value = "{\"value\": 100.5, \"low\": 90, \"high\": 110}";
    const std::string messages = "\"L_ns\": " + value + ", \"o_s_ns\": " + value +
                                 ", \"o_r_ns\": " + value + ", \"g_ns\": " + value +
                                 ", \"G_ns_per_byte\": " + value + ", \"O_ns_per_byte\": " + value +
                                 "}\n";
    const std::vector<std::string> files = {
        "{\"command\": \"weft bench loggp\"}\n{\"messages\": \"small\", \"bytes_max\": 1024, " +
        messages + "{\"messages\": \"eager\", \"bytes_max\": 65536, " + messages +
        "{\"gamma_ns_per_byte\": " + value + ", \"copy_ns_per_byte\": 0.1}\n"};
    std::uint64_t read = 0;
    for_mutations(
        files, std::vector<std::string>{"\"messages\": ", "{\"value\": ", "null", "}", "\""},
        [&](const std::string& text) {
            const Result<model::MeasuredParameters> parameters = model::read_measured(text);
            if (!parameters.is_ok()) return expect_sentence({"line ", "no parameters of messages"});
            ++read;
            for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1} << 40}) {
                const model::LogGpParameters& p = (*parameters).of(bytes);
                for (const std::int64_t time_ps :
                     {p.latency_ps, p.overhead_ps, p.gap_ps, p.byte_gap_ps, p.byte_overhead_ps,
                      p.byte_reduction_ps, p.byte_copy_ps}) {
                    EXPECT_GE(time_ps, 0);
                    EXPECT_LE(time_ps, 1'000'000'000'000);
                }
            }
        });
    EXPECT_GT(read, 0u);
}

}  // namespace weft::simulate::fuzz_test
