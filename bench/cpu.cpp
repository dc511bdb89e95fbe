// The CPU time that a broadcast takes from the cores of both ranks while the program sleeps,
// alternating with blocking reads and writes of the same bytes.
#include "bench/cpu.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/contestants.h"
#include "bench/core_time.h"
#include "bench/join.h"
#include "bench/launch.h"
#include "bench/links.h"
#include "bench/plain/sockets.h"
#include "bench/sizes.h"
#include "bench/sleep.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

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

// Whether the row keeps its bar, if it has one.
const char* verdict(const Engine& engine, std::int64_t bytes, double ratio) {
    constexpr double bar = 1.15;
    if (!std::string_view(engine.name).starts_with("kernel") || bytes != 4 << 20) return "";
    return ratio <= bar ? "met" : "missed";
}

class Meter {
  public:
    Meter(const Job& job, std::int64_t bytes, PlainSockets& sockets, Spinner& spinner)
        : job_(job),
          ibcast_(**find_collective("ibcast")),
          case_(make_case(job, ibcast_, bytes)),
          sockets_(sockets),
          spinner_(spinner) {
        // Both are counted equally long: one and a half times as long as the slower one takes.
        ibcast_.fill(case_, ++seed_);
        std::int64_t begin = now_ns();
        operation(0);
        double took_us = static_cast<double>(now_ns() - begin) / 1000;
        begin = now_ns();
        blocking();
        took_us = std::max(took_us, static_cast<double>(now_ns() - begin) / 1000);
        window_us_ = 1.5 * slowest(job_, took_us) + 1000;
    }

    double library_us(const Contestant& contestant) {
        case_.job = contestant.job;
        switch_engine(job_, contestant.engine.value);
        ibcast_.fill(case_, ++seed_);
        operation(0);  // starts the engine's thread
        const double us =
            lost_us([&] { operation(static_cast<std::int64_t>(window_us_ * 1000) - 200'000); });
        switch_engine(job_, WEFT_ENGINE_MANUAL);
        return us;
    }

    double plain_us() {
        return lost_us([&] { blocking(); });
    }

  private:
    void operation(std::int64_t sleep_ns) {
        weft_request request = WEFT_REQUEST_NULL;
        const std::int64_t begin = now_ns();
        must(ibcast_.start(case_, &request), ibcast_.name);
        if (sleep_ns > 0) sleep_until(begin + sleep_ns);
        must(weft_wait(&request), "weft_wait");
    }

    void blocking() {
        const std::span<std::byte> bytes = case_.recv.as<std::byte>();
        if (job_.rank == 0) {
            sockets_.send_blocking(bytes);
        } else {
            sockets_.recv_blocking(bytes);
        }
    }

    // The sum over both ranks' cores.
    template <class Action>
    double lost_us(Action action) {
        ibcast_.fill(case_, ++seed_);
        const CoreTime time = measure_core_time(
            job_, spinner_, window_us_, [] {}, action);
        verify(ibcast_, case_);
        const std::vector<double> all = gather(job_, std::vector<double>{time.lost});
        return all[0] + all[1];
    }

    const Job job_;
    const Collective& ibcast_;
    Case case_;
    PlainSockets& sockets_;
    Spinner& spinner_;
    double window_us_ = 0;
    std::uint64_t seed_ = 0;
};

int run_rank(const CpuOptions& options, const Plan& plan) {
    Spinner spinner;
    const Job job = join_job(options.testbed.ranks);
    PlainSockets sockets(job);
    const std::vector<Contestant> engines = contestants(job, plan.engines);
    Table table({"size", "engine", "library us", "sockets us", "ratio", ""});
    for (const std::int64_t bytes : plan.sizes) {
        Meter meter(job, bytes, sockets, spinner);
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
                       options.bars ? verdict(engines[i].engine, bytes, typical) : ""});
        }
    }
    const std::string over = transports_in_use(job);
    if (job.rank == 0) {
        std::printf(
            "CPU time of both cores for a broadcast while the program sleeps, over %s, and for\n"
            "blocking send and recv of the same bytes, including interrupts: %s, medians of %d "
            "pairs.\n\n",
            over.c_str(), description(options.testbed).c_str(), options.repetitions);
        table.print(stdout);
    }
    print_offload(job, engines);
    print_links(job, options.testbed);
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
    if (options.bars) words.emplace_back("--bars");
    for (const std::string& name : options.engines) words.insert(words.end(), {"--engine", name});
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    return launch({options.testbed, words});
}

}  // namespace weft::bench
