// CPU time of a broadcast that moves while the program computes, besides that of the computation, and of
// the same bytes written and read by blocking calls, in turn. Both ranks' processes, all their threads.
#include "bench/cpu.h"

#include <cstdio>
#include <string_view>

#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/contestants.h"
#include "bench/launch.h"
#include "bench/plain/sockets.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

constexpr int rounds = 4;  // of a measurement: getrusage counts in whole microseconds

struct Plan {
    std::vector<Engine> engines;
    std::vector<std::int64_t> sizes;
};

Result<Plan> make_plan(const CpuOptions& options) {
    Result<std::vector<Engine>> engines = find_engines(options.engines);
    if (!engines.is_ok()) return engines.status();
    Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    return Plan{*engines, *sizes};
}

// Whether the bar is kept, where there is one.
const char* verdict(const Engine& engine, std::int64_t bytes, double ratio) {
    constexpr double bar = 1.15;
    if (!std::string_view(engine.name).starts_with("kernel") || bytes != 4 << 20) return "";
    return ratio <= bar ? "met" : "missed";
}

class Meter {
  public:
    Meter(const Job& job, std::int64_t bytes, PlainSockets& sockets)
        : job_(job),
          ibcast_(**find_collective("ibcast")),
          case_(make_case(job, ibcast_, bytes)),
          sockets_(sockets) {}

    // What the operation takes besides the computation that it happens behind.
    double library_us(const Contestant& contestant) {
        case_.job = contestant.job;
        switch_engine(job_, contestant.engine.value);
        const std::int64_t begin = now_ns();
        operation(0);  // starts the engine's thread
        const double took_ns = slowest(job_, static_cast<double>(now_ns() - begin));
        const auto iterations = static_cast<std::int64_t>(3 * took_ns / ns_per_iteration_);
        const double all_us = mean_of_rounds([&] { return operation(iterations); });
        const double work_us = mean_of_rounds([&] { return timed([&] { work(iterations); }); });
        switch_engine(job_, WEFT_ENGINE_MANUAL);
        return all_us - work_us;
    }

    double plain_us() {
        return mean_of_rounds([&] {
            ibcast_.fill(case_, ++seed_);
            const double us = timed([&] {
                const std::span<std::byte> bytes = case_.recv.as<std::byte>();
                if (job_.rank == 0) {
                    sockets_.send_blocking(bytes);
                } else {
                    sockets_.recv_blocking(bytes);
                }
            });
            verify(ibcast_, case_);
            return us;
        });
    }

  private:
    // CPU time of this process for the operation, all of which the engine does, and the computation.
    double operation(std::int64_t iterations) {
        weft_request request = WEFT_REQUEST_NULL;
        ibcast_.fill(case_, ++seed_);
        const double us = timed([&] {
            must(ibcast_.start(case_, &request), ibcast_.name);
            work(iterations);
            must(weft_wait(&request), "weft_wait");
        });
        verify(ibcast_, case_);
        return us;
    }

    template <class Action>
    double timed(Action action) {
        must(weft_barrier(job_.comm), "weft_barrier");
        const double begin = cpu_seconds();
        action();
        return (cpu_seconds() - begin) * 1e6;
    }

    // Of both ranks together.
    template <class Round>
    double mean_of_rounds(Round round) {
        double mine = 0;
        for (int i = 0; i < rounds; ++i) mine += round();
        const std::vector<double> all = gather(job_, std::vector<double>{mine});
        return (all[0] + all[1]) / rounds;
    }

    const Job job_;
    const Collective& ibcast_;
    Case case_;
    PlainSockets& sockets_;
    const double ns_per_iteration_ = calibrate_ns_per_iteration();
    std::uint64_t seed_ = 0;
};

int run_rank(const CpuOptions& options, const Plan& plan) {
    const Job job = join_job(options.testbed.ranks);
    PlainSockets sockets(job);
    const std::vector<Contestant> engines = contestants(job, plan.engines);
    Table table({"size", "engine", "library us", "sockets us", "ratio", ""});
    for (const std::int64_t bytes : plan.sizes) {
        Meter meter(job, bytes, sockets);
        std::vector<std::vector<double>> library(engines.size()), plain(engines.size()),
            ratio(engines.size());
        for (int repetition = -1; repetition < options.repetitions; ++repetition) {
            for (std::size_t i = 0; i < engines.size(); ++i) {
                const double ours = meter.library_us(engines[i]);
                const double theirs = meter.plain_us();
                if (repetition < 0) continue;  // opens connections, touches pages
                library[i].push_back(ours);
                plain[i].push_back(theirs);
                ratio[i].push_back(ours / theirs);
            }
        }
        for (std::size_t i = 0; i < engines.size(); ++i) {
            const double typical = median(ratio[i]);
            table.add({size_text(bytes), engines[i].engine.name, fixed(median(library[i]), 1),
                       fixed(median(plain[i]), 1), fixed(typical, 2),
                       verdict(engines[i].engine, bytes, typical)});
        }
    }
    const std::string over = transports_in_use(job);
    if (job.rank == 0) {
        std::printf(
            "CPU time (getrusage) of a broadcast behind a computation, over %s, and of the "
            "same "
            "bytes by blocking\nsend and recv: %s, both together, medians of %d pairs.\n\n",
            over.c_str(), description(options.testbed).c_str(), options.repetitions);
        table.print(stdout);
    }
    print_offload(job, engines);
    leave_job();
    return 0;
}

}  // namespace

int bench_cpu(const CpuOptions& options) {
    const Result<Plan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench cpu: %s\n", last_detail());
        return 2;
    }
    if (options.testbed.ranks != 2) {
        std::fprintf(stderr, "weft bench cpu: --ranks %d; expected 2\n", options.testbed.ranks);
        return 2;
    }
    if (is_rank()) return run_rank(options, *plan);
    std::vector<std::string> words = {"bench",         "cpu",
                                      "--sizes",       options.sizes,
                                      "--repetitions", std::to_string(options.repetitions)};
    for (const std::string& name : options.engines) words.insert(words.end(), {"--engine", name});
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    return launch({options.testbed, words});
}

}  // namespace weft::bench
