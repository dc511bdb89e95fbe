// The options of `weft bench`.
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "base/engine_kind.h"
#include "base/transport_kind.h"
#include "bench/launch.h"
#include "bench/loggp/loggp.h"
#include "bench/micro.h"
#include "bench/player/mpi_job.h"
#include "bench/predict/predict.h"
#include "bench/print/experiment.h"
#include "bench/print/print.h"
#include "bench/run/as_rank.h"
#include "bench/run/rank.h"
#include "bench/run/run.h"
#include "bench/temporary_folder.h"
#include "bench/tune/tune.h"
#include "weft/cluster.h"
#include "weft/commands.h"
#include "weft/seconds.h"
#include "weft/simulate_options.h"

namespace weft {
namespace {

using namespace bench;

constexpr int ranks_max = 1024;

// This program's arguments.
std::vector<std::string> command_line() {
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    if (!words.empty()) words.erase(words.begin());
    return words;
}

void end_with(int status) {
    if (status != 0) throw CLI::RuntimeError(status);
}

void add_place_options(CLI::App& command, Cell& place, bool takes_mpi = false) {
    std::vector<std::string> transports;
    for (const TransportTraits& one : transport_list)
        if (takes_mpi || !one.needs_mpi) transports.emplace_back(one.name);
    command.add_option("--ranks", place.ranks, "How many ranks")
        ->check(CLI::Range(1, ranks_max))
        ->capture_default_str();
    command
        .add_option_function<std::string>(
            "--bind",
            [&place](const std::string& bind) {
                if (bind == "none" && place.cores.empty()) place.cores = bind;
            },
            "core: rank r stays on the r-th core; none")
        ->check(CLI::IsMember({"core", "none"}))
        ->default_str("core");
    command
        .add_option("--transport", place.transport,
                    "auto, or the name of one, as for WEFT_TRANSPORT")
        ->check(CLI::IsMember(transports))
        ->capture_default_str();
    command
        .add_option("--nodes", place.nodes,
                    "Nodes of an emulated cluster, as for weft run; 0: this machine alone")
        ->check(CLI::Range(0, ranks_max))
        ->capture_default_str();
    command.add_option("--rate", place.link.rate, "Rate of each link of a node")
        ->capture_default_str();
    command.add_option("--links", place.link.links, "Links per node, as for weft run")
        ->check(CLI::Range(1, cluster_links_max))
        ->capture_default_str();
    command
        .add_option("--gso", place.link.gso,
                    "Bytes of the largest packet that a node's link takes, as for weft run")
        ->check(CLI::Range(1500, 65536));
    command.add_option("--cores", place.cores,
                       "Rank r stays on the r-th of these cores, such as 0,1; instead of --bind");
}

template <class Value>
void set_unless_given(const CLI::App& command, const char* option, Value& value, Value wanted) {
    if (command.count(option) == 0) value = std::move(wanted);
}

void add_loggp(CLI::App& bench) {
    auto options = std::make_shared<LogGpOptions>();
    CLI::App* command = bench.add_subcommand(
        "loggp", "LogGP's parameters of a transport, with confidence intervals");
    command
        ->add_option("--engine", options->place.engine,
                     "Progress engine: " + engine_names(/*with_hidden=*/true))
        ->capture_default_str();
    command->add_option("--small", options->small, "Bytes of small messages, as 1,8,64");
    command->add_option("--eager", options->eager, "... of messages below the eager threshold");
    command->add_option("--large", options->large, "... of messages above it");
    command->add_option("--repetitions", options->repetitions, "How many; the median counts")
        ->check(CLI::Range(6, 1'000'000))
        ->capture_default_str();
    command->add_option("--json", options->json, "Write the parameters to this file");
    command->add_flag("--simulated", options->is_simulated,
                      "Measure the simulator instead, which has the parameters that follow");
    simulate::add_parameter_options(*command, options->parameters);
    command->add_option("--against", options->mpis,
                        "Measure Weft over the messages of this MPI: mpich, openmpi or impi");
    add_place_options(*command, options->place, /*takes_mpi=*/true);
    command->callback([command, options] {
        if (!options->mpis.empty())
            set_unless_given(*command, "--transport", options->place.transport, {"mpi"});
        end_with(bench_loggp(*options));
    });
}

void add_predict(CLI::App& bench) {
    auto options = std::make_shared<PredictOptions>();
    CLI::App* command = bench.add_subcommand(
        "predict", "What the simulator says, with measured parameters, beside what is measured");
    command
        ->add_option("--model", options->model,
                     "The parameters, a file that weft bench loggp --json has written")
        ->required();
    command->add_option("--inside", options->inside,
                        "Such a file for ranks of one node; default: as between nodes");
    command->add_option("--shared", options->shared,
                        "Such a file of two ranks on one core; needed if ranks share cores");
    command
        ->add_option("--collective,--collectives", options->collectives,
                     "Which, such as ibcast,iallreduce; default: all whose blocks have one size")
        ->delimiter(',');
    command->add_option("--sizes", options->sizes, "Bytes of a block, as 8,4K")
        ->capture_default_str();
    command->add_option("--repetitions", options->repetitions, "How many; the median counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--json", options->json, "Also write all rows to this file");
    command->add_flag(
        "--idle-share", options->idle_share,
        "The CPU's idle share by the case paper's equations, beside getrusage, for 2, 4, "
        "... ranks");
    add_place_options(*command, options->place);
    command->callback([command, options] {
        if (options->idle_share) {
            if (!options->collectives.empty())
                throw CLI::ValidationError("--idle-share with --collective", "it has its own");
            set_unless_given(*command, "--sizes", options->sizes, std::string("64K,256K,1M"));
        }
        end_with(bench_predict(*options));
    });
}

// `weft bench`: scenarios.
struct ScenarioOptions {
    Wanted choice;
    RunOptions run;
    std::string show;
    bool list = false;
    bool plan = false;
};

int bench_scenarios(ScenarioOptions& options) {
    if (options.list) {
        for (const bool is_of_paper : {false, true}) {
            if (is_of_paper) std::printf("\nFor what five papers say (docs/papers.md):\n");
            for (const KnownScenario& one : known_scenarios())
                if (one.is_of_paper == is_of_paper)
                    std::printf("%-*s  %s\n", is_of_paper ? 28 : 14, one.name.c_str(),
                                one.question.c_str());
        }
        return 0;
    }
    if (!options.show.empty()) return print_samples(stdout, options.show);
    if (options.choice.names.empty()) options.choice.names = {"all"};
    Result<std::vector<std::string>> mpis = find_mpis(options.choice.mpis);
    if (mpis.is_ok() && mpis->empty() && options.choice.async)
        mpis = failure(WEFT_REFUSED_ARGUMENT, "--async without --against");
    if (mpis.is_ok()) options.choice.mpis = *mpis;
    Result<Plan> plan = mpis.is_ok() ? expand(options.choice) : Result<Plan>(mpis.status());
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench: %s\n", last_detail());
        return 2;
    }
    if (options.plan) {
        for (const JobPlan& job : plan->jobs) std::printf("%s\n", to_json(job).dump(2).c_str());
        return 0;
    }
    std::optional<TemporaryFolder> folder;
    if (options.run.samples.empty())
        options.run.samples = folder.emplace().path() + "/samples.jsonl";
    if (is_rank())
        return run_as_rank(*plan, options.run) == 0 ? print_samples(stdout, options.run.samples)
                                                    : 0;
    const int status = run(*plan, options.run);
    const int printed = print_samples(stdout, options.run.samples);
    if (status != 0 || printed != 0) return status != 0 ? status : printed;
    if (!read_samples(options.run.samples).experiments.empty()) return 0;
    std::fputs("weft bench: nothing was measured\n", stderr);
    return 1;
}

void add_scenario_options(CLI::App& bench) {
    auto options = std::make_shared<ScenarioOptions>();
    Wanted& choice = options->choice;
    bench.add_option("scenario", choice.names,
                     "Names of scenarios, or files *.json; default: all, in about a minute");
    bench.add_option("--set", choice.set,
                     "AXIS=VALUES: instead of the scenario's, such as bytes=64K,1M, "
                     "engine=thread,auto or compute.for=10ms");
    bench
        .add_option("--against", choice.mpis,
                    "The MPIs that scenarios are compared with: mpich, openmpi, impi, or all")
        ->delimiter(',');
    bench.add_flag("--async", choice.async, "With the asynchronous progress of the MPIs");
    bench.add_option("--build", choice.build,
                     "Another build of Weft, for the scenarios that compare with one: its folder "
                     "or its libweft.so");
    bench.add_option("--json", options->run.samples, "Write the samples to this file");
    bench.add_option("--seed", options->run.seed, "Of orders, delays and data")
        ->capture_default_str();
    bench.add_option("--show", options->show, "Only show what is in this file of samples");
    bench.add_flag("--list", options->list, "Only list the scenarios and their questions");
    bench.add_flag("--plan", options->plan, "Only show what would be measured, as JSON");
    bench.callback([&bench, options] {
        if (!bench.get_subcommands().empty()) return;
        options->run.command = command_line();
        end_with(bench_scenarios(*options));
    });
}

}  // namespace

void add_tune(CLI::App& app) {
    auto options = std::make_shared<TuneOptions>();
    CLI::App* command = app.add_subcommand(
        "tune", "Measure which algorithms are the fastest here, and write them to a table");
    command
        ->add_option("--collective,--collectives", options->collectives,
                     "Which, such as ibcast,iallreduce; default: all that need no topology")
        ->delimiter(',');
    command->add_option("--sizes", options->sizes, "Bytes, as 8:4M or 64K,1M")
        ->capture_default_str();
    command
        ->add_option(
            "--repetitions", options->repetitions,
            "At most this many for each algorithm and size; fewer if its interval is narrow")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_flag("--all-repetitions", options->all_repetitions,
                      "Measure every algorithm so often, also slow ones and narrow intervals");
    CLI::Option* const overlapped = command->add_flag(
        "--overlapped", options->overlapped,
        "Rank by the time beside a computation that takes as long, separately for each engine");
    command
        ->add_option("--engine,--engines", options->engines,
                     "With these alone, such as thread,auto; default: WEFT_ENGINE, or manual, "
                     "thread, kernel and auto")
        ->delimiter(',')
        ->needs(overlapped);
    command->add_option("-o,--output", options->output, "The table")->capture_default_str();
    add_place_options(*command, options->place);
    command->callback([options] { end_with(tune(*options)); });
}

void add_bench(CLI::App& app) {
    CLI::App* bench = app.add_subcommand("bench", "Measure, on this machine");
    bench->require_subcommand(0, 1);
    add_scenario_options(*bench);
    CLI::App* rank = app.add_subcommand("bench-rank", "A rank of weft bench")->group("");
    auto plan = std::make_shared<std::string>();
    rank->add_option("plan", *plan, "The plan's file")->required();
    rank->callback([plan] { end_with(run_rank(*plan)); });
    auto repetitions = std::make_shared<int>(400);
    CLI::App* micro = bench->add_subcommand(
        "micro", "How long building a schedule takes, and how fast vectors are combined");
    micro->add_option("--repetitions", *repetitions, "How often; the median counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    micro->callback([repetitions] { end_with(bench_micro(*repetitions)); });
    add_loggp(*bench);
    add_predict(*bench);
}

}  // namespace weft
