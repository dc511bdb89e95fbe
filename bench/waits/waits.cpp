// Measures all situations, and prints.
#include "bench/waits/waits.h"

#include <cerrno>
#include <cstring>

#include "base/cores.h"
#include "bench/circumstances.h"
#include "bench/join.h"
#include "bench/json_file.h"
#include "bench/launch.h"
#include "bench/links.h"
#include "bench/progress.h"
#include "bench/waits/report.h"
#include "weft/machine.h"

namespace weft::bench {
namespace {

// One situation.
struct Part {
    const Situation* situation;
    std::vector<Point> points;
    int ranks;
};

struct Plan {
    std::vector<Part> parts;
    std::vector<Engine> engines;
};

// Ranks of a chain may share cores, except for the last, which waits for the others.
std::string cores_for_chain(int ranks) {
    const std::vector<int> cores = own_cores();
    if (cores.size() < 2) return "";
    std::vector<int> chosen;
    for (int rank = 0; rank < ranks - 1; ++rank) {
        chosen.push_back(cores[static_cast<std::size_t>(rank) % (cores.size() - 1)]);
    }
    chosen.push_back(cores.back());
    return comma_list(chosen);
}

// The options of this situation's job.
WaitsOptions options_of(const Part& part, const WaitsOptions& all) {
    WaitsOptions options = all;
    options.situations = {part.situation->name};
    options.testbed.ranks = part.ranks;
    return options;
}

Result<Plan> make_plan(const WaitsOptions& options) {
    Plan plan;
    Result<std::vector<Engine>> engines = find_engines(options.engines);
    if (!engines.is_ok()) return engines.status();
    plan.engines = *engines;
    for (const std::string& name : options.situations) {
        const Result<const Situation*> found = find_situation(name);
        if (!found.is_ok()) return found.status();
        const Situation& situation = **found;
        const bool is_own = options.collectives.empty() || situation.has_fixed_collective;
        // Unknown names are refused even if no situation uses them.
        const std::string& sizes = options.sizes.empty() ? situation.sizes : options.sizes;
        const Result<std::vector<Point>> wanted = find_points(options.collectives, sizes);
        if (!wanted.is_ok()) return wanted.status();
        const Result<std::vector<Point>> own = find_points(situation.collectives, sizes);
        if (!own.is_ok()) return own.status();
        plan.parts.push_back({&situation, is_own ? *own : *wanted,
                              situation.ranks > 0 ? situation.ranks : options.testbed.ranks});
    }
    return plan;
}

void measure_part(const Job& job, const WaitsOptions& all, const Plan& plan, const Part& part) {
    const WaitsOptions options = options_of(part, all);
    const Situation& situation = *part.situation;
    std::vector<Contestant> engines = contestants(job, plan.engines);
    prepare_contestants(job, situation, engines);
    JsonFile json(job, options.json, JsonFile::Old::kept);
    const JsonLine origin = circumstances(job, options.testbed, arguments(options));
    const std::size_t steps = part.points.size() * situation.every_us.size();
    std::size_t done = 0;
    Progress progress(job.rank == 0);
    std::vector<WaitsCell> cells;
    for (const Point& point : part.points) {
        for (const int every_us : situation.every_us) {
            WaitsEffort effort;
            effort.repetitions = options.repetitions;
            effort.skew_ns = std::int64_t{options.skew_us} * 1000;
            effort.seed = options.seed;
            effort.progress = [&](int repetition) {
                const double share = (repetition + 1.0) / options.repetitions;
                progress.show((static_cast<double>(done) + share) / static_cast<double>(steps),
                              std::string(situation.name) + ": " + point.name());
            };
            const std::vector<WaitsCell> measured =
                measure_waits(job, situation, point, every_us, engines, effort);
            for (const WaitsCell& cell : measured) {
                json.write(json_row(situation, cell, measured[0], origin));
                cells.push_back(cell);
            }
            ++done;
        }
    }
    json.close();
    const std::string over = transports_in_use(job);
    if (job.rank == 0) {
        progress.clear();
        print_legend(stdout, situation, options, over);
        print_table(stdout, situation, cells, engines.size());
        std::printf("%s", conclusion(situation, cells, engines.size()).c_str());
    }
    print_offload(job, engines);
    print_links(job, options.testbed);
}

int run_rank(const WaitsOptions& options, const Plan& plan) {
    const Job job = join_job(plan.parts[0].ranks);
    for (const Part& part : plan.parts) {
        if (part.ranks == job.ranks) continue;
        fail("--situation %s needs %d ranks; this job has %d", part.situation->name, part.ranks,
             job.ranks);
    }
    warm_up(job);
    for (const Part& part : plan.parts) measure_part(job, options, plan, part);
    leave_job();
    return 0;
}

// Empties the file to which every job appends. False: it cannot be written.
bool make_empty(const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    return file != nullptr && std::fclose(file) == 0;
}

}  // namespace

std::vector<std::string> arguments(const WaitsOptions& options) {
    std::vector<std::string> words = {"bench",         "waits",
                                      "--repetitions", std::to_string(options.repetitions),
                                      "--skew-us",     std::to_string(options.skew_us),
                                      "--seed",        std::to_string(options.seed)};
    const auto add_each = [&words](const char* option, const std::vector<std::string>& values) {
        for (const std::string& value : values) words.insert(words.end(), {option, value});
    };
    add_each("--situation", options.situations);
    add_each("--engine", options.engines);
    add_each("--collective", options.collectives);
    if (!options.sizes.empty()) words.insert(words.end(), {"--sizes", options.sizes});
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    if (!options.json.empty()) words.insert(words.end(), {"--json", options.json});
    return words;
}

int bench_waits(const WaitsOptions& options) {
    Result<Plan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench waits: %s\n", last_detail());
        return 2;
    }
    if (options.testbed.ranks < 2) {
        std::fprintf(stderr, "weft bench waits: --ranks %d; expected at least 2\n",
                     options.testbed.ranks);
        return 2;
    }
    if (is_rank()) return run_rank(options, *plan);
    if (!options.json.empty() && !make_empty(options.json)) {
        std::fprintf(stderr, "weft bench waits: %s: %s\n", options.json.c_str(),
                     std::strerror(errno));
        return 1;
    }
    for (const Part& part : plan->parts) {
        if (usable_cores() < part.ranks) {
            std::printf("Note: the %d ranks of %s share %d core%s.\n", part.ranks,
                        part.situation->name, usable_cores(), usable_cores() == 1 ? "" : "s");
        }
        WaitsOptions own = options_of(part, options);
        const bool is_chain = part.situation->kind == Situation::Kind::chain;
        if (is_chain && own.testbed.cores.empty() && own.testbed.bind == "core") {
            own.testbed.cores = cores_for_chain(part.ranks);
        }
        const int status = launch({own.testbed, arguments(own)});
        if (status != 0) return status;
    }
    return 0;
}

}  // namespace weft::bench
