// Whatever its command line is, `weft simulate` ends in bounded time: with a result, or with a sentence and an exit
// status of its own. A failure prints the command; WEFT_SEEDS sets how many are tried.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/prng.h"
#include "support/cases.h"
#include "support/mutate.h"
#include "support/process.h"

namespace weft::test {
namespace {

constexpr int refused = 2;
// CLI11's statuses for options that it refuses itself.
constexpr int parse_errors_first = 100;
constexpr int parse_errors_last = 127;

using Texts = std::vector<std::string>;

struct Option {
    std::string name;
    Texts values;  // that are accepted, at least beside some others; none: it is a flag
};

const std::vector<Option> options = {
    {"-a",
     {"ring", "binomial", "dissemination", "recursive_doubling", "chain", "bruck", "linear",
      "node_leaders"}},
    {"--ranks", {"1", "2", "7", "16", "64"}},
    {"--root", {"0", "1", "5"}},
    {"--bytes", {"0", "1", "64K", "1M", "64G"}},
    {"--segment", {"1K", "16K"}},
    {"--window", {"1", "4"}},
    {"--ports", {"1", "3"}},
    {"--throttle", {}},
    {"--in-place", {}},
    {"--compat", {"lgs"}},
    {"--latency", {"0", "2500", "0.18", "1000000000"}},
    {"-o", {"0", "1500"}},
    {"-g", {"0", "1000"}},
    {"-G", {"0", "6", "0.125"}},
    {"-O", {"0", "0.5"}},
    {"-S", {"0", "1K", "64G"}},
    {"--reduction", {"0", "1"}},
    {"--copy", {"0", "1"}},
    {"--profile", {"sci-pio", "sci-dma"}},
    {"--recv-overhead", {"0", "100"}},
    {"--recv-byte-overhead", {"0", "1"}},
    {"--torus", {"2x2", "4x4", "2x3x4"}},
    {"--nodes", {"2x2", "4x2", "8x1", "1x4"}},
    {"--link-gap", {"0", "8.36"}},
    {"--hop", {"0", "70"}},
    {"--burst", {"0", "128K", "64G"}},
    {"--inside", {"300:100:100:0.1", "300:100:100:0.1:0.2"}},
    {"--cores", {"1", "2"}},
    {"--inner", {"ring"}},
    {"--compute", {"0", "1000000"}},
    {"--progress", {"host:1000", "host:1000:50", "thread:2000", "offload:100"}},
    {"--skew", {"normal:1000", "exponential:1000", "late:1000:1"}},
    {"--noise", {"1000000:5000", "1000000:5000:200"}},
    {"--noise-together", {}},
    {"--seed", {"1", "18446744073709551615"}},
    {"--absorbed", {}},
    {"--speed", {}},
    {"--format", {"text", "csv", "json", "trace"}},
};
const Texts collectives = {
    "barrier", "bcast", "reduce",    "allreduce",      "allgather",          "alltoall", "gather",
    "scatter", "scan",  "alltoallv", "reduce_scatter", "neighbor_allgather", ""};
constexpr const char* separators[] = {":", "x", "K", "host:", "late:", "-", "1e3"};

std::string quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\0') continue;  // ends an argument
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return quoted + "'";
}

class CommandLines {
  public:
    explicit CommandLines(std::uint64_t seed) : random_(seed) {}

    std::string next() {
        std::string line = quoted(one_of(collectives));
        for (std::uint64_t left = random_.below(7); left > 0; --left) {
            const Option& option = options[static_cast<std::size_t>(random_.below(options.size()))];
            line += " " + option.name;
            if (option.values.empty()) continue;
            std::string value = one_of(option.values);
            if (random_.one_in(3)) value = malformed(option, value);
            line += " " + quoted(value);
        }
        return line;
    }

  private:
    const std::string& one_of(const Texts& texts) {
        return texts[static_cast<std::size_t>(random_.below(texts.size()))];
    }
    // Where ranks are counted, changed numbers would ask for simulations that take long: these are never accepted.
    std::string malformed(const Option& option, const std::string& value) {
        const bool counts =
            option.name == "--ranks" || option.name == "--torus" || option.name == "--nodes";
        if (!counts) return mutated(value, separators, random_);
        static const Texts never = {"0",       "-1",          "99999999999", "4x", "x4", "1x",
                                    "2x2x2x2", "70000x70000", "0x4",         "a",  ""};
        return one_of(never);
    }

    Prng random_;
};

TEST(SimulateFuzz, CommandLines) {
    std::uint64_t simulated = 0;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        const std::string command =
            WEFT_BUILD_DIR "/weft simulate " + CommandLines(seed).next() + " </dev/null";
        const Finished done = run(command);
        const bool is_refused = done.status == refused || (done.status >= parse_errors_first &&
                                                           done.status < parse_errors_last);
        ASSERT_TRUE(done.status == 0 || is_refused)
            << "status " << done.status << " of seed " << seed << ": " << command << "\n"
            << done.err;
        ASSERT_TRUE(done.status == 0 || !done.err.empty()) << command;
        simulated += done.status == 0 ? 1 : 0;
    }
    EXPECT_GT(simulated, 0u);
}

// Files: programs in GOAL and traces of noise, changed.
TEST(SimulateFuzz, Files) {
    const std::string program =
        "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\nb: recv 8b from 1\nb requires a\n}\n"
        "rank 1 {\na: recv 8b from 0 tag 3\nb: send 8b to 0\nb requires a\n}\n";
    const std::string trace = "0 10\n100 5.5\n# a comment\n250.125 1000\n";
    const Folder folder;
    const std::string path = folder / "file";
    for (std::uint64_t seed = 1; seed <= (seeds() + 1) / 2; ++seed) {
        Prng random(seed);
        const bool is_program = random.one_in(2);
        std::ofstream(path, std::ios::binary)
            << mutated(is_program ? program : trace, separators, random);
        const Finished done = run(
            std::string(WEFT_BUILD_DIR "/weft simulate ") +
            (is_program ? "--goal " + path + " --compat lgs" : "allreduce --noise-trace " + path));
        ASSERT_TRUE(done.status == 0 || done.status == refused)
            << "status " << done.status << " of seed " << seed << ":\n"
            << content(path) << "\n"
            << done.err;
        if (done.status == refused) {
            ASSERT_TRUE(contains(done.err, path)) << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace weft::test
