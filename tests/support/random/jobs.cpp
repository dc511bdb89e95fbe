#include "support/random/jobs.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/cores.h"
#include "support/process.h"
#include "support/random/rank_run.h"
#include "support/random/settings.h"
#include "support/random/sim_job.h"
#include "support/random/watchdog.h"
#include "support/surroundings.h"
#include "support/thread_job.h"

namespace weft::test::random {
namespace {

constexpr std::int64_t shrink_ns = 20'000'000'000;
constexpr int patience_s = 25;  // without a step of any rank

bool is_simulated(const Case& c) { return c.transport == "sim" || c.transport == "sim_fibers"; }

// The transport between a case's threads; nothing: its ranks are not threads.
std::optional<Over> over(const Case& c) {
    for (Over way : {Over::shm, Over::tcp, Over::mixed, Over::mpi, Over::ucx}) {
        const std::string suffix = way == Over::shm ? "" : std::string("_") + name_of(way);
        if (c.transport == "threads" + suffix) return way;
    }
    return std::nullopt;
}

Outcome run_threads(const Case& c, Plant plant, Over way) {
    const Program program = generate(c);
    const Settings settings = Settings::of(c);
    ThreadJob::Options job_options{.engine = settings.engine,
                                   .may_spin = c.ranks <= 2,
                                   .on_demand = c.seed % 2 == 0,
                                   .selector = settings.selector(),
                                   .checks_calls = settings.checks_calls,
                                   .dedicates = settings.dedicates,
                                   .settings = settings.of_shm(c.ranks),
                                   .over = way,
                                   .offers_all = settings.offers_all};
    if (!settings.torus.empty()) job_options.torus.emplace(settings.torus);
    job_options.mpi = settings.of_mpi();
#if WEFT_HAS_TCP
    job_options.tcp = settings.of_tcp();
    job_options.queue_depth = settings.queue_depth.value_or(job_options.queue_depth);
#endif
#if WEFT_HAS_UCX
    job_options.ucx = settings.of_ucx(job_options.ucx);
#endif
    ThreadJob job(c.ranks, std::move(job_options));
    std::map<BarrierName, std::atomic<int>> entered = barriers_of(program, c.ranks);
    const RunOptions options{.algorithms_forced = !settings.forced.empty(),
                             .may_poll = c.ranks <= 2,
                             .plant = plant == Plant::operation,
                             .entered = &entered};
    std::vector<std::unique_ptr<RankRun>> runs;
    std::vector<const RankRun*> watched;
    for (Rank rank = 0; rank < c.ranks; ++rank) {
        runs.push_back(std::make_unique<RankRun>(job.at(rank), c, program, options));
        watched.push_back(runs.back().get());
    }
    {
        Watchdog watchdog(watched, patience_s, c.text());
        job.run([&](ThreadRank& rank) {
            const auto at = static_cast<std::size_t>(rank.rank());
            runs[at]->run();
            if (runs[at]->is_stopped()) {
                job.kill(rank.rank());
            } else {
                rank.leave();
            }
        });
    }
    Outcome outcome{"", operations_of(program), 0};
    for (const auto& run : runs) {
        // Other ranks then break, too: this is not reported.
        if (outcome.failure.empty() || run->wrong().find("BROKEN") == std::string::npos) {
            if (!run->wrong().empty()) outcome.failure = run->wrong();
        }
    }
    return outcome;
}

Outcome outcome_of(const Case& c, const std::string& command) {
    ChildProcess job(command);
    job.finish();
    Outcome outcome{"", operations_of(generate(c)), 0};
    if (job.status == 0) return outcome;
    outcome.failure = job.out + job.err;
    if (outcome.failure.empty()) outcome.failure = "status " + std::to_string(job.status);
    return outcome;
}

Outcome run_processes(const Case& c, Plant plant, int patience) {
    const Settings settings = Settings::of(c);
    std::string environment = settings.environment();
    std::string options = "--timeout 55";
    if (settings.links > 1 && (c.transport == "tcp" || c.transport == "groups_tcp"))
        environment += " WEFT_INTERFACES=" + settings.interfaces();
    const std::string arguments = "'" + c.text() + "' " + std::to_string(patience) +
                                  (plant == Plant::operation ? " plant" : "");
    if (c.has_groups()) {
        const std::string name = c.transport.substr(std::string("groups_").size());
        return outcome_of(c, surroundings(name).settings + (" " + environment) +
                                 " " WEFT_BUILD_DIR "/tests/conformance/random_groups_program " +
                                 arguments);
    }
    if (surroundings(c.transport).has_nodes)
        options += " --links " + std::to_string(settings.links);
    if (const std::vector<int> cores = reachable_cores();
        settings.sets_core_aside && cores.size() > 1) {
        options += " --cores " + std::to_string(cores.front());
        environment += " WEFT_PROGRESS_CPUS=" + std::to_string(cores.back());
    }
    return outcome_of(c, surroundings(c.transport)
                             .command({.ranks = c.ranks,
                                       .program = "tests/conformance/random_program " + arguments,
                                       .settings = environment,
                                       .options = options}));
}

Outcome run_once(const Case& c, Plant plant, int patience) {
    if (is_simulated(c)) return run_simulated(c, plant);
    if (const std::optional<Over> way = over(c)) return run_threads(c, plant, *way);
    return run_processes(c, plant, patience);
}

// Sets `keep` to the steps that remain after dropping those that lack something.
void keep_what_counts(Case& c) {
    const Program program = generate(c);
    c.keeps_all = false;
    c.keep.clear();
    for (const Step& step : program) c.keep.push_back(step.index);
}

}  // namespace

Outcome run_case(const Case& c, Plant plant) { return run_once(c, plant, patience_s); }

Case shrink(Case c, Plant plant) {
    const std::int64_t deadline_ns = now_ns() + shrink_ns;
    const int runs = is_simulated(c) ? 1 : 2;  // where chance plays a part it may look away
    auto fails = [&](const Case& trial) {
        for (int run = 0; run < runs && now_ns() < deadline_ns; ++run) {
            if (!run_once(trial, plant, 3).is_good()) return true;
        }
        return false;
    };
    keep_what_counts(c);
    bool smaller = true;
    for (std::size_t chunk = c.keep.size(); smaller || chunk > 1;) {
        if (chunk > 1) chunk = (chunk + 1) / 2;
        smaller = false;
        for (std::size_t i = 0; i < c.keep.size();) {
            Case trial = c;
            const auto begin = trial.keep.begin() + static_cast<std::ptrdiff_t>(i);
            const auto steps = static_cast<std::ptrdiff_t>(std::min(chunk, c.keep.size() - i));
            trial.keep.erase(begin, begin + steps);
            if (fails(trial)) {
                c = trial;
                smaller = true;
            } else {
                i += chunk;
            }
        }
    }
    for (Case trial = c; trial.bytes_max > 1;) {
        trial.bytes_max /= 2;
        if (!fails(trial)) break;
        c = trial;
    }
    keep_what_counts(c);
    return c;
}

std::string report(const Case& c, const Outcome& outcome) {
    const Program program = generate(c);
    std::string text = "repeat with: ./dev test Random --case \"" + c.text() + "\"\n" +
                       outcome.failure + "\nprogram (" + std::to_string(program.size()) +
                       " steps, " + std::to_string(Settings::of(c).links) + " links, " +
                       Settings::of(c).environment() + "):\n";
    for (const Step& step : program) {
        text += "  " + std::to_string(step.index) + ": " + step.text() + "\n";
    }
    return text;
}

}  // namespace weft::test::random
