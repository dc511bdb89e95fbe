// The short table, its conclusion, and how quiet the machine was.
#include "bench/overlap/summary.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

// One collective of one size: the engine without background progress, and the others.
struct Row {
    std::span<const Cell> cells;

    const Cell& base() const { return cells[0]; }
    const Cell* of(std::string_view engine) const {
        const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) {
            return cell.engine.name == engine;
        });
        return found == cells.end() ? nullptr : &*found;
    }
    double work_us() const { return base().median_of(&Times::work); }
    double blocking_us() const { return base().median_of(&Times::blocking); }
    double apart_us() const { return work_us() + blocking_us(); }
    double ideal_us() const { return std::max(work_us(), blocking_us()); }
    // 0: as long as both, one after the other; 100: as long as the longer one.
    double hidden_percent(const Cell& cell) const {
        return 100 * (apart_us() - cell.median_of(&Times::total)) / (apart_us() - ideal_us());
    }
    bool is_disturbed() const {
        return std::any_of(cells.begin(), cells.end(),
                           [](const Cell& cell) { return cell.is_disturbed(); });
    }
};

std::vector<Row> rows_of(std::span<const Cell> cells) {
    std::vector<Row> rows;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= cells.size(); ++i) {
        if (i < cells.size() && cells[i].collective == cells[begin].collective &&
            cells[i].bytes == cells[begin].bytes) {
            continue;
        }
        rows.push_back({cells.subspan(begin, i - begin)});
        begin = i;
    }
    return rows;
}

// An engine with background progress, and how much it hides: the median of the rows.
struct Share {
    std::string engine;
    double percent;
};

std::vector<Share> shares_of(const std::vector<Row>& rows, std::span<const std::string> engines) {
    std::vector<Share> shares;
    for (const std::string& engine : engines) {
        std::vector<double> hidden;
        for (const Row& row : rows) {
            if (const Cell* cell = row.of(engine)) hidden.push_back(row.hidden_percent(*cell));
        }
        if (!hidden.empty()) shares.push_back({engine, median(hidden)});
    }
    return shares;
}

std::string advice(const std::vector<Row>& rows, std::span<const std::string> engines,
                   const OverlapOptions& options) {
    constexpr double little_percent = 10;
    constexpr double noise_points = 5;
    const std::vector<Share> shares = shares_of(rows, engines);
    if (shares.empty()) return "no engine with background progress was measured.";
    const Share& best =
        *std::max_element(shares.begin(), shares.end(),
                          [](const Share& a, const Share& b) { return a.percent < b.percent; });
    const std::string figure =
        best.engine + " hides " + fixed(best.percent, 0) + " % in the median of the rows";
    if (best.percent < little_percent) {
        return "little or nothing can be gained here: at best " + figure + "." +
               (options.testbed.nodes == 0
                    ? " Within one machine the cores that compute also copy the messages."
                    : "");
    }
    const bool does_default_as_well =
        std::any_of(shares.begin(), shares.end(), [&](const Share& share) {
            return (share.engine == "thread" || share.engine == "auto") &&
                   share.percent >= best.percent - noise_points;
        });
    return figure + (does_default_as_well ? "; auto, the default, does as well."
                                          : "; use engine " + best.engine + ".");
}

// The share of the time of the work alone that other programs took.
double lost_percent(std::span<const Cell> cells) {
    std::vector<double> us_per_iteration;
    double spent_us = 0;
    double iterations = 0;
    for (const Cell& cell : cells) {
        const auto each = static_cast<double>(cell.work_iterations);
        for (const Times& times : cell.repetitions) {
            us_per_iteration.push_back(times.work / each);
            spent_us += times.work;
            iterations += each;
        }
    }
    const double undisturbed = quantile(us_per_iteration, 0.1);
    return std::max(100 * (1 - undisturbed * iterations / spent_us), 0.0);
}

std::string quietness(std::span<const Cell> cells, bool is_disturbed) {
    constexpr double quiet_percent = 10;
    const double lost = lost_percent(cells);
    const std::string share = fixed(lost, 0) + " % of the computation's time";
    if (lost <= quiet_percent && !is_disturbed)
        return "The machine was quiet: other programs took " + share + ".";
    return "The machine was not quiet: other programs took " + share +
           (is_disturbed ? " and disturbed a row" : "") + ". Measure again when nothing else runs.";
}

}  // namespace

void print_summary(std::FILE* file, std::span<const Cell> cells, const OverlapOptions& options) {
    const std::vector<Row> rows = rows_of(cells);
    std::vector<std::string> engines = options.engines;
    if (engines[0] == "manual") engines.erase(engines.begin());
    std::vector<std::string> heading = {"collective", "size", "no overlap"};
    heading.insert(heading.end(), engines.begin(), engines.end());
    heading.insert(heading.end(), {"ideal", "hidden %", "possible %"});
    const bool is_any_disturbed =
        std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.is_disturbed(); });
    if (is_any_disturbed) heading.emplace_back("");
    Table table(heading);
    const auto ms = [](double us) { return fixed(us / 1000, 3); };
    for (const Row& row : rows) {
        std::vector<std::string> line = {
            row.base().collective->name,
            row.base().collective->has_size ? size_text(row.base().bytes) : std::string("-"),
            ms(row.apart_us())};
        std::optional<double> hidden;
        for (const std::string& engine : engines) {
            const Cell* cell = row.of(engine);
            line.push_back(cell ? ms(cell->median_of(&Times::total)) : "-");
            if (cell) hidden = std::max(hidden.value_or(-1e9), row.hidden_percent(*cell));
        }
        line.push_back(ms(row.ideal_us()));
        line.push_back(hidden ? fixed(*hidden, 0) : "-");
        line.push_back(options.attainable ? fixed(row.base().attainable_percent(), 0) : "-");
        if (is_any_disturbed) line.emplace_back(row.is_disturbed() ? "disturbed" : "");
        table.add(line);
    }
    const std::string where =
        options.testbed.nodes == 0 ? "Within this machine" : "Emulated cluster";
    std::fprintf(file, "%s: %s. Computation and collective together, in ms.\n", where.c_str(),
                 description(options.testbed).c_str());
    table.print(file);
    if (is_any_disturbed) {
        std::fprintf(file,
                     "Disturbed: an overlap beyond -100 ... 100 %%, even when measured again.\n");
    }
    std::fprintf(file, "Conclusion: %s\n%s\n", advice(rows, engines, options).c_str(),
                 quietness(cells, is_any_disturbed).c_str());
}

}  // namespace weft::bench
