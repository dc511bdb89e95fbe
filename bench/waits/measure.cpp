// The measuring loop.
#include "bench/waits/measure.h"

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "bench/sleep.h"
#include "bench/statistics.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

constexpr double late_work_us = 10'000;
constexpr std::int64_t late_ns = 300'000;
constexpr double chain_work_us = 60'000;
constexpr std::int64_t settling_ns = 300'000;
// Ranks that share a core have all started by then.
constexpr std::int64_t chain_lead_ns = 5'000'000;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

// What one rank does after the barrier.
struct Part {
    std::int64_t late_ns = 0;     // before it starts
    std::int64_t iterations = 0;  // of the work after the start
    bool tests = false;           // works and tests until the operation is complete
};

// On the clock that all ranks of a machine share.
struct Moments {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
};

// A sleeping rank leaves its core to others; short times need a loop.
void pause(std::int64_t ns) {
    constexpr std::int64_t long_ns = 1'000'000;
    const std::int64_t end = now_ns() + ns;
    if (ns >= long_ns) sleep_until(end);
    while (now_ns() < end) {
    }
}

class Runner {
  public:
    Runner(const Job& job, const Point& point)
        : collective_(*point.collective), case_(make_case(job, collective_, point.bytes)) {}

    void use(const Contestant& contestant) { case_.job = contestant.job; }

    Moments run(const Part& part) {
        weft_request request = WEFT_REQUEST_NULL;
        collective_.fill(case_, ++seed_);
        must(weft_barrier(case_.job.comm), "weft_barrier");
        pause(part.late_ns);
        Moments moments;
        moments.begin_ns = now_ns();
        must(collective_.start(case_, &request), collective_.name);
        do {
            work(part.iterations);
        } while (part.tests && is_pending(request));
        if (!part.tests) must(weft_wait(&request), "weft_wait");
        moments.end_ns = now_ns();
        verify(collective_, case_);
        return moments;
    }

    double blocking_us() {
        const Moments moments = run({});
        return us(moments.end_ns - moments.begin_ns);
    }

  private:
    static bool is_pending(weft_request& request) {
        const weft_status status = weft_test(&request);
        if (status != WEFT_PENDING) must(status, "weft_test");
        return status == WEFT_PENDING;
    }

    const Collective& collective_;
    Case case_;
    std::uint64_t seed_ = 0;
};

// Ranks may share a core, and then some measure too long a time: the fastest is right.
double agreed_ns_per_iteration(const Job& job) {
    switch_engine(job, WEFT_ENGINE_MANUAL);
    const std::vector<double> all = gather(job, std::vector<double>{calibrate_ns_per_iteration()});
    return *std::min_element(all.begin(), all.end());
}

// How long the operation takes, waited for at once; equal on all ranks.
double agreed_blocking_us(const Job& job, Runner& runner, const Contestant& contestant) {
    constexpr int pilots = 11;
    switch_engine(job, contestant.engine.value);
    runner.use(contestant);
    runner.blocking_us();  // builds schedules and touches pages
    std::vector<double> samples;
    for (int i = 0; i < pilots; ++i) samples.push_back(runner.blocking_us());
    return slowest(job, median(samples));
}

// How long a computing rank computes at a time.
double choose_work_us(const Job& job, const Situation& situation, Runner& runner, int every_us,
                      const Contestant& first) {
    constexpr double work_min_us = 1;
    switch (situation.kind) {
        case Situation::Kind::late: return late_work_us;
        case Situation::Kind::chain: return chain_work_us;
        case Situation::Kind::test: return every_us;
        case Situation::Kind::skew: break;
    }
    return std::max(agreed_blocking_us(job, runner, first), work_min_us);
}

Part part_of(const Job& job, const Situation& situation, std::int64_t iterations,
             std::int64_t skew_ns) {
    const bool is_last = job.rank == job.ranks - 1;
    switch (situation.kind) {
        case Situation::Kind::late:
            return is_last ? Part{.late_ns = late_ns} : Part{.iterations = iterations};
        case Situation::Kind::chain:
            if (is_last) return {};
            return {.late_ns = job.rank == 0 ? chain_lead_ns : 0, .iterations = iterations};
        case Situation::Kind::test: return {.iterations = iterations, .tests = true};
        case Situation::Kind::skew: break;
    }
    return {.late_ns = skew_ns, .iterations = iterations};
}

// A repetition, from what each rank measured.
double time_us(const Situation& situation, std::span<const Moments> ranks) {
    if (situation.is_symmetric()) {
        std::int64_t slowest_ns = 0;
        for (const Moments& rank : ranks) {
            slowest_ns = std::max(slowest_ns, rank.end_ns - rank.begin_ns);
        }
        return us(slowest_ns);
    }
    // Nobody can expect the wait to end before all have started.
    std::int64_t begin_ns = ranks[0].begin_ns;
    for (const Moments& rank : ranks) begin_ns = std::max(begin_ns, rank.begin_ns);
    return us(ranks.back().end_ns - begin_ns);
}

// All repetitions, from what this rank measured in each.
std::vector<double> merge_ranks(const Job& job, const Situation& situation,
                                const std::vector<Moments>& mine) {
    const std::vector<Moments> all = gather(job, mine);
    std::vector<Moments> ranks(static_cast<std::size_t>(job.ranks));
    std::vector<double> times;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r] = all[r * mine.size() + i];
        times.push_back(time_us(situation, ranks));
    }
    return times;
}

std::vector<double> slowest_ranks(const Job& job, const std::vector<double>& mine) {
    const std::vector<double> all = gather(job, mine);
    std::vector<double> slowest_of_each = mine;
    for (std::size_t i = 0; i < all.size(); ++i) {
        double& most = slowest_of_each[i % mine.size()];
        most = std::max(most, all[i]);
    }
    return slowest_of_each;
}

// The engine's thread is new: its first wake-ups wait for the scheduler's tick. And an engine may
// have learned how the program completes its operations.
void settle(Runner& runner, const Part& part) {
    constexpr int times = 3;
    for (int i = 0; i < times; ++i) {
        runner.run(part);
        sleep_until(now_ns() + settling_ns);  // the thread falls asleep
    }
}

// This rank's delays, one for each repetition.
std::vector<std::int64_t> draw_delays(const Job& job, const WaitsEffort& effort) {
    Prng prng(effort.seed);
    std::vector<std::int64_t> delays;
    for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
        for (int rank = 0; rank < job.ranks; ++rank) {
            const std::uint64_t delay = prng.below(static_cast<std::uint64_t>(effort.skew_ns) + 1);
            if (rank == job.rank) delays.push_back(static_cast<std::int64_t>(delay));
        }
    }
    return delays;
}

}  // namespace

double WaitsCell::long_percent() const {
    const double limit = 10 * median(times);
    const auto longer =
        std::count_if(times.begin(), times.end(), [limit](double time) { return time > limit; });
    return 100 * static_cast<double>(longer) / static_cast<double>(times.size());
}

Ratio WaitsCell::ratio_to(const WaitsCell& base) const {
    std::vector<double> pairs;
    for (std::size_t i = 0; i < times.size(); ++i) pairs.push_back(times[i] / base.times[i]);
    return Ratio(pairs);
}

void warm_up(const Job& job) {
    constexpr int times = 32;
    constexpr std::int64_t bytes = 1 << 20;
    Runner runner(job, {*find_collective("ialltoall"), bytes});
    for (int i = 0; i < times; ++i) runner.blocking_us();
}

void prepare_contestants(const Job& job, const Situation& situation,
                         std::span<Contestant> contestants) {
    if (situation.kind != Situation::Kind::chain) return;
    for (Contestant& contestant : contestants) {
        switch_engine(job, contestant.engine.value);
        must(weft_comm_dup_with(job.comm, "bcast=chain", &contestant.job.comm),
             "weft_comm_dup_with");
    }
    switch_engine(job, WEFT_ENGINE_MANUAL);
}

std::vector<WaitsCell> measure_waits(const Job& job, const Situation& situation, const Point& point,
                                     int every_us, std::span<const Contestant> contestants,
                                     const WaitsEffort& effort) {
    Runner runner(job, point);
    const double work_us = choose_work_us(job, situation, runner, every_us, contestants[0]);
    const double ns_per_iteration = agreed_ns_per_iteration(job);
    const auto iterations =
        std::max(static_cast<std::int64_t>(work_us * 1000 / ns_per_iteration), std::int64_t{1});
    const auto settling = static_cast<std::int64_t>(settling_ns / ns_per_iteration);
    const std::vector<std::int64_t> delays = draw_delays(job, effort);
    const std::size_t engines = contestants.size();
    std::vector<std::vector<Moments>> moments(engines);
    std::vector<WaitsCell> cells;
    for (const Contestant& contestant : contestants) {
        cells.push_back({point, every_us, contestant.engine, work_us, {}, {}});
    }
    for (std::size_t i = 0; i < delays.size(); ++i) {
        const Part part = part_of(job, situation, iterations, delays[i]);
        for (std::size_t k = 0; k < engines; ++k) {
            const std::size_t at = (i + k) % engines;
            switch_engine(job, contestants[at].engine.value);
            runner.use(contestants[at]);
            cells[at].blocking.push_back(runner.blocking_us());
            settle(runner, {.iterations = settling, .tests = part.tests});
            moments[at].push_back(runner.run(part));
        }
        if (effort.progress) effort.progress(static_cast<int>(i));
    }
    switch_engine(job, WEFT_ENGINE_MANUAL);
    for (std::size_t i = 0; i < engines; ++i) {
        cells[i].blocking = slowest_ranks(job, cells[i].blocking);
        cells[i].times = merge_ranks(job, situation, moments[i]);
    }
    return cells;
}

}  // namespace weft::bench
