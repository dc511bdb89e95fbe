// Measures all collectives and sizes, and prints as it goes.
#include "bench/overlap/overlap.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/clock.h"
#include "bench/circumstances.h"
#include "bench/join.h"
#include "bench/json_file.h"
#include "bench/launch.h"
#include "bench/links.h"
#include "bench/overlap/disturbed.h"
#include "bench/overlap/plain_exchange.h"
#include "bench/overlap/report.h"
#include "bench/overlap/summary.h"
#include "bench/points.h"
#include "bench/progress.h"
#include "bench/rivals/report.h"

namespace weft::bench {
namespace {

std::string joined(const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    return text;
}

struct Plan {
    std::vector<Point> points;
    std::vector<Engine> engines;
};

Result<Plan> make_plan(const OverlapOptions& options) {
    Plan plan;
    Result<std::vector<Engine>> engines = find_engines(options.engines);
    if (!engines.is_ok()) return engines.status();
    plan.engines = *engines;
    Result<std::vector<Point>> points = find_points(options.collectives, options.sizes);
    if (!points.is_ok()) return points.status();
    plan.points = *points;
    return plan;
}

// Measures the attainable overlap, if requested.
class Attainable {
  public:
    explicit Attainable(bool wanted) {
        if (wanted) spinner_.emplace();
    }
    void join(const Job& job, Burst* burst) {
        if (spinner_) exchange_.emplace(job, *spinner_, burst);
    }
    PlainExchange* exchange() { return exchange_ ? &*exchange_ : nullptr; }

  private:
    std::optional<Spinner> spinner_;  // forked before the library has threads
    std::optional<PlainExchange> exchange_;
};

// An MPI comes first, and is the only contestant if its own thread takes part of every core.
std::vector<Contestant> all_contestants(const Job& job, const Plan& plan) {
    const Rival* const rival = Rival::of_this_job();
    if (rival == nullptr) return contestants(job, plan.engines);
    std::vector<Contestant> all = {contestant(job, *rival)};
    if (rival->is_async()) return all;
    for (const Contestant& one : contestants(job, plan.engines)) all.push_back(one);
    return all;
}

// "": it can be measured.
std::string why_no_copy_thread(const OverlapOptions& options, const Plan& plan) {
    if (options.testbed.ranks != 2 || options.testbed.nodes > 0) {
        return "--ranks " + std::to_string(options.testbed.ranks) + " --nodes " +
               std::to_string(options.testbed.nodes) + "; expected 2 ranks of one machine";
    }
    for (const Point& point : plan.points) {
        if (CopyThread::can_move(*point.collective)) continue;
        return std::string("--collective ") + point.collective->name + "; expected " +
               CopyThread::movable;
    }
    if (options.attainable || options.summary || options.against.is_wanted()) {
        return "--attainable, --summary or --against; expected none of them";
    }
    return "";
}

void print_heading(const OverlapOptions& options) {
    if (options.summary) return;
    print_legend(stdout, options);
    const Rival* const rival = Rival::of_this_job();
    if (rival == nullptr) return;
    print_rival_legend(stdout);
    std::printf("\nBeside %s: %s.\n", rival->name(), rival->version().c_str());
    if (!rival->is_async()) return;
    std::printf(
        "Measured alone: its thread takes CPU time even if nothing is pending. work: as calibrated "
        "before it started.\n");
}

int run_rank(const OverlapOptions& options, const Plan& plan) {
    bind_rank(options.testbed);
    if (options.attainable && usable_cores() != 1) {
        fail("--attainable needs one core for each rank; this one may use %d", usable_cores());
    }
    Attainable attainable(options.attainable);
    const Job job = join_job(options.testbed.ranks);
    const Rival* const rival = Rival::of_this_job();
    if (job.rank == 0) print_heading(options);
    std::optional<Burst> burst;
    const bool is_limited = options.testbed.nodes > 0 && job.ranks == 2;
    if (is_limited && (options.attainable || rival != nullptr)) burst.emplace(job);
    attainable.join(job, burst ? &*burst : nullptr);
    // With MPIs there is one job after another.
    JsonFile json(job, options.json, rival ? JsonFile::Old::kept : JsonFile::Old::replaced);
    std::vector<Contestant> engines = all_contestants(job, plan);
    std::optional<CopyThread> copies;
    if (options.copy_core >= 0) {
        copies.emplace(job, options.copy_core);
        engines.insert(engines.begin(), contestant(job, *copies));
    }
    const JsonLine origin = circumstances(job, options.testbed, arguments(options));
    Progress progress(job.rank == 0);
    std::vector<Cell> cells;
    std::vector<Cell> all_cells;
    if (rival != nullptr) {
        for (const Point& point : plan.points) {
            warm_up(job, *point.collective, point.bytes, engines);
        }
    }
    const std::int64_t begin = now_ns();
    for (std::size_t i = 0; i < plan.points.size(); ++i) {
        const Point& point = plan.points[i];
        Effort effort;
        effort.repetitions = options.repetitions;
        effort.tests = options.tests;
        effort.is_same_work = options.summary;
        effort.plain = attainable.exchange();
        effort.burst = burst ? &*burst : nullptr;
        if (rival != nullptr && rival->is_async()) {
            effort.ns_per_iteration = slowest(job, rival->ns_per_iteration());
        }
        effort.progress = [&](int repetition) {
            const double done = static_cast<double>(i) + (repetition + 1.0) / options.repetitions;
            progress.show(done / static_cast<double>(plan.points.size()), point.name());
        };
        const auto measure_once = [&] {
            if (options.budget_s > 0) {
                // Equal shares for all remaining points: others may use what one saves.
                const double left = options.budget_s - static_cast<double>(now_ns() - begin) * 1e-9;
                effort.budget_s =
                    std::max(left / static_cast<double>(plan.points.size() - i), 0.01);
            }
            return measure(job, *point.collective, point.bytes, engines, effort);
        };
        // By the figures that are shown.
        const auto measured =
            options.summary
                ? undisturbed(measure_once,
                              [](const std::vector<Cell>& row) { return is_disturbed(row); })
                : undisturbed(measure_once);
        if (job.rank != 0) continue;
        cells.insert(cells.end(), measured.begin(), measured.end());
        all_cells.insert(all_cells.end(), measured.begin(), measured.end());
        for (const Cell& cell : measured) {
            JsonLine row = json_row(cell, options, origin);
            if (copies && !cell.is_of_copy_thread()) {
                const double share = cell.share_of(measured[0]);
                if (std::isfinite(share)) row.add("share_of_copy_thread", share);
            }
            if (rival != nullptr) row.add("mpi", rival->name());
            if (rival != nullptr && &cell != &measured[0]) {
                row.add("ratios", Comparison(cell, measured[0]).json());
            }
            json.write(row);
        }
        if (i + 1 == plan.points.size() || plan.points[i + 1].collective != point.collective) {
            progress.clear();
            if (rival != nullptr) {
                print_rival_table(stdout, cells, engines.size() - 1);
            } else if (!options.summary) {
                print_table(stdout, cells, options);
            }
            cells.clear();
        }
    }
    json.close();
    if (job.rank == 0 && options.summary) print_summary(stdout, all_cells, options);
    std::erase_if(all_cells, [](const Cell& cell) { return cell.is_of_copy_thread(); });
    if (job.rank == 0 && rival == nullptr && !options.summary) {
        std::printf("\n%s\n", conclusion(all_cells, options).c_str());
    }
    if (job.rank == 0 && rival != nullptr) {
        std::printf("%s\n", rival_conclusion(all_cells, engines.size() - 1).c_str());
    }
    if (!options.summary) print_offload(job, engines);
    print_links(job, options.testbed);
    leave_job();
    return 0;
}

}  // namespace

std::vector<std::string> arguments(const OverlapOptions& options) {
    std::vector<std::string> words = {"bench",         "overlap",
                                      "--collective",  joined(options.collectives),
                                      "--engine",      joined(options.engines),
                                      "--sizes",       options.sizes,
                                      "--repetitions", std::to_string(options.repetitions),
                                      "--tests",       std::to_string(options.tests),
                                      "--budget",      std::to_string(options.budget_s)};
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    if (options.attainable) words.emplace_back("--attainable");
    if (options.copy_core >= 0) {
        words.insert(words.end(), {"--copy-core", std::to_string(options.copy_core)});
    }
    if (options.summary) words.emplace_back("--summary");
    if (options.bars) words.emplace_back("--bars");
    for (const std::string& word : arguments(options.against)) words.push_back(word);
    if (!options.json.empty()) words.insert(words.end(), {"--json", options.json});
    return words;
}

int bench_overlap(const OverlapOptions& options) {
    Result<Plan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench overlap: %s\n", last_detail());
        return 2;
    }
    // (A rank is bound already, and knows no other's core.)
    if (options.attainable && !is_rank() &&
        (options.testbed.ranks != 2 || !options.testbed.gives_each_rank_a_core())) {
        const bool has_cores = !options.testbed.cores.empty();
        std::fprintf(stderr,
                     "weft bench overlap: --attainable with --ranks %d %s %s; expected 2 ranks, "
                     "each bound to a core of its own\n",
                     options.testbed.ranks, has_cores ? "--cores" : "--bind",
                     has_cores ? options.testbed.cores.c_str() : options.testbed.bind.c_str());
        return 2;
    }
    if (options.attainable && options.against.is_wanted()) {
        std::fprintf(stderr, "weft bench overlap: --attainable is not measured with --against\n");
        return 2;
    }
    if (options.copy_core >= 0) {
        if (const std::string why = why_no_copy_thread(options, *plan); !why.empty()) {
            std::fprintf(stderr, "weft bench overlap: --copy-core %d with %s\n", options.copy_core,
                         why.c_str());
            return 2;
        }
    }
    if (options.summary && options.against.is_wanted()) {
        std::fprintf(stderr, "weft bench overlap: --summary is not for --against\n");
        return 2;
    }
    if (!check(options.against, options.testbed).is_ok()) {
        std::fprintf(stderr, "weft bench overlap: %s\n", last_detail());
        return 2;
    }
    if (is_rank()) return run_rank(options, *plan);
    if (usable_cores() < options.testbed.ranks) {
        std::printf(
            "Note: %d ranks share %d core%s here, so a rank that computes keeps another "
            "from communicating; expect little overlap.\n",
            options.testbed.ranks, usable_cores(), usable_cores() == 1 ? "" : "s");
    }
    const Launch job{options.testbed, arguments(options)};
    if (!options.against.is_wanted()) return launch(job);
    return launch_against(options.against, job);
}

}  // namespace weft::bench
