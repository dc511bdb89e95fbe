// What every application has: options, the exchange with the other ranks, repetitions that are
// timed, checked and written as samples, and a search for good settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/exchange.h"

namespace CLI {
class App;
}

namespace apps {

// Seeded numbers (splitmix64); the same on every machine.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // 0 <= x < 1

  private:
    std::uint64_t state_;
};

// An option that tune() may choose, by its name: "--block".
struct Tunable {
    const char* name;
    int* value;
    std::vector<int> candidates;
};

class App {
  public:
    App(const char* name, const char* about);
    ~App();

    // Options of the application, with the default that `value` has. Before parse().
    void option(const char* name, int& value, const char* help);
    void option(const char* name, double& value, const char* help);
    void option(const char* name, std::string& value, std::vector<std::string> choices,
                const char* help);
    void flag(const char* name, bool& value, const char* help);
    // Reads the command line and joins the job. --help and what cannot be read end the process.
    void parse(int argc, char** argv);

    // After parse().
    Exchange& exchange() { return *exchange_; }
    std::uint64_t seed() const { return seed_; }
    // How often a computation calls test() (--tests): a library without a thread progresses there.
    int tests() const { return tests_; }

    // Finds fast values of these options, and of --tests unless the calls are blocking: one option
    // after the other, twice, for at most --tune-seconds. All ranks choose the same. Rank 0 prints what it tries, and at the end
    // the options chosen.
    void tune(std::vector<Tunable> tunables, const std::function<void()>& body);

    // Runs `body` on all ranks, --warm-ups times and then --repetitions times; `check`, which is not
    // timed, after each. It calls fail() if the result is wrong. `bytes`: the size of the problem,
    // for samples.
    void measure(std::size_t bytes, const std::function<void()>& body,
                 const std::function<void()>& check);

    // What follows is this phase, until the next one begins or the repetition ends; --profile splits
    // the time by phases. All ranks have the same phases. `hiding`: whether communication may be in
    // flight behind its computation.
    enum Hiding { hides_nothing, hides };
    void phase(const char* name, Hiding hiding);

    // A result that is printed and written beside the times: iterations, a residual, ...
    void note(const std::string& name, double value);

    // Of a run that takes long, on rank 0: how far it is, at most once a second.
    void progress(double share, const char* doing);

  private:
    struct Times {
        double total, work, start, tests, wait;
    };
    using Repetitions = std::vector<std::vector<Times>>;  // [repetition][rank]
    struct Moment {
        double at_s = 0;
        CallTimes calls;
    };
    struct Phase {
        const char* name;
        Hiding hiding;
        Times mine;  // of this rank
        std::vector<Times> of_ranks;
    };
    Times timed(const std::function<void()>& body);
    Moment moment() const;
    static Times between(const Moment& begin, const Moment& end);
    void begin_phase(const char* name, Hiding hiding, const Moment& now);
    void end_phase(const Moment& now);
    std::vector<Phase> all_phases();
    void print(const Repetitions& repetitions) const;
    void print_phases() const;
    void write_samples(std::size_t bytes, const Repetitions& repetitions) const;

    std::string name_;
    std::unique_ptr<CLI::App> options_;
    std::unique_ptr<Exchange> exchange_;
    std::string backend_ = "weft", mpi_ = "mpich", json_, command_;
    std::uint64_t seed_ = 1;
    int repetitions_ = 1, warm_ups_ = 1, tests_ = 0, spoiled_ = 0;
    std::vector<std::pair<std::string, double>> notes_;
    double began_s_ = 0, told_s_ = 0, tune_seconds_ = 0;
    bool is_profiled_ = false;
    std::vector<Phase> phases_;  // of the repetition that runs
    Phase* phase_ = nullptr;     // the present one
    Moment phase_began_;
    std::vector<std::vector<Phase>> profiles_;  // [repetition][phase]
};

}  // namespace apps
