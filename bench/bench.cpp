// The options of `weft bench`.
#include <functional>
#include <memory>

#include "base/engine_kind.h"
#include "base/transport_kind.h"
#include "bench/all.h"
#include "bench/background.h"
#include "bench/cpu.h"
#include "bench/dropin/dropin.h"
#include "bench/idle.h"
#include "bench/latency.h"
#include "bench/loggp/loggp.h"
#include "bench/micro/micro.h"
#include "bench/overlap/overlap.h"
#include "bench/pipeline/pipeline.h"
#include "bench/predict/predict.h"
#include "bench/relay/relay.h"
#include "bench/tune/tune.h"
#include "bench/waits/waits.h"
#include "weft/cluster.h"
#include "weft/commands.h"
#include "weft/seconds.h"
#include "weft/simulate_options.h"

namespace weft {
namespace {

using namespace bench;

constexpr int ranks_max = 1024;
constexpr int skew_us_max = 1'000'000;
constexpr int matrix_max = 8192;

void end_with(int status) {
    if (status != 0) throw CLI::RuntimeError(status);
}

void add_testbed_options(CLI::App& command, Testbed& testbed, bool takes_mpi = false) {
    std::vector<std::string> transports;
    for (const TransportTraits& one : transport_list)
        if (takes_mpi || !one.needs_mpi) transports.emplace_back(one.name);
    command.add_option("--ranks", testbed.ranks, "How many ranks")
        ->check(CLI::Range(1, ranks_max))
        ->capture_default_str();
    command.add_option("--bind", testbed.bind, "core: rank r stays on the r-th core; none")
        ->check(CLI::IsMember({"core", "none"}))
        ->capture_default_str();
    command
        .add_option("--transport", testbed.transport,
                    "auto, or the name of one, as for WEFT_TRANSPORT")
        ->check(CLI::IsMember(transports))
        ->capture_default_str();
    command
        .add_option("--nodes", testbed.nodes,
                    "Nodes of an emulated cluster, as for weft run; 0: this machine alone")
        ->check(CLI::Range(0, ranks_max))
        ->capture_default_str();
    command.add_option("--rate", testbed.rate, "Rate of each link of a node")
        ->capture_default_str();
    command.add_option("--links", testbed.links, "Links per node, as for weft run")
        ->check(CLI::Range(1, cluster_links_max))
        ->capture_default_str();
    command
        .add_option("--gso", testbed.gso_bytes,
                    "Bytes of the largest packet that a node's link takes, as for weft run")
        ->check(CLI::Range(1500, 65536));
    command.add_option("--cores", testbed.cores,
                       "Rank r stays on the r-th of these cores, such as 0,1; instead of --bind");
}

void add_against_option(CLI::App& command, Against& against) {
    command
        .add_option("--against", against.mpis,
                    "Compare with these MPIs, in a job of each: mpich, openmpi, impi, or all; "
                    "appends to the "
                    "JSON file")
        ->delimiter(',');
}

template <class Value>
void set_unless_given(const CLI::App& command, const char* option, Value& value, Value wanted) {
    if (command.count(option) == 0) value = std::move(wanted);
}

void add_overlap_options(CLI::App& command, OverlapOptions& options) {
    command.add_option("--collective", options.collectives, "Which, such as ibcast,iallreduce")
        ->delimiter(',')
        ->capture_default_str();
    command
        .add_option("--engine", options.engines,
                    "Progress engines: " + engine_names(/*with_hidden=*/true))
        ->delimiter(',')
        ->capture_default_str();
    command
        .add_option("--sizes", options.sizes,
                    "Bytes: a range such as 8:4M, or a list such as 8,512,16K")
        ->capture_default_str();
    command.add_option("--repetitions", options.repetitions, "How many; the median counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command.add_option("--tests", options.tests, "Calls of weft_test during the computation")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command.add_option("--json", options.json, "Write one line of JSON per row to this file");
    command
        .add_option("--budget", options.budget_s,
                    "Seconds; leaves out repetitions rather than take longer; 0: no limit")
        ->check(seconds(Least::zero))
        ->capture_default_str();
    command.add_flag("--attainable", options.attainable,
                     "Also measure how much overlap a plain exchange over sockets allows");
    command.add_flag("--bars", options.bars, "Mark rows that have a bar as met or missed");
    add_testbed_options(command, options.testbed);
}

void add_overlap(CLI::App& bench) {
    auto options = std::make_shared<OverlapOptions>();
    CLI::App* command = bench.add_subcommand(
        "overlap", "How much of each collective hides behind computation, per engine");
    add_overlap_options(*command, *options);
    command->add_flag("--summary", options->summary,
                      "One short table, with the same work for every engine of a row");
    command
        ->add_option("--copy-core", options->copy_core,
                     "Also measure a plain thread of each rank's that copies, on this core")
        ->check(CLI::NonNegativeNumber);
    add_against_option(*command, options->against);
    command->add_flag("--async", options->against.async,
                      "With the asynchronous progress of the MPIs; then without Weft beside them");
    command->callback([command, options] {
        if (options->against.is_wanted()) {
            set_unless_given(*command, "--engine", options->engines, {"auto"});
            set_unless_given(*command, "--collective", options->collectives,
                             collectives_beside_mpis);
        }
        end_with(bench_overlap(*options));
    });
}

void add_idle(CLI::App& bench) {
    auto options = std::make_shared<IdleOptions>();
    CLI::App* command =
        bench.add_subcommand("idle", "What waiting for a late rank costs in CPU time, per engine");
    command->add_option("--engine", options->engines, "Progress engines, as those of overlap")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--late", options->late_s, "Seconds that the last rank is late")
        ->check(seconds(Least::above_zero))
        ->capture_default_str();
    command->add_option("--ranks", options->ranks, "How many ranks")
        ->check(CLI::Range(2, ranks_max))
        ->capture_default_str();
    add_against_option(*command, options->against);
    command->callback([options] { end_with(bench_idle(*options)); });
}

void add_micro(CLI::App& bench) {
    auto options = std::make_shared<MicroOptions>();
    CLI::App* command =
        bench.add_subcommand("micro", "The smallest costs, beside what the machine itself takes");
    command->add_option("--repetitions", options->repetitions, "How often; the median counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_flag("--bars", options->bars, "Mark rows that have a bar as met or missed");
    command->callback([options] { end_with(bench_micro(*options)); });
}

void add_background(CLI::App& bench) {
    auto options = std::make_shared<BackgroundOptions>();
    CLI::App* command = bench.add_subcommand(
        "background", "Whether collectives complete while the program sleeps, on emulated nodes");
    command->add_option("--case", options->cases, "Collectives and algorithms, as ibcast:chain")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--engine", options->engine, "Progress engine")->capture_default_str();
    command->add_option("--sizes", options->sizes, "Bytes of each rank, as 64K,1M")
        ->capture_default_str();
    command->add_option("--repetitions", options->repetitions, "How often; the median counts")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_testbed_options(*command, options->testbed);
    command->callback([options] { end_with(bench_background(*options)); });
}

void add_latency(CLI::App& bench) {
    auto options = std::make_shared<LatencyOptions>();
    CLI::App* command = bench.add_subcommand(
        "latency", "Broadcast and acknowledgement of 8 bytes, beside plain sockets");
    command->add_option("--engine", options->engines, "Progress engines, as those of overlap")
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--repetitions", options->repetitions,
                     "How often the library and the sockets take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_testbed_options(*command, options->testbed);
    add_against_option(*command, options->against);
    command->callback([command, options] {
        if (options->against.is_wanted()) {
            set_unless_given(*command, "--engine", options->engines, {"auto"});
            set_unless_given(*command, "--transport", options->testbed.transport, {"auto"});
        }
        end_with(bench_latency(*options));
    });
}

void add_loggp(CLI::App& bench) {
    auto options = std::make_shared<LogGpOptions>();
    CLI::App* command = bench.add_subcommand(
        "loggp", "LogGP's parameters of a transport, with confidence intervals");
    command
        ->add_option("--engine", options->engine,
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
    command->add_option("--against", options->against.mpis,
                        "Measure Weft over the messages of this MPI: mpich, openmpi or impi");
    add_testbed_options(*command, options->testbed, /*takes_mpi=*/true);
    command->callback([command, options] {
        if (options->against.is_wanted())
            set_unless_given(*command, "--transport", options->testbed.transport, {"mpi"});
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
    add_testbed_options(*command, options->testbed);
    command->callback([command, options] {
        if (options->idle_share) {
            if (!options->collectives.empty())
                throw CLI::ValidationError("--idle-share with --collective", "it has its own");
            set_unless_given(*command, "--sizes", options->sizes, std::string("64K,256K,1M"));
        }
        end_with(bench_predict(*options));
    });
}

void add_cpu(CLI::App& bench) {
    auto options = std::make_shared<CpuOptions>();
    CLI::App* command =
        bench.add_subcommand("cpu", "CPU time of a large message, beside blocking sockets");
    command->add_option("--engine", options->engines, "Progress engines, as those of overlap")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--sizes", options->sizes, "Bytes, as 64K,4M")->capture_default_str();
    command
        ->add_option("--repetitions", options->repetitions,
                     "How often the library and the sockets take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_testbed_options(*command, options->testbed);
    command->add_flag("--bars", options->bars, "Mark rows that have a bar as met or missed");
    command->callback([options] { end_with(bench_cpu(*options)); });
}

void add_relay(CLI::App& bench) {
    auto options = std::make_shared<RelayOptions>();
    CLI::App* command =
        bench.add_subcommand("relay", "How soon a message passes a rank that computes, per engine");
    command
        ->add_option("--engine", options->engines,
                     "Progress engines, as those of overlap; thread:long: without the short slice; "
                     "fiber:timer, fiber:arrival: the computation is a fiber that is preempted")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--sizes", options->sizes, "Bytes, as 64K,1M")->capture_default_str();
    command->add_option("--repetitions", options->repetitions, "How often the engines take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--relays", options->relays, "How many at a time")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_flag("--pipelined", options->pipelined,
                      "In segments of 64 KiB, each passed on as soon as it is there");
    command->add_flag("--populate", options->populate,
                      "The middle rank is inside mmap(MAP_POPULATE) of 512 MiB instead of a loop");
    command->add_option("--json", options->json, "Write one line of JSON per row to this file");
    add_testbed_options(*command, options->testbed);
    command->add_flag("--bars", options->bars, "Mark rows that have a bar as met or missed");
    command->callback([options] { end_with(bench_relay(*options)); });
}

void add_pipeline(CLI::App& bench) {
    auto options = std::make_shared<PipelineOptions>();
    CLI::App* command = bench.add_subcommand(
        "pipeline",
        "A broadcast along a chain behind a fixed computation, beside pipelining by hand");
    command
        ->add_option("--engine", options->engines,
                     "Progress engines, as those of overlap; fiber: a fiber waits meanwhile; "
                     "fiber:timer, fiber:arrival: the computation is preempted")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--sizes", options->sizes, "Bytes, as 64K,1M")->capture_default_str();
    command->add_option("--segment", options->segment, "Bytes of a segment")->capture_default_str();
    command
        ->add_option("--compute", options->compute,
                     "dgemm of which library: openblas, own, or auto: OpenBLAS if it is there")
        ->capture_default_str();
    command->add_option("--matrix", options->matrix, "Rows and columns of a matrix")
        ->check(CLI::Range(1, matrix_max))
        ->capture_default_str();
    command->add_option("--repetitions", options->repetitions, "How often all take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_flag("--sockets", options->sockets, "Also over plain sockets between 2 ranks");
    command->add_option("--json", options->json, "Write one line of JSON per row to this file");
    add_testbed_options(*command, options->testbed);
    add_against_option(*command, options->against);
    command->callback([command, options] {
        if (options->against.is_wanted())
            set_unless_given(*command, "--engine", options->engines, {"auto"});
        end_with(bench_pipeline(*options));
    });
}

void add_waits(CLI::App& bench) {
    auto options = std::make_shared<WaitsOptions>();
    CLI::App* command = bench.add_subcommand(
        "waits", "What a rank's waits cost while other ranks compute, per engine");
    command->add_option("--situation", options->situations, "Which: late, chain, test, skew")
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--engine,--engines", options->engines,
                     "Progress engines, as those of overlap; ratios are to the first")
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--collective,--collectives", options->collectives,
                     "Which, such as ibcast,iallreduce; of chain always ibcast")
        ->delimiter(',');
    command->add_option("--sizes", options->sizes, "Bytes, as 64K,1M");
    command->add_option("--repetitions", options->repetitions, "How often the engines take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command
        ->add_option("--skew-us", options->skew_us,
                     "skew: ranks start at most this many microseconds apart")
        ->check(CLI::Range(0, skew_us_max))
        ->capture_default_str();
    command->add_option("--seed", options->seed, "skew: of the random times")
        ->capture_default_str();
    command->add_option("--json", options->json, "Write one line of JSON per row to this file");
    add_testbed_options(*command, options->testbed);
    command->callback([options] { end_with(bench_waits(*options)); });
}

void add_dropin(CLI::App& bench) {
    auto options = std::make_shared<DropinOptions>();
    CLI::App* command = bench.add_subcommand(
        "dropin", "An MPI program without and with the drop-in library, beside MPIs");
    command->add_option("--measure", options->measures, "Which: overlap, latency, blocking, calls")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--collective", options->collectives, "Which, such as ibcast,iallreduce")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--sizes", options->sizes, "overlap: bytes, as 64K,1M")
        ->capture_default_str();
    command->add_option("--latency-sizes", options->latency_sizes,
                        "latency, blocking: bytes; default: 8:4M, between nodes 8; of blocking "
                        "8,1K,64K,1M");
    command
        ->add_option("--rounds", options->rounds,
                     "How often jobs with and without the library take turns")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--repetitions", options->repetitions, "overlap: how many in each job")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command
        ->add_option(
            "--turns", options->turns,
            "latency, blocking, calls: how often the library and the MPI take turns in each "
            "job")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--json", options->json, "Write one line of JSON per row to this file");
    add_testbed_options(*command, options->testbed);
    add_against_option(*command, options->against);
    command->add_flag("--async", options->against.async,
                      "overlap: the jobs without the library with the MPI's asynchronous progress");
    command->callback([options] { end_with(bench_dropin(*options)); });
}

void add_all(CLI::App& bench) {
    auto options = std::make_shared<AllOptions>();
    CLI::App* command = bench.add_subcommand(
        "all", "What overlaps here and on an emulated cluster, in about a minute");
    add_overlap_options(*command, options->overlap);
    command->add_flag("--verbose", options->verbose,
                      "Every size and engine, relays and the smallest costs; about two minutes");
    add_against_option(*command, options->against.mpis);
    command->callback([command, options] {
        OverlapOptions& overlap = options->overlap;
        overlap.summary = !options->verbose;
        if (options->verbose) {
            const OverlapOptions& wanted = options->verbose_overlap;
            set_unless_given(*command, "--collective", overlap.collectives, wanted.collectives);
            set_unless_given(*command, "--engine", overlap.engines, wanted.engines);
            set_unless_given(*command, "--sizes", overlap.sizes, wanted.sizes);
            set_unless_given(*command, "--repetitions", overlap.repetitions, wanted.repetitions);
            set_unless_given(*command, "--budget", overlap.budget_s, wanted.budget_s);
            options->cluster.sizes = options->verbose_cluster_sizes;
        }
        // Options given by name also apply to the emulated cluster.
        OverlapOptions& cluster = options->cluster;
        if (command->count("--collective") > 0) cluster.collectives = overlap.collectives;
        if (command->count("--engine") > 0) cluster.engines = overlap.engines;
        if (command->count("--sizes") > 0) cluster.sizes = overlap.sizes;
        if (command->count("--repetitions") > 0) cluster.repetitions = overlap.repetitions;
        if (command->count("--budget") > 0) cluster.budget_s = overlap.budget_s;
        end_with(bench_all(*options));
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
    command->add_option("-o,--output", options->output, "The table")->capture_default_str();
    add_testbed_options(*command, options->testbed);
    command->callback([options] { end_with(tune(*options)); });
}

void add_bench(CLI::App& app) {
    CLI::App* bench = app.add_subcommand("bench", "Measure, on this machine");
    bench->require_subcommand(1);
    add_all(*bench);
    add_overlap(*bench);
    add_background(*bench);
    add_latency(*bench);
    add_loggp(*bench);
    add_predict(*bench);
    add_pipeline(*bench);
    add_relay(*bench);
    add_waits(*bench);
    add_dropin(*bench);
    add_cpu(*bench);
    add_idle(*bench);
    add_micro(*bench);
}

}  // namespace weft
