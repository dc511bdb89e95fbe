// A repetition times the operation with a wait right after its start, and with a sleep in between.
// The wait has to do what the sleep left undone.
#include "bench/background.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/contestants.h"
#include "bench/join.h"
#include "bench/launch.h"
#include "bench/links.h"
#include "bench/sizes.h"
#include "bench/sleep.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr double bar = 1.15;

struct Chosen {
    const Collective* collective = nullptr;
    std::string algorithm;

    // "WEFT_ALGORITHM=bcast=chain", of ibcast
    std::string setting() const {
        return "WEFT_ALGORITHM=" + std::string(collective->name + 1) + "=" + algorithm;
    }
};

Result<Chosen> parse_case(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos || colon + 1 == text.size()) {
        return failure(
            WEFT_REFUSED_ARGUMENT,
            "case = \"%s\"; expected a collective and its algorithm, such as ibcast:chain",
            text.c_str());
    }
    Result<const Collective*> collective = find_collective(text.substr(0, colon));
    if (!collective.is_ok()) return collective.status();
    return Chosen{*collective, text.substr(colon + 1)};
}

struct Plan {
    std::vector<Chosen> cases;
    std::vector<std::int64_t> sizes;
    Engine engine{};
};

Result<Plan> make_plan(const BackgroundOptions& options) {
    Plan plan;
    for (const std::string& text : options.cases) {
        Result<Chosen> chosen = parse_case(text);
        if (!chosen.is_ok()) return chosen.status();
        plan.cases.push_back(*chosen);
    }
    Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    plan.sizes = *sizes;
    Result<Engine> engine = find_engine(options.engine);
    if (!engine.is_ok()) return engine.status();
    plan.engine = *engine;
    return plan;
}

// This rank's times, in microseconds.
struct Times {
    double total = 0;
    double wait = 0;
};

class Meter {
  public:
    Meter(const Job& job, const Collective& collective, std::int64_t bytes, const Testbed& testbed)
        : collective_(collective),
          case_(make_case(job, collective, bytes)),
          burst_bytes_(
              testbed.nodes > 0 ? link_burst_bytes * static_cast<std::size_t>(testbed.links) : 0),
          burst_(2 * burst_bytes_ * static_cast<std::size_t>(job.ranks)) {}

    // Runs the operation with a sleep between start and wait.
    Times run(double sleep_us) {
        collective_.fill(case_, ++seed_);
        use_up_burst();
        must(weft_barrier(case_.job.comm), "weft_barrier");
        const std::int64_t begin = now_ns();
        must(collective_.start(case_, &request_), collective_.name);
        if (sleep_us > 0) sleep_until(begin + static_cast<std::int64_t>(sleep_us * 1000));
        const std::int64_t waiting = now_ns();
        must(weft_wait(&request_), "weft_wait");
        const std::int64_t end = now_ns();
        verify(collective_, case_);
        return {static_cast<double>(end - begin) / 1000, static_cast<double>(end - waiting) / 1000};
    }

  private:
    static constexpr std::size_t link_burst_bytes = 128 << 10;

    // After a pause a rate limit lets a burst through at once. Every run begins without one.
    void use_up_burst() {
        if (burst_.size() == 0) return;
        must(weft_barrier(case_.job.comm), "weft_barrier");
        must(weft_alltoall(burst_.data(), burst_.data() + burst_.size() / 2, burst_bytes_,
                           WEFT_BYTE, case_.job.comm),
             "weft_alltoall");
    }

    const Collective& collective_;
    Case case_;
    std::size_t burst_bytes_;  // to each rank
    PageBuffer burst_;
    weft_request request_ = WEFT_REQUEST_NULL;
    std::uint64_t seed_ = 0;
};

// One size. All times are the slowest rank's, the median of the repetitions.
struct Row {
    double blocking_us = 0;
    double asleep_us = 0;  // start, a sleep as long as `blocking`, wait
    double ratio = 0;      // asleep / blocking, of each repetition
    double left_us = 0;    // the wait after a sleep of `blocking` times the bar
};

Row measure(const Job& job, const Collective& collective, std::int64_t bytes,
            const BackgroundOptions& options) {
    Meter meter(job, collective, bytes, options.testbed);
    std::vector<double> blocking, asleep, ratio, left;
    for (int i = -2; i < options.repetitions; ++i) {
        const double one = slowest(job, meter.run(0).total);
        const double other = slowest(job, meter.run(one).total);
        const double rest = slowest(job, meter.run(bar * one).wait);
        if (i < 0) continue;  // builds schedules, opens connections, touches pages
        blocking.push_back(one);
        asleep.push_back(other);
        ratio.push_back(other / one);
        left.push_back(rest);
    }
    return {median(blocking), median(asleep), median(ratio), median(left)};
}

int run_rank(const BackgroundOptions& options, const Plan& plan) {
    const Job job = join_job(options.testbed.ranks);
    const Chosen& chosen = plan.cases[0];
    const std::vector<Contestant> engines = contestants(job, std::span(&plan.engine, 1));
    switch_engine(job, engines[0].engine.value);
    Table table({"size", "blocking us", "asleep us", "ratio", "left us", ""});
    for (const std::int64_t bytes : plan.sizes) {
        const Row row = measure(engines[0].job, *chosen.collective, bytes, options);
        table.add({size_text(bytes), fixed(row.blocking_us, 1), fixed(row.asleep_us, 1),
                   fixed(row.ratio, 3), fixed(row.left_us, 1),
                   row.ratio <= bar ? "met" : "missed"});
    }
    const std::string over = transports_in_use(job);
    if (job.rank == 0) {
        std::printf("\n%s %s, over %s\n", chosen.collective->name, chosen.algorithm.c_str(),
                    over.c_str());
        table.print(stdout);
    }
    print_offload(job, engines);
    print_links(job, options.testbed);
    leave_job();
    return 0;
}

std::vector<std::string> arguments(const BackgroundOptions& options, const std::string& one_case) {
    std::vector<std::string> words = {"bench",         "background",
                                      "--case",        one_case,
                                      "--engine",      options.engine,
                                      "--sizes",       options.sizes,
                                      "--repetitions", std::to_string(options.repetitions)};
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    return words;
}

}  // namespace

int bench_background(const BackgroundOptions& options) {
    Result<Plan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench background: %s\n", last_detail());
        return 2;
    }
    if (is_rank()) return run_rank(options, *plan);
    std::printf(
        "Collectives while the program sleeps and makes no calls: %s, engine %s, median of %d "
        "repetitions, slowest rank.\nblocking: start, wait; asleep: start, a sleep as long as "
        "blocking, wait; ratio = asleep / blocking, at most %.2f;\nleft: the wait after a sleep of "
        "%.2f times blocking.\n",
        description(options.testbed).c_str(), options.engine.c_str(), options.repetitions, bar,
        bar);
    for (std::size_t i = 0; i < plan->cases.size(); ++i) {
        const int status = launch(
            {options.testbed, arguments(options, options.cases[i]), {plan->cases[i].setting()}});
        if (status != 0) return status;
    }
    return 0;
}

}  // namespace weft::bench
