// Measures all sizes, and prints.
#include "bench/pipeline/pipeline.h"

#include <stdlib.h>

#include <algorithm>
#include <optional>

#include "bench/circumstances.h"
#include "bench/fibers.h"
#include "bench/join.h"
#include "bench/json_file.h"
#include "bench/launch.h"
#include "bench/links.h"
#include "bench/pipeline/measure.h"
#include "bench/pipeline/report.h"
#include "bench/progress.h"
#include "bench/sizes.h"

namespace weft::bench {
namespace {

struct PipelinePlan {
    std::vector<std::string> names;
    std::vector<Engine> engines;
    std::vector<std::int64_t> sizes;
    std::size_t segment_bytes = 0;
};

Result<PipelinePlan> make_plan(const PipelineOptions& options) {
    std::vector<std::string> of_library;
    for (const std::string& name : options.engines) of_library.push_back(engine_of_way(name));
    Result<std::vector<Engine>> engines = find_engines(of_library);
    if (!engines.is_ok()) return engines.status();
    Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    Result<std::vector<std::int64_t>> segments = parse_sizes(options.segment);
    if (!segments.is_ok()) return segments.status();
    if ((*segments).size() != 1 || (*segments)[0] < 1) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "segment = \"%s\"; expected one size of at least 1 byte",
                       options.segment.c_str());
    }
    if (Result<Product> product = Product::make(options.compute, 1); !product.is_ok())
        return product.status();
    if (Status status = check(options.against, options.testbed); !status.is_ok()) return status;
    return PipelinePlan{options.engines, *engines, *sizes,
                        static_cast<std::size_t>((*segments)[0])};
}

// OpenBLAS takes locks and allocates: it must not be preempted.
struct Products {
    Product wanted;
    Product own;
};

// Pipelining by hand comes first.
std::vector<PipelineContestant> pipeline_contestants(const Job& job, const PipelinePlan& plan,
                                                     Products& products, PlainSockets* sockets,
                                                     std::vector<Contestant>& of_library) {
    const std::size_t segment = plan.segment_bytes;
    std::vector<PipelineContestant> chosen;
    const auto add = [&](const std::string& name, weft_engine engine, const Job& in,
                         const Rival* rival, auto make, Product* product) {
        chosen.push_back({name, engine, in, rival, product, make});
    };
    const Rival* const mpi = Rival::of_this_job();
    const auto add_for_mpi = [&](const char* way, auto make, Product* product) {
        add(mpi->name() + std::string(way), WEFT_ENGINE_MANUAL, job, mpi, make, product);
    };
    const auto by_hand = [=](Case& c) { return bcast_by_hand(c, segment); };
    const auto by_hand_of_mpi = [=](Case& c) { return bcast_by_hand(c, segment, *mpi); };
    // The first that is preempted does another computation than those before it: pipelining by hand comes again.
    bool has_own = std::string(products.own.name()) == products.wanted.name();
    const auto add_preempted = [&](const std::string& name, weft_engine engine, const Job& in,
                                   auto make) {
        const bool is_first = !std::exchange(has_own, true);
        if (is_first && mpi)
            add_for_mpi(" by hand:own", by_hand_of_mpi, &products.own);
        else if (is_first)
            add("by hand:own", WEFT_ENGINE_MANUAL, job, nullptr, by_hand, &products.own);
        add(name, engine, in, nullptr, make, &products.own);
    };
    if (mpi) {
        add_for_mpi(" by hand", by_hand_of_mpi, &products.wanted);
        add_for_mpi(
            " ibcast", [=](Case& c) { return bcast_of_rival(c, *mpi); }, &products.wanted);
        add_for_mpi(
            " pthread", [=](Case& c) { return bcast_by_thread(c, segment, *mpi); },
            &products.wanted);
    }
    add("by hand", WEFT_ENGINE_MANUAL, job, nullptr, by_hand, &products.wanted);
    if (sockets) {
        const auto over_sockets = [=](Case& c) { return bcast_over_sockets(c, *sockets); };
        add("sockets", WEFT_ENGINE_MANUAL, job, nullptr, over_sockets, &products.wanted);
    }
    for (std::size_t i = 0; i < plan.engines.size(); ++i) {
        const Engine& engine = plan.engines[i];
        const FiberWay way = fiber_way(plan.names[i]);
        if (const std::string why = absence(job, way); !why.empty()) {
            if (job.rank == 0)
                std::printf("Left out: %s: %s\n", plan.names[i].c_str(), why.c_str());
            continue;
        }
        const std::optional<Contestant> one = contestant(job, engine);
        if (!one) continue;
        of_library.push_back(*one);
        const auto make = [way](Case& c) {
            return way.is_one ? bcast_in_fiber(c, way.preempts) : bcast_of_weft(c);
        };
        if (way.preempts != Preempts::nothing)
            add_preempted(plan.names[i], engine.value, one->job, make);
        else
            add(plan.names[i], engine.value, one->job, nullptr, make, &products.wanted);
    }
    return chosen;
}

int run_rank(const PipelineOptions& options, const PipelinePlan& plan) {
    setenv("WEFT_ALGORITHM", ("bcast=chain:segment=" + options.segment).c_str(), 1);
    bind_rank(options.testbed);
    Result<Product> product = Product::make(options.compute, options.matrix);
    if (!product.is_ok()) fail("%s", last_detail());
    Products products{*product, *Product::make("own", options.matrix)};
    const Job job = join_job(options.testbed.ranks);
    std::optional<PlainSockets> sockets;
    if (options.sockets) sockets.emplace(job);
    std::vector<Contestant> of_library;
    const std::vector<PipelineContestant> all =
        pipeline_contestants(job, plan, products, sockets ? &*sockets : nullptr, of_library);
    JsonFile json(job, options.json,
                  Rival::of_this_job() ? JsonFile::Old::kept : JsonFile::Old::replaced);
    const JsonLine origin = circumstances(job, options.testbed, arguments(options));
    Progress progress(job.rank == 0);
    std::vector<PipelineCell> cells;
    for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
        PipelineEffort effort{.repetitions = options.repetitions};
        effort.progress = [&](int repetition) {
            const double done = static_cast<double>(i) + (repetition + 1.0) / options.repetitions;
            progress.show(done / static_cast<double>(plan.sizes.size()),
                          "broadcasts of " + size_text(plan.sizes[i]));
        };
        const std::vector<PipelineCell> of_size =
            measure_pipelines(job, plan.sizes[i], all, effort);
        for (const PipelineCell& cell : of_size) {
            json.write(json_row(cell, by_hand_of(of_size, cell), options, origin));
            cells.push_back(cell);
        }
    }
    json.close();
    const std::string over = transports_in_use(job);
    if (job.rank == 0) {
        progress.clear();
        print_legend(stdout, options, over, cells);
        print_table(stdout, cells);
        std::printf("\n%s\n", conclusion(cells).c_str());
    }
    print_offload(job, of_library);
    print_links(job, options.testbed);
    leave_job();
    return 0;
}

}  // namespace

std::vector<std::string> arguments(const PipelineOptions& options) {
    std::vector<std::string> words = {"bench",         "pipeline",
                                      "--sizes",       options.sizes,
                                      "--segment",     options.segment,
                                      "--compute",     options.compute,
                                      "--matrix",      std::to_string(options.matrix),
                                      "--repetitions", std::to_string(options.repetitions)};
    for (const std::string& name : options.engines) words.insert(words.end(), {"--engine", name});
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    for (const std::string& word : arguments(options.against)) words.push_back(word);
    if (options.sockets) words.emplace_back("--sockets");
    if (!options.json.empty()) words.insert(words.end(), {"--json", options.json});
    return words;
}

int bench_pipeline(const PipelineOptions& options) {
    const Result<PipelinePlan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench pipeline: %s\n", last_detail());
        return 2;
    }
    if (options.testbed.ranks < 2) {
        std::fprintf(stderr, "weft bench pipeline: --ranks %d; expected at least 2\n",
                     options.testbed.ranks);
        return 2;
    }
    if (options.sockets && options.testbed.ranks != 2) {
        std::fprintf(stderr, "weft bench pipeline: --sockets with --ranks %d; expected 2\n",
                     options.testbed.ranks);
        return 2;
    }
    if (is_rank()) return run_rank(options, *plan);
    Launch job{options.testbed, arguments(options)};
    if (!options.against.is_wanted()) return launch(job);
    std::string threads = rival_threads_setting;
    threads += "=1";
    job.settings.push_back(threads);
    return launch_against(options.against, job);
}

}  // namespace weft::bench
