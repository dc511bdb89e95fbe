// The measuring loop.
#include "bench/relay/measure.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/relay/long_slice.h"
#include "bench/sleep.h"
#include "bench/statistics.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

constexpr int root = 0;
constexpr int middle = 1;

// How long after the barrier rank 0 starts. By then the others are ready, and a middle rank that
// should be inside the operating system is there.
constexpr std::int64_t lead_ns = 500'000;
constexpr std::int64_t lead_populate_ns = 3'000'000;
// The computation outlasts usual relays by far, but not necessarily all.
constexpr double window_min_us = 4'000;
constexpr double window_max_us = 12'000;
constexpr double window_factor = 4;
constexpr int tries_max = 10;
constexpr std::size_t populate_bytes = std::size_t{512} << 20;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

// One rank's times of one relay.
struct Moments {
    std::int64_t ready_ns = 0;  // rank 0: it starts now; others: they have started
    std::int64_t done_ns = 0;   // the wait has ended; middle rank: the computation has ended
    double work_us = 0;         // the middle rank's
    double cpu_us = 0;
};

// Stays inside the operating system for about 100 ms.
void populate() {
    void* const memory = mmap(nullptr, populate_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) fail("mmap of 512 MiB: %s", std::strerror(errno));
    munmap(memory, populate_bytes);
}

// Combines the ranks' times to relays; `left_out` counts those that began before all were ready.
std::vector<Relay> put_together(std::span<const Moments> all, int& left_out) {
    const std::size_t relays = all.size() / 3;
    std::vector<Relay> result;
    for (std::size_t i = 0; i < relays; ++i) {
        const Moments& first = all[i];
        const Moments& second = all[relays + i];
        const Moments& last = all[2 * relays + i];
        if (std::max(second.ready_ns, last.ready_ns) > first.ready_ns) {
            ++left_out;
            continue;
        }
        result.push_back({us(last.done_ns - first.ready_ns), second.work_us, second.cpu_us,
                          last.done_ns > second.done_ns});
    }
    return result;
}

// One rank's part in relays of one size.
class Runner {
  public:
    Runner(const Job& job, std::int64_t bytes, bool populates)
        : job_(job), case_(make_case(job, ibcast_for_relays(), bytes)), populates_(populates) {}

    void set_iterations(std::int64_t iterations) { iterations_ = iterations; }

    // Relays with one engine, at least one; counts those that it leaves out.
    std::vector<Relay> relays(const RelayContestant& contestant, int count, int& left_out) {
        switch_engine(job_, WEFT_ENGINE_MANUAL);
        case_.job = contestant.in.job;
        if (job_.rank == middle) {
            must(set_engine(contestant.in.engine.value), "weft_set_engine");
        }
        fiber_ = contestant.fiber;
        relay();  // starts the engine's thread
        if (job_.rank == middle && contestant.has_long_slice &&
            !give_progress_thread_a_long_slice()) {
            fail("the progress thread's slice cannot be changed");
        }
        std::vector<Relay> result;
        for (int tries = 0; result.empty(); ++tries) {
            if (tries == tries_max) fail("rank 1 or 2 is never ready when rank 0 starts");
            std::vector<Moments> mine;
            for (int i = 0; i < count; ++i) mine.push_back(relay());
            result = put_together(gather(job_, mine), left_out);
        }
        switch_engine(job_, WEFT_ENGINE_MANUAL);
        return result;
    }

    // The computation without a relay.
    Relay alone(int count) {
        must(weft_barrier(job_.comm), "weft_barrier");
        Moments sum;
        for (int i = 0; i < count && job_.rank == middle; ++i) {
            const Moments one = compute();
            sum.work_us += one.work_us;
            sum.cpu_us += one.cpu_us;
        }
        const Moments all = gather(job_, std::vector<Moments>{sum})[middle];
        return {0, all.work_us / count, all.cpu_us / count, false};
    }

  private:
    static const Collective& ibcast_for_relays() {
        static const Collective& found = **find_collective("ibcast");
        return found;
    }

    Moments relay() {
        const Collective& ibcast = ibcast_for_relays();
        weft_request request = WEFT_REQUEST_NULL;
        ibcast.fill(case_, ++seed_);
        must(weft_barrier(job_.comm), "weft_barrier");
        Moments moments;
        if (job_.rank == root) {
            sleep_until(now_ns() + (populates_ ? lead_populate_ns : lead_ns));
            moments.ready_ns = now_ns();
        }
        must(ibcast.start(case_, &request), ibcast.name);
        if (job_.rank == middle && fiber_.is_one) {
            compute_beside_wait(request, fiber_.preempts, [&] { moments = compute(); });
        } else if (job_.rank == middle) {
            moments = compute();
            must(weft_wait(&request), "weft_wait");
        } else {
            if (job_.rank != root) moments.ready_ns = now_ns();
            must(weft_wait(&request), "weft_wait");
            moments.done_ns = now_ns();
        }
        verify(ibcast, case_);
        return moments;
    }

    Moments compute() {
        Moments moments;
        const double cpu_begin = cpu_seconds();
        moments.ready_ns = now_ns();
        if (populates_) {
            populate();
        } else {
            work(iterations_);
        }
        moments.done_ns = now_ns();
        moments.cpu_us = (cpu_seconds() - cpu_begin) * 1e6;
        moments.work_us = us(moments.done_ns - moments.ready_ns);
        return moments;
    }

    const Job job_;
    Case case_;
    const bool populates_;
    FiberWay fiber_;
    std::int64_t iterations_ = 0;
    std::uint64_t seed_ = 0;
};

// How many iterations the middle rank computes; equal on all ranks.
std::int64_t choose_iterations(const Job& job, Runner& runner,
                               std::span<const RelayContestant> contestants) {
    constexpr int pilots = 5;
    // Any rank but the middle one may share its core.
    const double ns_per_iteration =
        gather(job, std::vector<double>{calibrate_ns_per_iteration()})[middle];
    const auto iterations = [&](double window_us) {
        return static_cast<std::int64_t>((us(lead_ns) + window_us) * 1000 / ns_per_iteration);
    };
    runner.set_iterations(iterations(window_max_us));
    double slowest_us = 0;
    for (const RelayContestant& contestant : contestants) {
        int left_out = 0;
        std::vector<double> latencies;
        for (const Relay& relay : runner.relays(contestant, pilots, left_out)) {
            latencies.push_back(relay.latency);
        }
        slowest_us = std::max(slowest_us, median(latencies));
    }
    return iterations(std::clamp(window_factor * slowest_us, window_min_us, window_max_us));
}

}  // namespace

std::vector<double> samples(std::span<const Relay> relays, double Relay::*value) {
    std::vector<double> all;
    for (const Relay& relay : relays) all.push_back(relay.*value);
    return all;
}

std::vector<double> RelayCell::means() const {
    std::vector<double> all;
    for (const std::vector<Relay>& relays : repetitions) {
        all.push_back(mean(samples(relays, &Relay::latency)));
    }
    return all;
}

std::vector<double> RelayCell::latencies() const {
    std::vector<double> all;
    for (const std::vector<Relay>& relays : repetitions) {
        for (const Relay& relay : relays) all.push_back(relay.latency);
    }
    return all;
}

int RelayCell::late() const {
    int count = 0;
    for (const std::vector<Relay>& relays : repetitions) {
        count += static_cast<int>(std::count_if(relays.begin(), relays.end(),
                                                [](const Relay& relay) { return relay.is_late; }));
    }
    return count;
}

double RelayCell::taken_us() const {
    std::vector<double> taken;
    for (std::size_t i = 0; i < repetitions.size(); ++i) {
        taken.push_back(mean(samples(repetitions[i], &Relay::work)) - alone[i].work);
    }
    return median(taken);
}

double RelayCell::cpu_us() const {
    // A mean, not a median: getrusage counts whole microseconds, and only the sum is exact.
    std::vector<double> taken;
    for (std::size_t i = 0; i < repetitions.size(); ++i) {
        taken.push_back(mean(samples(repetitions[i], &Relay::cpu)) - alone[i].cpu);
    }
    return mean(taken);
}

std::vector<RelayCell> measure_relays(const Job& job, std::int64_t bytes,
                                      std::span<const RelayContestant> contestants,
                                      const RelayEffort& effort) {
    Runner runner(job, bytes, effort.populate);
    if (!effort.populate) runner.set_iterations(choose_iterations(job, runner, contestants));
    std::vector<RelayCell> cells;
    for (const RelayContestant& contestant : contestants) {
        cells.push_back({contestant.name, bytes, {}, {}, 0});
    }
    for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
        const Relay alone = runner.alone(effort.relays);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells[i].repetitions.push_back(
                runner.relays(contestants[i], effort.relays, cells[i].left_out));
            cells[i].alone.push_back(alone);
        }
        if (effort.progress) effort.progress(repetition);
    }
    return cells;
}

}  // namespace weft::bench
