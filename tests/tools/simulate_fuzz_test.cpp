// Whatever `weft simulate` is called with, it simulates or refuses with a sentence; of a failure the command is printed.
// WEFT_SEEDS sets how many commands are tried.
#include "algorithm/catalogue.h"
#include "sim/profile.h"
#include "support/cases.h"
#include "support/mutate.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::simulate_fuzz_test {

// A command for a seed: mostly one that is simulated, some with a word that is not expected.
class Command {
  public:
    Command(std::uint64_t seed, const Folder& folder) : random_(seed), folder_(folder) {
        if (one_in(6))
            add_program();
        else
            add_collective();
        if (one_in(12)) {
            std::string& word = words_[random_.below(words_.size())];
            word = mutated(word, std::vector<std::string>{"-n", "--bytes", "x", ":"}, random_);
            std::erase_if(word, [](char c) { return c == '\0' || c == '\''; });
        }
    }

    std::string text() const {
        std::string text = WEFT_BUILD_DIR "/weft simulate";
        for (const std::string& word : words_) text += " '" + word + "'";
        return text;
    }

  private:
    bool one_in(std::uint64_t n) { return random_.one_in(n); }
    std::string of(const std::vector<std::string>& choices) {
        return choices[random_.below(choices.size())];
    }
    std::string below(std::uint64_t bound) { return std::to_string(random_.below(bound)); }
    // In ns.
    std::string time() {
        if (one_in(3)) return below(100'000);
        if (one_in(30)) return of({"", "-1", "nan", "1.", "0.0001", "1000000001", "4294967296"});
        return of({"0", "0.001", "0.5", "1", "6", "2500", "999999999.999", "1000000000"});
    }
    std::string bytes() {
        if (one_in(30)) return of({"65G", "-1", "8E", "K", "9223372036854775807"});
        return one_in(2) ? below(5000) : of({"0", "1", "4K", "64K", "1M", "4M"});
    }
    std::string count(std::uint64_t most) {
        return one_in(40) ? of({"0", "-1", "4294967296"}) : std::to_string(1 + random_.below(most));
    }
    std::string sizes(std::uint64_t dimensions) {
        std::string text = count(5);
        while (--dimensions > 0) text += "x" + count(5);
        return one_in(40) ? of({"46341x46341", "65536x65536x65536", "2x", "1048576x2"}) : text;
    }
    std::string file(const char* name, const std::string& text) {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }

    void add(const char* option, const std::string& value) {
        words_.insert(words_.end(), {option, value});
    }
    void maybe(std::uint64_t n, const char* option, const std::string& value) {
        if (one_in(n)) add(option, value);
    }

    void add_program() {
        const std::string program =
            "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3 cpu 1\nb: recv 70000b from -1\nb "
            "requires a\n}\n"
            "rank 1 {\na: recv 8b from 0 tag -1\nb: send 70000b to 0\nb irequires a\nc: calc "
            "5\n}\n";
        add("--goal", file("goal", mutated(program,
                                           std::vector<std::string>{" tag ", " requires ", "calc ",
                                                                    "{", "}", " nic 9"},
                                           random_)));
        if (one_in(2)) add("--compat", "lgs");
        for (const char* option : {"-L", "-o", "-g", "-G", "-O"}) maybe(4, option, below(5000));
        maybe(4, "-S", bytes());
        maybe(3, "--format", of({"text", "csv", "json"}));
    }

    void add_collective() {
        std::vector<std::string> collectives, algorithms, profiles;
        for (const algorithm::CollectiveSpec& spec : algorithm::catalogue())
            collectives.push_back(spec.name);
        const std::string collective = of(collectives);
        for (const algorithm::Algorithm* known : algorithm::find_spec(collective)->algorithms)
            algorithms.push_back(known->name);
        for (const simulate::NetworkProfile& profile : simulate::profiles())
            profiles.push_back(profile.name);
        words_.push_back(collective);
        maybe(2, "-a", of(algorithms));
        maybe(2, "--bytes", bytes());
        maybe(5, "--segment", of({"1K", "64K", "1M", "64G"}));
        maybe(8, "--window", count(70));
        maybe(10, "--ports", count(8));
        if (one_in(5)) words_.push_back("--in-place");
        for (const char* option : {"-L", "-o", "-g", "-G", "-O", "--reduction", "--copy",
                                   "--recv-overhead", "--recv-byte-overhead"})
            maybe(7, option, time());
        maybe(6, "-S", bytes());
        maybe(8, "--profile", of(profiles));
        add_network();
        add_disturbance();
        maybe(3, "--format", of({"text", "csv", "json", "trace"}));
    }

    void add_network() {
        switch (random_.below(3)) {
            case 0:
                if (one_in(5)) {
                    add("--torus", "2x3");
                    add("--nodes", of({"6x2", "6x1", "5x2"}));
                    break;
                }
                add("--torus", sizes(2 + random_.below(2)));
                maybe(3, "--hop", time());
                break;
            case 1:
                add("--nodes", sizes(2));
                maybe(3, "--burst", bytes());
                maybe(3, "--inside", time() + ":" + time() + ":" + time() + ":" + time());
                maybe(3, "--cores", count(8));
                break;
            default: add("-n", count(40)); return;
        }
        maybe(3, "--link-gap", time());
    }

    void add_disturbance() {
        maybe(6, "--skew", of({"normal:", "exponential:", "late:"}) + time());
        if (one_in(4)) {
            maybe(2, "--compute", time());
            maybe(2, "--progress",
                  of({"host:", "thread:", "offload:", "host:5:"}) + time() +
                      (one_in(4) ? ":shared" : ""));
        }
        switch (random_.below(4)) {
            case 1: add("--noise", time() + ":" + time() + (one_in(2) ? ":" + time() : "")); break;
            case 2: {
                const std::string trace = of({"0 10\n100 5.5\n# a comment\n250.125 1000\n",
                                              "0.001 1000000000000\n", "1000000000000 1\n"});
                add("--noise-trace",
                    file("trace", mutated(trace, std::vector<std::string>{"#", " "}, random_)));
                break;
            }
            default: return;
        }
        if (one_in(3)) words_.emplace_back("--absorbed");
    }

    Prng random_;
    const Folder& folder_;
    std::vector<std::string> words_;
};

TEST(Fuzz, SimulateCommands) {
    const Folder folder;
    std::uint64_t simulated = 0, refused = 0;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        const std::string command = Command(seed, folder).text();
        const Finished done = run(command);
        const bool is_unknown_option = done.status > 100 && done.status < 128;  // by CLI11
        if (done.status == 0) {
            ++simulated;
            EXPECT_FALSE(done.out.empty()) << command;
        } else if (done.status == 2 || is_unknown_option) {
            ++refused;
            EXPECT_EQ(done.out, "") << command;
            EXPECT_FALSE(done.err.empty()) << command;
            EXPECT_TRUE(is_unknown_option || done.err.starts_with("weft simulate: ")) << done.err;
        } else {
            ADD_FAILURE() << "seed " << seed << ", status " << done.status << ": " << command
                          << "\n"
                          << done.err;
        }
    }
    // Otherwise this would show little.
    EXPECT_GT(simulated, seeds() / 10);
    EXPECT_GT(refused, seeds() / 20);
}

}  // namespace weft::test::simulate_fuzz_test
