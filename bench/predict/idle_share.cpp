#include "bench/predict/idle_share.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "bench/predict/emulated.h"
#include "bench/print/experiment.h"
#include "bench/run/rows.h"
#include "bench/run/run.h"
#include "bench/run/task.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/temporary_folder.h"
#include "sim/case_paper.h"

namespace weft::bench {
namespace {

// The share is independent of the number of ranks if it does not vary by more, and right if it is not off by more.
constexpr double tolerance = 0.05;

// The algorithms that the equations are about.
struct Equation {
    const char* collective;
    const char* algorithm;
    model::ModelTime (*time)(const model::LogGpParameters&, Rank, std::int64_t);
};
constexpr Equation equations[] = {
    {"ibarrier", "barrier=dissemination",
     [](const model::LogGpParameters& p, Rank ranks, std::int64_t) {
         return model::paper_barrier(p, ranks);
     }},
    {"iallreduce", "allreduce=reduce_bcast", model::paper_allreduce},
    {"ibcast", "bcast=binomial", model::paper_bcast},
};

// o of a message of so many bytes is o + (s-1)O; the emulated link may be slower than the interface.
double predicted(const Equation& equation, const model::MeasuredParameters& parameters,
                 const Cell& place, Rank ranks, std::int64_t bytes) {
    model::LogGpParameters p = parameters.of(bytes);
    p.overhead_ps = model::plus(
        p.overhead_ps, model::times(std::max<std::int64_t>(bytes - 1, 0), p.byte_overhead_ps));
    if (place.nodes > 0) p.byte_gap_ps = std::max(p.byte_gap_ps, link_byte_ps(place.link.rate));
    const model::ModelTime time = equation.time(p, ranks, bytes);
    return static_cast<double>(time.network_ps()) /
           static_cast<double>(std::max<std::int64_t>(time.time_ps, 1));
}

// Of each equation and number of ranks: 2, 4, 8, ... and all.
Json scenarios(const PredictOptions& options, const std::vector<std::int64_t>& sizes) {
    const Cell& place = options.place;
    Json all = Json::array();
    for (const Equation& equation : equations) {
        for (Rank ranks = 2;; ranks = std::min(2 * ranks, place.ranks)) {
            ranks = std::min(ranks, place.ranks);
            all.push_back({{"name", std::string(equation.collective) + std::to_string(ranks)},
                           {"collective", equation.collective},
                           {"algorithm", equation.algorithm},
                           {"bytes", sizes},
                           {"ranks", ranks},
                           {"nodes", std::min(place.nodes, ranks)},
                           {"link", {{"rate", place.link.rate}}},
                           {"cores", place.cores},
                           {"transport", place.transport},
                           {"engine", "manual"},
                           {"compute", {{"who", "none"}}},
                           {"repetitions", options.repetitions},
                           {"until", 0},
                           {"budget", "3600s"}});
            if (ranks == place.ranks) break;
        }
    }
    return all;
}

// The mean of all ranks' shares, by repetition.
std::vector<double> idle_shares(const Measured& measured) {
    const auto columns = measured.head.at("columns").get<std::vector<std::string>>();
    const auto at = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
    };
    std::vector<double> shares;
    for (const Json& sample : measured.samples) {
        std::vector<double> of_ranks;
        for (const Json& times : sample.at("ranks"))
            of_ranks.push_back(1 - times.at(at("cpu")).get<double>() /
                                       times.at(at("total")).get<double>());
        shares.push_back(mean(of_ranks));
    }
    return shares;
}

std::string percent(double share) { return fixed(100 * share, 1); }

// What a call's shares with several numbers of ranks say.
struct Verdict {
    double least = 1, most = 0, worst_error = 0;

    void add(double share, double expected) {
        least = std::min(least, share);
        most = std::max(most, share);
        worst_error = std::max(worst_error, std::abs(share - expected));
    }
    bool is_independent() const { return most - least <= tolerance; }
    bool is_right() const { return worst_error <= tolerance; }
};

}  // namespace

int measure_idle_shares(const PredictOptions& options, const model::MeasuredParameters& parameters,
                        const std::vector<std::int64_t>& sizes) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/idle_share.json";
    std::ofstream(file) << scenarios(options, sizes);
    Wanted wanted;
    wanted.names = {file};
    const Result<Plan> plan = expand(wanted);
    if (!plan.is_ok()) fail("%s", last_detail());
    const std::string samples = folder.path() + "/samples";
    RunOptions run_options;
    run_options.samples = samples;
    if (const int status = run(*plan, run_options)) return status;

    Rows rows(options.json);
    Table table({"collective", "size", "ranks", "idle %", "(interval)", "predicted %"});
    std::map<std::pair<std::string, std::int64_t>, Verdict> verdicts;
    for (const Experiment& experiment : read_samples(samples).experiments) {
        for (const MeasuredContest& contest : experiment.contests) {
            const Measured& measured = contest.members.front();
            const std::string collective = measured.head.at("collective");
            const Equation& equation =
                *std::ranges::find(equations, collective, &Equation::collective);
            const std::int64_t bytes = measured.head.at("bytes");
            const Rank ranks = measured.head.at("ranks");
            const std::vector<double> shares = idle_shares(measured);
            const double share = median(shares);
            const double expected = predicted(equation, parameters, options.place, ranks, bytes);
            const Interval interval = median_interval(shares);
            verdicts[{collective, bytes}].add(share, expected);
            table.add({collective, collective == "ibarrier" ? "-" : size_text(bytes),
                       std::to_string(ranks), percent(share),
                       std::isfinite(interval.low)
                           ? percent(interval.low) + " .. " + percent(interval.high)
                           : "-",
                       percent(expected)});
            rows.write({{"collective", collective},
                        {"bytes", bytes},
                        {"ranks", ranks},
                        {"measured_idle_share", share},
                        {"predicted_idle_share", expected}});
        }
    }
    int independent = 0, right = 0;
    for (const auto& [call, verdict] : verdicts) {
        independent += verdict.is_independent() ? 1 : 0;
        right += verdict.is_right() ? 1 : 0;
        rows.write({{"collective", call.first},
                    {"bytes", call.second},
                    {"varies_by", verdict.most - verdict.least},
                    {"is_independent_of_ranks", verdict.is_independent() ? "yes" : "no"},
                    {"differs_by_at_most", verdict.worst_error},
                    {"is_as_predicted", verdict.is_right() ? "yes" : "no"}});
    }
    std::printf(
        "Share of blocking calls in which a rank's CPU is idle (getrusage), mean of all "
        "ranks,\nmedian of %d: %s.\n\n",
        options.repetitions, description(options.place).c_str());
    table.print(stdout);
    std::printf(
        "\nVerdict: the idle share is independent of the number of ranks, within %.0f points, "
        "in %d of %zu calls; as the equations predict it, within as many, in %d.\n",
        100 * tolerance, independent, verdicts.size(), right);
    return 0;
}

}  // namespace weft::bench
