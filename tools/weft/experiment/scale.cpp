// What overlap and noise become with the number of ranks.
#include <algorithm>

#include "weft/experiment/experiments.h"
#include "weft/experiment/simulated_call.h"

namespace weft::simulate {
namespace {

constexpr Rank ranks_min = 16;
constexpr Rank ranks_max = 1 << 20;
constexpr Rank step = 16;

constexpr std::int64_t poll_ps = 10'000'000;
constexpr std::int64_t look_ps = 200'000;
constexpr std::int64_t wake_ps = 5'000'000;
constexpr std::int64_t trigger_ps = 100'000;
constexpr std::int64_t noise_period_ps = 1'000'000'000;
constexpr std::int64_t noise_ps = 25'000'000;

struct Scaled {
    const char* collective;
    const char* algorithm;
    Rank ranks_max;  // unless more are asked for: with these all calls take a few minutes
};
constexpr Scaled calls[] = {{"barrier", "dissemination", 1 << 16},
                            {"bcast", "binomial", 1 << 20},
                            {"allreduce", "recursive_doubling", 1 << 16}};

Disturbance disturbance() {
    Disturbance noise;
    noise.period_ps = noise_period_ps;
    noise.noise_ps = noise_ps;
    return noise;
}

// `alone_ps`, `noisy_alone_ps`: what the calls take without computation.
void add_overlap(const SimulatedCall& call, std::int64_t alone_ps, const SimulatedCall& noisy_call,
                 std::int64_t noisy_alone_ps, ExperimentTable& table) {
    Progress never;
    Progress host;
    host.poll_ps = poll_ps;
    host.look_ps = look_ps;
    Progress thread;
    thread.by = Progress::By::thread;
    thread.wake_ps = wake_ps;
    Progress shared = thread;
    shared.shares_core = true;
    Progress card;
    card.by = Progress::By::offload;
    card.trigger_ps = trigger_ps;
    for (const auto& [name, progress] :
         {std::pair{"never", never}, std::pair{"host", host}, std::pair{"thread", thread},
          std::pair{"shared thread", shared}, std::pair{"offload", card}}) {
        const Overlap overlap = overlap_of(call, progress, alone_ps, /*looks=*/0);
        const Overlap noisy = overlap_of(noisy_call, progress, noisy_alone_ps, /*looks=*/0);
        table.rows.push_back({call.agreed.ranks, call.spec->name, call.agreed.bytes, name,
                              Cell::microseconds(alone_ps), Cell::microseconds(overlap.together_ps),
                              Cell::percent(overlap.share()), Cell::microseconds(noisy.together_ps),
                              Cell::percent(noisy.share())});
    }
}

void add_noise(const SimulatedCall& call, std::int64_t quiet_ps, const LogGpOutcome& noisy,
               ExperimentTable& table) {
    const std::int64_t slower_ps = std::ranges::max(noisy.end_ps) - quiet_ps;
    const std::int64_t injected_ps = std::ranges::max(noisy.disturbed_ps);
    const auto share = [&](std::int64_t of_ps) {
        return static_cast<double>(slower_ps) / static_cast<double>(of_ps);
    };
    table.rows.push_back(
        {call.agreed.ranks, call.spec->name, call.agreed.bytes, Cell::microseconds(quiet_ps),
         Cell::percent(bound_of(call), quiet_ps),
         Cell::microseconds(std::ranges::max(noisy.end_ps)), Cell::percent(share(quiet_ps)),
         Cell::microseconds(injected_ps),
         injected_ps == 0 ? Cell::nothing() : Cell::percent(1 - share(injected_ps))});
}

}  // namespace

ExperimentResult run_scale(const ExperimentSize& size) {
    ExperimentResult result{"scale"};
    result.assumptions = {
        "network: L 2.5 us, o 1.5 us, g 1 us, G 6 ns, no rendezvous up to 64 KiB (the defaults of "
        "weft simulate)",
        "each rank computes for as long as the collective takes alone (alone_us)",
        "never: the host looks when all is computed; host: every 10 us, for 0.2 us; thread: a core "
        "of "
        "its own, 5 us to wake; shared thread: the same on the computation's core; offload: a "
        "card, 0.1 us "
        "for a message",
        "noise: 25 us in every 1 ms, at a point of each core's own; seed 1. With it each rank "
        "computes for as long as "
        "the collective takes alone with noise (noisy_us); noise delays what is computed, too",
        "of the optimum: of a bound for all algorithms; the optimum may be later",
        "injected: what the most disturbed rank lost; absorbed: 1 - slowdown / injected, below 0 "
        "where "
        "delays of several ranks add up",
    };
    ExperimentTable overlap{"overlap",
                            {"ranks", "collective", "bytes", "progress", "alone_us", "together_us",
                             "overlap_percent", "noisy_together_us", "noisy_overlap_percent"}};
    ExperimentTable noise{"noise",
                          {"ranks", "collective", "bytes", "quiet_us", "of_the_optimum_percent",
                           "noisy_us", "slowdown_percent", "injected_us", "absorbed_percent"}};
    const std::vector<std::int64_t> all_bytes =
        size.bytes.empty() ? std::vector<std::int64_t>{8} : size.bytes;
    for (std::int64_t ranks = ranks_min; ranks <= ranks_max; ranks *= step) {
        for (const Scaled& named : calls) {
            if (ranks > size.ranks_max.value_or(named.ranks_max)) continue;
            for (const std::int64_t bytes : all_bytes) {
                const SimulatedCall call =
                    call_of(named.collective, named.algorithm, static_cast<Rank>(ranks), bytes);
                SimulatedCall noisy_call = call;
                noisy_call.disturbance = disturbance();
                const std::int64_t alone_ps = time_of(call);
                const LogGpOutcome noisy = outcome_of(noisy_call);
                add_overlap(call, alone_ps, noisy_call, std::ranges::max(noisy.end_ps), overlap);
                add_noise(call, alone_ps, noisy, noise);
            }
        }
    }
    result.tables = {std::move(overlap), std::move(noise)};
    return result;
}

}  // namespace weft::simulate
