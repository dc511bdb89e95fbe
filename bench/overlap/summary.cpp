// The short table, its conclusion, and how quiet the machine was.
#include "bench/overlap/summary.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "bench/overlap/advice.h"
#include "bench/overlap/disturbed.h"
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
    double hidden_percent(const Cell& cell) const {
        return 100 * (apart_us() - cell.median_of(&Times::total)) / (apart_us() - ideal_us());
    }
    // By what the row shows.
    bool is_disturbed() const {
        return std::ranges::any_of(cells, [&](const Cell& cell) {
            return bench::is_disturbed(hidden_percent(cell), blocking_us(), cell.spins()) ||
                   is_impossible(hidden_percent(cell));
        });
    }
    JudgedRow judged() const {
        JudgedRow row{{}, is_disturbed()};
        for (const Cell& cell : cells) {
            if (&cell != &base() || cell.engine.name != std::string_view("manual"))
                row.shares.push_back({cell.engine.name, hidden_percent(cell)});
        }
        return row;
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

}  // namespace

bool is_disturbed(std::span<const Cell> cells) { return Row{cells}.is_disturbed(); }

void print_summary(std::FILE* file, std::span<const Cell> cells, const OverlapOptions& options) {
    const std::vector<Row> rows = rows_of(cells);
    std::vector<std::string> engines = options.engines;
    if (engines[0] == "manual") engines.erase(engines.begin());
    std::vector<std::string> heading = {"collective", "size", "no overlap"};
    heading.insert(heading.end(), engines.begin(), engines.end());
    heading.insert(heading.end(), {"ideal", "hidden %", "possible %"});
    std::vector<JudgedRow> judged;
    for (const Row& row : rows) judged.push_back(row.judged());
    const bool is_any_disturbed = std::ranges::any_of(judged, &JudgedRow::is_disturbed);
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
    std::string names;
    for (const std::string& engine : engines) names += (names.empty() ? "" : ", ") + engine;
    std::fprintf(file,
                 "%s: %s. Computation and collective together, in ms.\n"
                 "no overlap: one after the other; %s: both at once, with this engine; ideal: the "
                 "longer one alone.\n"
                 "hidden: how far the best engine comes from no overlap (0 %%) to ideal (100 %%); "
                 "possible: with plain sockets (-: not measured).\n",
                 where.c_str(), description(options.testbed).c_str(), names.c_str());
    table.print(file);
    if (is_any_disturbed) {
        std::fprintf(
            file,
            "Disturbed: an engine hides less than -100 %% or more than 100 %%, also when measured "
            "again.\n");
    }
    std::fprintf(file, "Conclusion: %s\n%s\n", advice(judged, options.testbed.nodes == 0).c_str(),
                 quietness(lost_percent(cells)).c_str());
}

}  // namespace weft::bench
