// The jobs of a measurement of the drop-in library, and its tables.
#include "bench/dropin/dropin.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "bench/circumstances.h"
#include "bench/dropin/samples.h"
#include "bench/dropin/where.h"
#include "bench/join.h"
#include "bench/launch.h"
#include "bench/overlap/plain_exchange.h"
#include "bench/points.h"
#include "bench/progress.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/temporary_folder.h"
#include "weft/dropin_library.h"
#include "weft/machine.h"

namespace weft::bench {
namespace {

// Tells the job of `weft run` where to write: the circumstances as JSON, then lines such as "ibcast 65536 LOST_US".
constexpr const char* file_setting = "WEFT_BENCH_DROPIN_FILE";
constexpr int burst_bytes = 256 << 10;  // twice what an emulated link lets through

bool has(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

std::string joined(const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    return text;
}

std::string joined(const std::vector<std::int64_t>& items) {
    std::vector<std::string> words;
    for (const std::int64_t item : items) words.push_back(std::to_string(item));
    return joined(words);
}

std::vector<std::string> arguments(const DropinOptions& options) {
    std::vector<std::string> words = {"bench",         "dropin",
                                      "--measure",     joined(options.measures),
                                      "--collective",  joined(options.collectives),
                                      "--sizes",       options.sizes,
                                      "--rounds",      std::to_string(options.rounds),
                                      "--repetitions", std::to_string(options.repetitions),
                                      "--turns",       std::to_string(options.turns)};
    if (!options.latency_sizes.empty()) {
        words.insert(words.end(), {"--latency-sizes", options.latency_sizes});
    }
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    for (const std::string& word : arguments(options.against)) words.push_back(word);
    if (!options.json.empty()) words.insert(words.end(), {"--json", options.json});
    return words;
}

struct Plan {
    std::vector<Point> overlap;
    std::vector<std::int64_t> sizes, latency_sizes;
    std::vector<std::int64_t> blocking_sizes;  // ascending
};

Result<Plan> make_plan(const DropinOptions& options) {
    Plan plan;
    for (const std::string& measure : options.measures) {
        if (has({"overlap", "latency", "blocking", "calls"}, measure)) continue;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "measure = \"%s\"; expected overlap, latency, blocking or calls",
                       measure.c_str());
    }
    const DropinOptions known;
    for (const std::string& name : options.collectives) {
        if (has(known.collectives, name)) continue;
        return failure(WEFT_REFUSED_ARGUMENT, "collective = \"%s\"; expected some of %s",
                       name.c_str(), joined(known.collectives).c_str());
    }
    const Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    const std::string& given = options.latency_sizes;
    const char* const usual = options.testbed.nodes > 0 ? "8" : "8:4M";
    const Result<std::vector<std::int64_t>> small = parse_sizes(given.empty() ? usual : given);
    if (!small.is_ok()) return small.status();
    plan.sizes = *sizes;
    plan.latency_sizes = *small;
    plan.blocking_sizes = *parse_sizes(given.empty() ? "8,1K,64K,1M" : given);
    std::ranges::sort(plan.blocking_sizes);
    for (const std::vector<std::int64_t>& all : {plan.sizes, plan.latency_sizes}) {
        for (const std::int64_t bytes : all) {
            if (bytes > 0 && bytes % 8 == 0 && bytes <= 1 << 30) continue;
            return failure(WEFT_REFUSED_ARGUMENT,
                           "%lld bytes; expected a multiple of 8, at most 1G",
                           static_cast<long long>(bytes));
        }
    }
    const Result<std::vector<Point>> points = find_points(options.collectives, options.sizes);
    if (!points.is_ok()) return points.status();
    plan.overlap = *points;
    if (!options.against.is_wanted()) {
        return failure(WEFT_REFUSED_ARGUMENT, "no MPI; name some by --against");
    }
    Status status = check(options.against, options.testbed);
    if (!status.is_ok()) return status;
    return plan;
}

// --- In the job of `weft run` ---------------------------------------------------------------------

bool has_attainable(const DropinOptions& options) {
    return options.testbed.nodes == 2 && options.testbed.ranks == 2 &&
           has(options.measures, "overlap");
}

int run_rank(const DropinOptions& options, const Plan& plan) {
    std::optional<Spinner> spinner;
    if (has_attainable(options)) spinner.emplace();  // forked before the library has threads
    const Job job = join_job(options.testbed.ranks);
    const JsonLine about = circumstances(job, options.testbed, arguments(options));
    const char* const path = std::getenv(file_setting);
    if (path == nullptr) fail("expected to be started without a launcher");
    std::FILE* const file = job.rank == 0 ? std::fopen(path, "w") : nullptr;
    if (job.rank == 0 && file == nullptr) fail("%s: %s", path, std::strerror(errno));
    if (file) std::fprintf(file, "%s\n", about.text().c_str());
    if (spinner) {
        Burst burst(job);
        PlainExchange exchange(job, *spinner, &burst);
        for (const Point& point : plan.overlap) {
            exchange.prepare(*point.collective, point.bytes);
            std::vector<double> lost;
            for (int i = 0; i < options.rounds; ++i)
                lost.push_back(slowest(job, exchange.measure(0).lost));
            if (!file) continue;
            std::fprintf(file, "%s %lld %.3f\n", point.collective->name,
                         static_cast<long long>(point.bytes), median(lost));
        }
    }
    if (file) std::fclose(file);
    leave_job();
    return 0;
}

// --- The jobs of an MPI ---------------------------------------------------------------------------

// "barrier", and "bcast" for "ibcast".
std::vector<std::string> blocking_forms(const std::vector<std::string>& collectives) {
    std::vector<std::string> names = {"barrier"};
    for (const std::string& name : collectives) names.push_back(name.substr(1));
    return names;
}

// A copy of the library that hands every call on to the MPI: its parts are without what a part has. Returns its path.
std::string make_stub(const std::string& folder) {
    const std::string library = folder + "/libweft_mpi.so";
    std::error_code error;
    std::filesystem::create_symlink(dropin_folder() / "libweft_mpi.so", library, error);
    for (const char* part : dropin_parts) {
        std::filesystem::create_symlink(library, folder + "/weft_mpi_" + std::string(part) + ".so",
                                        error);
    }
    return library;
}

std::vector<std::string> words_of_job(const DropinOptions& options, const Plan& plan,
                                      const MpiProgram& program, bool is_with,
                                      const std::string& measure, const std::string& folder) {
    const bool is_overlap = measure == "overlap", is_blocking = measure == "blocking";
    std::vector<std::string> words;
    if (measure == "stub") {
        words.push_back("LD_PRELOAD=" + make_stub(folder));
    } else if (is_with) {
        if (options.testbed.transport != "auto") {
            words.push_back("WEFT_TRANSPORT=" + options.testbed.transport);
        }
        if (is_blocking) words.emplace_back("WEFT_BLOCKING=1");
        words.push_back(this_program());
        words.emplace_back("preload");
    }
    const std::vector<int> cores = cores_of_ranks(options.testbed);
    const auto add = [&words](const std::string& word) { words.push_back(word); };
    add(program.path);
    add(measure);
    add(folder + "/rows");
    add(cores.empty() ? "-" : comma_list(cores));
    add(std::to_string(options.testbed.nodes > 0 ? burst_bytes : 0));
    add(joined(is_blocking ? blocking_forms(options.collectives) : options.collectives));
    add(joined(is_overlap ? plan.sizes : is_blocking ? plan.blocking_sizes : plan.latency_sizes));
    add(std::to_string(is_overlap ? options.repetitions : options.turns));
    if (is_overlap) add(folder + "/" + program.mpi + ".work");
    return words;
}

int measure(const DropinOptions& options, const Plan& plan, const MpiProgram& program,
            const LostTimes& lost, const std::string& folder, DropinCells& cells) {
    const std::string rows = folder + "/rows";
    const auto run = [&](bool is_with, const char* measure, bool is_counted) {
        std::remove(rows.c_str());
        const int status =
            program.run(words_of_job(options, plan, program, is_with, measure, folder),
                        options.against.async && !is_with);
        if (status != 0) {
            std::printf("The job of %s %s the library failed: status %d.\n", program.mpi,
                        is_with ? "with" : "without", status);
            return status;
        }
        DropinCells ignored;
        return add_rows(rows, is_with, lost, is_counted ? cells : ignored) ? 0 : 1;
    };
    Progress progress(true);
    if (has(options.measures, "overlap")) {
        // The work is as long as the MPI's own operations take.
        if (const int status = run(false, "overlap", false)) return status;
    }
    for (int round = 0; round < options.rounds; ++round) {
        progress.show((round + 0.5) / options.rounds, program.mpi);
        for (const char* measure : {"overlap", "calls"}) {
            if (!has(options.measures, measure)) continue;
            for (const bool second : {false, true}) {
                if (const int status = run((round % 2 == 0) == second, measure, true))
                    return status;
            }
        }
        for (const char* measure : {"latency", "blocking", "stub"}) {
            const bool is_stub = std::strcmp(measure, "stub") == 0;
            if (!has(options.measures, is_stub ? "calls" : measure)) continue;
            if (const int status = run(true, measure, true)) return status;
        }
    }
    progress.clear();
    return 0;
}

// --- What it shows --------------------------------------------------------------------------------

void print_overlap(const MpiProgram& program, bool is_async,
                   const std::vector<OverlapCell>& cells) {
    Table table({"operation", "blocking us", "with us", "overlap %", "with %", "attainable %",
                 "total us", "with us", "ratio", "95 %"});
    std::vector<NamedRatio> ratios;
    std::string far;
    for (const OverlapCell& cell : cells) {
        const Ratio ratio = cell.total_ratio();
        ratios.push_back({cell.name(), ratio});
        table.add({cell.name(), fixed(cell.median_of(cell.without, &OverlapSample::blocking), 0),
                   fixed(cell.median_of(cell.with, &OverlapSample::blocking), 0),
                   fixed(cell.overlap_percent(cell.without), 0),
                   fixed(cell.overlap_percent(cell.with), 0),
                   cell.lost_us > 0 ? fixed(cell.attainable_percent(), 0) : "-",
                   fixed(cell.median_of(cell.without, &OverlapSample::total), 0),
                   fixed(cell.median_of(cell.with, &OverlapSample::total), 0), ratio.text(),
                   ratio.interval_text()});
        constexpr double points = 5;
        if (cell.lost_us > 0 &&
            cell.attainable_percent() - cell.overlap_percent(cell.with) > points) {
            far += (far.empty() ? "" : ", ") + cell.name();
        }
    }
    std::printf("\nOverlap, %s%s without and with the library:\n\n", program.mpi,
                is_async ? ", with its own asynchronous progress" : "");
    table.print(stdout);
    std::printf("\nOverlapped time: %s; %s.\n", summary(ratios).c_str(), above_bar(ratios).c_str());
    if (cells.front().lost_us > 0) {
        std::printf("More than 5 points below the attainable overlap: %s.\n",
                    far.empty() ? "none" : far.c_str());
    }
}

void print_table(const std::vector<LatencyCell>& cells) {
    Table table({"operation", "MPI us", "with us", "ratio", "95 %"});
    for (const LatencyCell& cell : cells) {
        const Ratio ratio = cell.ratio();
        table.add({cell.name(), fixed(median(cell.native), 2), fixed(median(cell.with), 2),
                   ratio.text(), ratio.interval_text()});
    }
    table.print(stdout);
}

void print_latency(const MpiProgram& program, const std::vector<LatencyCell>& cells) {
    std::vector<NamedRatio> single, several;
    for (const LatencyCell& cell : cells) {
        (cell.outstanding > 1 ? several : single).push_back({cell.name(), cell.ratio()});
    }
    std::printf("\nStart + wait, %s's own and with the library, in one job:\n\n", program.mpi);
    print_table(cells);
    if (!single.empty()) std::printf("\nStart + wait: %s.\n", summary(single).c_str());
    if (!several.empty()) std::printf("Waitall of many: %s.\n", summary(several).c_str());
}

void print_blocking(const MpiProgram& program, const std::vector<LatencyCell>& cells) {
    std::vector<NamedRatio> ratios;
    std::vector<Finding> faster, slower;
    for (const LatencyCell& cell : cells) {
        const Ratio ratio = cell.ratio();
        const std::string size = cell.bytes > 0 ? size_text(cell.bytes) : "";
        ratios.push_back({cell.name(), ratio});
        faster.push_back({cell.collective, size, ratio.interval.high < 1});
        slower.push_back({cell.collective, size, ratio.interval.low > 1});
    }
    std::printf("\nBlocking, %s's own and with the library, in one job:\n\n", program.mpi);
    print_table(cells);
    std::printf("\nBlocking: %s.\n", summary(ratios).c_str());
    std::printf("Beyond the interval WEFT_BLOCKING=1 pays for: %s; costs for: %s.\n",
                where(faster).c_str(), where(slower).c_str());
}

// "0.31 to 0.35"; of a few: "-".
std::string interval_text(const std::vector<double>& samples) {
    const Interval interval = median_interval(samples);
    if (!std::isfinite(interval.low)) return "-";
    return fixed(interval.low, 2) + " to " + fixed(interval.high, 2);
}

void print_calls(const MpiProgram& program, const DropinCells& cells) {
    std::printf(
        "\n%s, calls that have nothing to do, and MPI_Init. stub: the library hands them on at "
        "once.\n\n",
        program.mpi);
    Table table({"function", "MPI", "with", "more", "95 %"});
    const auto add = [&table](const std::string& name, const CallCell& cell) {
        table.add({name, fixed(median(cell.native), 2) + " ns", fixed(median(cell.with), 2) + " ns",
                   fixed(median(cell.differences()), 2) + " ns",
                   interval_text(cell.differences())});
    };
    for (const CallCell& cell : cells.calls) add(cell.function, cell);
    for (const CallCell& cell : cells.stubs) add("stub " + cell.function, cell);
    const double with = median(cells.init.with) / 1e3, without = median(cells.init.without) / 1e3;
    table.add({"MPI_Init", fixed(without, 2) + " ms", fixed(with, 2) + " ms",
               fixed(with - without, 2) + " ms", "-"});
    table.print(stdout);
}

int fail_to_open(const std::string& path) {
    std::fprintf(stderr, "weft bench dropin: %s: %s\n", path.c_str(), std::strerror(errno));
    return 1;
}

}  // namespace

int bench_dropin(const DropinOptions& options) {
    const Result<Plan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench dropin: %s\n", last_detail());
        return 2;
    }
    if (is_rank()) return run_rank(options, *plan);
    std::FILE* json = nullptr;
    if (!options.json.empty() && !(json = std::fopen(options.json.c_str(), "w"))) {
        return fail_to_open(options.json);
    }
    const TemporaryFolder folder;
    const std::string about = folder.path() + "/about";
    Launch job{options.testbed, arguments(options)};
    job.settings.emplace_back(file_setting);
    job.settings.back().append("=").append(about);
    const int launched = launch(job);
    if (launched != 0) return launched;
    std::ifstream file(about);
    std::string circumstances;
    std::getline(file, circumstances);
    LostTimes lost;
    std::string name, bytes;
    for (double us = 0; file >> name >> bytes >> us;) lost[name + " " + bytes] = us;

    std::printf(
        "An MPI program without and with the drop-in library: %s, %d rounds.\nThe work is as long "
        "as the MPI's own start + wait. overlap = 1 - (total - work) / blocking, of the slowest "
        "rank (median).\nattainable: 1 - the CPU time of a plain exchange over sockets / blocking. "
        "ratio: with / without (median, with its 95 %% interval by order statistics).\n",
        description(options.testbed).c_str(), options.rounds);
    const int status = run_program_of_each(
        options.against, options.testbed, "dropin/program.c", [&](const MpiProgram& program) {
            if (options.against.async && !program.has_async) {
                std::printf("Left out: %s has no asynchronous progress over shared memory.\n",
                            program.mpi);
                return 0;
            }
            DropinCells cells;
            const int ended = measure(options, *plan, program, lost, folder.path(), cells);
            if (ended != 0) return ended;
            std::printf("\n%s: %s\n", program.mpi, cells.version.c_str());
            if (!cells.overlap.empty())
                print_overlap(program, options.against.async, cells.overlap);
            if (!cells.latency.empty()) print_latency(program, cells.latency);
            if (!cells.blocking.empty()) print_blocking(program, cells.blocking);
            if (!cells.calls.empty()) print_calls(program, cells);
            std::fflush(stdout);
            const auto write = [&](JsonLine line) {
                if (!json) return;
                line.add("mpi", program.mpi).add("mpi_version", cells.version);
                if (options.against.async) line.add("without", "async");
                // The circumstances are already an object.
                std::string text = line.text();
                text.pop_back();
                std::fprintf(json, "%s, \"circumstances\": %s}\n", text.c_str(),
                             circumstances.c_str());
            };
            for (const OverlapCell& cell : cells.overlap) write(cell.json());
            for (const LatencyCell& cell : cells.latency) write(cell.json());
            for (const LatencyCell& cell : cells.blocking) write(cell.json());
            for (const CallCell& cell : cells.calls) write(cell.json("calls"));
            for (const CallCell& cell : cells.stubs) write(cell.json("stub"));
            if (!cells.calls.empty()) write(cells.init.json());
            return 0;
        });
    if (json && std::fclose(json) != 0) return fail_to_open(options.json);
    return status;
}

}  // namespace weft::bench
