// Measures all sizes, and prints.
#include "bench/relay/relay.h"

#include <cstdlib>

#include "base/cores.h"
#include "bench/circumstances.h"
#include "bench/join.h"
#include "bench/json_file.h"
#include "bench/launch.h"
#include "bench/links.h"
#include "bench/progress.h"
#include "bench/relay/long_slice.h"
#include "bench/relay/report.h"
#include "bench/sizes.h"
#include "weft/machine.h"

namespace weft::bench {
namespace {

constexpr int ranks = 3;
const std::string long_slice = "thread:long";

struct Plan {
    std::vector<std::string> names;
    std::vector<Engine> engines;
    std::vector<std::int64_t> sizes;
};

Result<Plan> make_plan(const RelayOptions& options) {
    Plan plan;
    plan.names = options.engines;
    std::vector<std::string> of_library = options.engines;
    for (std::string& name : of_library) {
        name = name == long_slice ? "thread" : engine_of_way(name);
    }
    Result<std::vector<Engine>> engines = find_engines(of_library);
    if (!engines.is_ok()) return engines.status();
    plan.engines = *engines;
    Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    plan.sizes = *sizes;
    return plan;
}

// The middle rank has its own core; the others get what is left.
std::string cores_for_ranks() {
    const std::vector<int> cores = own_cores();
    if (cores.size() < 2) return "";
    return comma_list({cores[0], cores[1], cores.size() > 2 ? cores[2] : cores[0]});
}

std::vector<RelayContestant> relay_contestants(const Job& job, const Plan& plan) {
    std::vector<RelayContestant> chosen;
    for (std::size_t i = 0; i < plan.engines.size(); ++i) {
        const bool is_long = plan.names[i] == long_slice;
        if (is_long && !has_short_slice()) {
            if (job.rank == 0) {
                std::printf("Left out: %s: this kernel knows no short slice\n", long_slice.c_str());
            }
            continue;
        }
        const FiberWay way = fiber_way(plan.names[i]);
        if (const std::string why = absence(job, way); !why.empty()) {
            if (job.rank == 0)
                std::printf("Left out: %s: %s\n", plan.names[i].c_str(), why.c_str());
            continue;
        }
        if (const auto one = contestant(job, plan.engines[i])) {
            chosen.push_back({plan.names[i], *one, is_long, way});
        }
    }
    if (chosen.empty()) fail("no engine is left to measure");
    return chosen;
}

int run_rank(const RelayOptions& options, const Plan& plan) {
    setenv("WEFT_ALGORITHM",
           options.pipelined ? "bcast=chain:segment=64K" : "bcast=chain:segment=1G", 1);
    const Job job = join_job(ranks);
    const std::vector<RelayContestant> engines = relay_contestants(job, plan);
    JsonFile json(job, options.json);
    const JsonLine origin = circumstances(job, options.testbed, arguments(options));
    Progress progress(job.rank == 0);
    std::vector<RelayCell> cells;
    for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
        RelayEffort effort{options.repetitions, options.relays, options.populate, {}};
        effort.progress = [&](int repetition) {
            const double done = static_cast<double>(i) + (repetition + 1.0) / options.repetitions;
            progress.show(done / static_cast<double>(plan.sizes.size()),
                          "relays of " + size_text(plan.sizes[i]));
        };
        for (const RelayCell& cell : measure_relays(job, plan.sizes[i], engines, effort)) {
            json.write(json_row(cell, options, origin));
            cells.push_back(cell);
        }
    }
    json.close();
    const std::string over = transports_in_use(job);
    if (job.rank == 0) {
        progress.clear();
        print_legend(stdout, options, over);
        print_table(stdout, cells, options);
        std::printf("\n%s\n", conclusion(cells, options).c_str());
    }
    std::vector<Contestant> chosen;
    for (const RelayContestant& one : engines) chosen.push_back(one.in);
    print_offload(job, chosen);
    print_links(job, options.testbed);
    leave_job();
    return 0;
}

}  // namespace

std::vector<std::string> arguments(const RelayOptions& options) {
    std::vector<std::string> words = {"bench",         "relay",
                                      "--sizes",       options.sizes,
                                      "--repetitions", std::to_string(options.repetitions),
                                      "--relays",      std::to_string(options.relays)};
    for (const std::string& name : options.engines) words.insert(words.end(), {"--engine", name});
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    if (options.pipelined) words.emplace_back("--pipelined");
    if (options.populate) words.emplace_back("--populate");
    if (options.bars) words.emplace_back("--bars");
    if (!options.json.empty()) words.insert(words.end(), {"--json", options.json});
    return words;
}

int bench_relay(const RelayOptions& wanted) {
    RelayOptions options = wanted;
    const Result<Plan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench relay: %s\n", last_detail());
        return 2;
    }
    if (options.testbed.ranks != ranks) {
        std::fprintf(stderr, "weft bench relay: --ranks %d; expected %d\n", options.testbed.ranks,
                     ranks);
        return 2;
    }
    if (is_rank()) return run_rank(options, *plan);
    if (options.testbed.cores.empty()) options.testbed.cores = cores_for_ranks();
    if (options.testbed.cores.empty()) {
        std::fprintf(stderr,
                     "weft bench relay: one core; expected at least two, one of them for the rank "
                     "that computes\n");
        return 2;
    }
    if (usable_cores() < ranks) {
        std::printf("Note: ranks 0 and 2 share a core, rank 1 has its own (%s).\n",
                    options.testbed.cores.c_str());
    }
    return launch({options.testbed, arguments(options)});
}

}  // namespace weft::bench
