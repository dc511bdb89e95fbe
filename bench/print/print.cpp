#include "bench/print/print.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "bench/print/conclusion.h"
#include "bench/print/experiment.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

std::string interval_text(const Estimate& estimate, int digits) {
    if (!std::isfinite(estimate.interval.low)) return "";
    return " [" + fixed(estimate.interval.low, digits) + ", " +
           fixed(estimate.interval.high, digits) + "]";
}

void print_head(std::FILE* file, const Experiment& one) {
    std::size_t least = one.contests[0].members[0].samples.size();
    for (const MeasuredContest& contest : one.contests)
        for (const Measured& member : contest.members)
            least = std::min(least, member.samples.size());
    std::fprintf(file, "%s: %s %s, %zu repetitions or more.\n", one.name.c_str(),
                 one.scenario.value("question", "").c_str(), one.place().c_str(), least);
    // (A budget that ended is no mistake, but should be known.)
    const Json wanted = one.scenario.value("repetitions", Json(50));
    const bool has_ended_early = one.scenario.value("until", Json(0.05)) == 0 &&
                                 wanted.is_number() && std::cmp_less(least, wanted.get<int>());
    if (has_ended_early) std::fprintf(file, "Repetitions were left out: the budget was used up.\n");
}

void print_rows(std::FILE* file, const Experiment& one) {
    const bool is_hidden = one.is_about("hidden");
    const std::vector<std::string> members = one.members();
    const std::string about = one.contests[0].column();
    const bool is_share = about.ends_with("_share") || about == "cpu_outside";
    const std::string baseline = one.contests[0].baseline().name();
    std::vector<std::string> heading = {"", is_hidden ? "one after the other, us"
                                                      : baseline + ", " +
                                                            (about == "allocations" ? "number"
                                                             : is_share             ? "%"
                                                                                    : "us")};
    std::vector<std::string> shown;
    for (const std::string& name : members)
        if (is_hidden || name != baseline) shown.push_back(name);
    for (const std::string& name : shown) heading.push_back(name);
    heading.insert(heading.end(), {"again", ""});
    Table table(heading, Table::Last::words);
    for (const MeasuredContest& contest : one.contests) {
        const Measured& base = contest.baseline();
        const double first = is_hidden ? median(base.times("work")) + median(base.times("blocking"))
                                       : median(base.times(contest.column()));
        std::vector<std::string> row = {one.label(contest), fixed(first, first < 100 ? 2 : 0)};
        for (const std::string& name : shown) {
            const Measured* member = contest.of(name);
            if (member == nullptr) {
                row.emplace_back("-");
            } else if (is_hidden) {
                row.push_back(fixed(contest.hidden(*member).value, 0) + " %");
            } else {
                const Estimate ratio = contest.ratio(*member);
                row.push_back(std::isnan(ratio.value)
                                  ? "-"
                                  : fixed(ratio.value, 3) + interval_text(ratio, 3));
            }
        }
        const std::optional<Estimate> aa = contest.aa();
        row.push_back(aa && !std::isnan(aa->value) ? fixed(aa->value, 3) + interval_text(*aa, 3)
                                                   : "-");
        row.push_back(contest.disturbance());
        table.add(row);
    }
    table.print(file);
    if (is_hidden)
        std::fputs(
            "Members: how much of the shorter one of computation and collective is hidden (0 %: "
            "none, 100 %: all of it).\nagain: the same measured twice, as a ratio with its 95 % "
            "interval; disturbed: that is not 1 within 10 %, or a share is impossible.\n",
            file);
    else
        std::fprintf(file,
                     "Members: their time by that of %s, with 95 %% intervals (below 1: faster); "
                     "medians of the slowest rank.\nagain: the same measured twice; disturbed: "
                     "that is not 1 within 10 %%.\n",
                     baseline.c_str());
}

// Of this machine, and of emulated nodes.
std::vector<Gain> gains_of(const SamplesFile& samples) {
    std::map<bool, std::map<std::string, std::vector<double>>> shares;
    std::map<bool, Gain> gains;
    for (const Experiment& one : samples.experiments) {
        if (!one.is_about("hidden")) continue;
        for (const MeasuredContest& contest : one.contests) {
            const bool has_nodes = contest.baseline().head.value("nodes", 0) > 0;
            Gain& gain = gains[has_nodes];
            gain.where = has_nodes ? "between nodes" : "within this machine";
            if (!contest.disturbance().empty()) {
                ++gain.disturbed;
                continue;
            }
            ++gain.rows;
            for (const Measured& member : contest.members) {
                // Engines alone: a member may also make calls of test, or be something else.
                if (!member.is_again() && member.name() != "manual" &&
                    member.name() == member.head.value("engine", ""))
                    shares[has_nodes][member.name()].push_back(contest.hidden(member).value);
            }
        }
    }
    std::vector<Gain> found;
    for (auto& [has_nodes, gain] : gains) {
        gain.best_percent = -1e9;
        for (const auto& [name, percents] : shares[has_nodes]) {
            const double middle = median(percents);
            if (name == "auto") gain.auto_percent = std::max(middle, 0.0);
            if (middle > gain.best_percent) {
                gain.best = name;
                gain.best_percent = middle;
            }
        }
        if (gain.best.empty()) gain.rows = 0;
        gain.best_percent = std::max(gain.best_percent, 0.0);
        found.push_back(gain);
    }
    return found;
}

void print(std::FILE* file, const SamplesFile& samples) {
    for (const Experiment& one : samples.experiments) {
        print_head(file, one);
        print_rows(file, one);
        std::fputc('\n', file);
    }
    for (const Json& line : samples.switches)
        std::fprintf(file,
                     "Switch of the delayed link (%s): bias %.0f us, %.1f CPU seconds for %.2f "
                     "GB.\n",
                     line.value("scenario", "").c_str(), line.value("bias_us", 0.0),
                     line.value("cpu_s", 0.0), line.value("bytes", 0.0) * 1e-9);
    std::map<std::string, std::string> whys;  // alike ones once
    for (const Json& line : samples.missing) {
        const std::string why = line.value("scenario", "") + ", " + line.value("member", "") +
                                ": " + line.value("why", "");
        if (whys.try_emplace(why).second) std::fprintf(file, "Missing: %s.\n", why.c_str());
    }
    if (!samples.is_complete)
        std::fputs("These samples are not complete: the run was interrupted or failed.\n", file);
    const bool has_shares = std::ranges::any_of(
        samples.experiments, [](const Experiment& one) { return one.is_about("hidden"); });
    if (has_shares) std::fprintf(file, "\n%s\n", three_sentences(gains_of(samples)).c_str());
}

}  // namespace

int print_samples(std::FILE* file, const std::string& path) {
    try {
        print(file, read_samples(path));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "weft bench: %s\n", error.what());
        return 1;
    }
}

}  // namespace weft::bench
