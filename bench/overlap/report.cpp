// The table and the JSON rows of an overlap measurement.
#include "bench/overlap/report.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/engine_kind.h"
#include "bench/overlap/disturbed.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

struct Column {
    const char* name;
    double Times::*value;
};

constexpr Column columns[] = {
    {"blocking us", &Times::blocking}, {"work us", &Times::work}, {"start us", &Times::start},
    {"tests us", &Times::tests},       {"wait us", &Times::wait}, {"total us", &Times::total},
};

constexpr Column plain_columns[] = {
    {"blocking us", &Times::blocking}, {"plain us", &Times::plain}, {"lost us", &Times::lost},
    {"work us", &Times::work},         {"total us", &Times::total},
};

using Columns = std::span<const Column>;

// "blocking us" as a JSON name.
std::string field_name(std::string_view column) {
    std::string name(column);
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
}

// All measured times, as JSON fields.
std::vector<Column> fields(const OverlapOptions& options) {
    std::vector<Column> all(std::begin(columns), std::end(columns));
    if (options.attainable) {
        all.insert(all.end(), {{"plain us", &Times::plain}, {"lost us", &Times::lost}});
    }
    if (options.against.is_wanted()) all.push_back({"call us", &Times::call});
    return all;
}

// One rank's measurements.
JsonLine samples(std::span<const Times> repetitions, const OverlapOptions& options) {
    const auto values = [&](double Times::*value) {
        std::vector<double> all;
        for (const Times& times : repetitions) all.push_back(times.*value);
        return all;
    };
    JsonLine line;
    for (const Column& column : fields(options)) {
        line.add(field_name(column.name), values(column.value));
    }
    return line.add("cpu_us", values(&Times::cpu));
}

// Whether a row keeps the bar of its size and engine. Bars are for emulated clusters.
const char* verdict(const Cell& cell, const OverlapOptions& options) {
    const bool is_kernel = std::string_view(cell.engine.name).starts_with("kernel");
    const bool is_thread = cell.engine.value == WEFT_ENGINE_THREAD;
    if (!options.bars || options.testbed.nodes == 0 || (!is_thread && !is_kernel)) return "";
    // Up to 4 KiB hardly anything can be hidden.
    const double late_us = is_kernel ? cell.median_of(&Times::blocking) + 10 : 15;
    const double points = is_kernel ? -4 : -6;         // from 256 KiB on
    const double points_small = is_kernel ? -8 : -10;  // from 64 KiB on
    const auto text = [](bool is_met) { return is_met ? "met" : "missed"; };
    if (cell.bytes <= 4 << 10) return text(cell.over_us() <= late_us);
    if (cell.bytes < 64 << 10) return "";
    if (!cell.had_its_core()) return "core busy";
    const double bar = cell.bytes < 256 << 10 ? points_small : points;
    return text(median_lower_bound(cell.differences()) > bar);
}

// Whether a progress thread on a core set aside comes close to the plain copy thread.
const char* copy_verdict(const Cell& cell, const Cell& copies, const OverlapOptions& options) {
    constexpr double bar = 0.8;
    if (!options.bars || cell.bytes < 1 << 20) return "";
    if (!traits(static_cast<EngineKind>(cell.engine.value)).has_thread()) return "";
    // Ranks that share a core may have nothing to hide behind: then the copy thread loses time, too.
    const double attained = copies.overlap_percent();
    return cell.overlap_percent() >= std::min(bar * attained, attained) ? "met" : "missed";
}

}  // namespace

void print_table(std::FILE* file, std::span<const Cell> cells, const OverlapOptions& options) {
    const Columns shown = options.attainable ? Columns(plain_columns) : Columns(columns);
    std::vector<std::string> heading = {"size", "engine"};
    for (const Column& column : shown) heading.emplace_back(column.name);
    heading.insert(heading.end(), {"overlap %", "gain"});
    if (options.attainable) {
        heading.insert(heading.end(), {"attainable %", "difference", "bound", ""});
    } else {
        heading.emplace_back("CPU ms");
    }
    if (options.copy_core >= 0) heading.insert(heading.end(), {"of copy", ""});
    Table table(heading);
    const Cell* copies = nullptr;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        if (i > 0 && cells[i - 1].bytes != cell.bytes) table.add({});
        std::vector<std::string> row = {cell.collective->has_size ? size_text(cell.bytes) : "-",
                                        cell.engine.name};
        for (const Column& column : shown) row.push_back(fixed(cell.median_of(column.value), 2));
        row.push_back(fixed(cell.overlap_percent(), 0));
        row.push_back(fixed(cell.gain(), 2));
        if (options.attainable) {
            const double bound = median_lower_bound(cell.differences());
            row.push_back(fixed(cell.attainable_percent(), 0));
            row.push_back(fixed(median(cell.differences()), 1));
            row.push_back(std::isfinite(bound) ? fixed(bound, 1) : "-");
            row.emplace_back(verdict(cell, options));
        } else {
            row.push_back(fixed(cell.cpu_ms(), 4));
        }
        if (cell.is_of_copy_thread()) copies = &cell;
        if (copies != nullptr) {
            const double share = cell.share_of(*copies);
            row.push_back(&cell == copies || !std::isfinite(share) ? "-" : fixed(share, 2));
            row.emplace_back(&cell == copies ? "" : copy_verdict(cell, *copies, options));
        }
        table.add(row);
    }
    std::fprintf(file, "\n%s\n", cells.empty() ? "" : cells[0].collective->name);
    table.print(file);
    for (const Cell& cell : cells) {
        if (!cell.is_disturbed()) continue;
        std::fprintf(
            file, "Disturbed, after %d measurements: %s, engine %s.\n", attempts_max,
            cell.collective->has_size ? size_text(cell.bytes).c_str() : cell.collective->name,
            cell.engine.name);
    }
    std::fflush(file);
}

void print_legend(std::FILE* file, const OverlapOptions& options) {
    std::fprintf(file,
                 "Overlap of nonblocking collectives with computation: %s, median of %d "
                 "repetitions, %d test calls.\n",
                 description(options.testbed).c_str(), options.repetitions, options.tests);
    if (options.against.is_wanted()) return;
    std::fputs(
        "work: fixed, as long as the operation; overlap = 1 - (total - work) / blocking; "
        "gain = (blocking + work) / total.\n",
        file);
    std::fputs(
        options.attainable
            ? "plain: the same bytes over the bench's own sockets, sleeping when they have to "
              "wait; "
              "lost: CPU time\nthat this takes from a process of policy SCHED_IDLE on the same "
              "core; attainable = 1 - lost / blocking.\ndifference = overlap - attainable, in "
              "points, by repetition (median); bound: one-sided lower 95 %\nbound of this median, "
              "from order statistics.\n"
            : "CPU: time of all threads of all ranks in one overlapped run, including the work "
              "(getrusage; mean).\n",
        file);
    if (options.copy_core < 0) return;
    std::fprintf(
        file,
        "copy thread: a plain thread of each rank's, on core %d, that copies the same bytes "
        "through a ring in shared\nmemory; of copy: overlap / the copy thread's overlap.\n",
        options.copy_core);
}

JsonLine json_row(const Cell& cell, const OverlapOptions& options, const JsonLine& circumstances) {
    const std::size_t repetitions = cell.repetitions.size();
    JsonLine medians;
    for (const Column& column : fields(options)) {
        medians.add(field_name(column.name), cell.median_of(column.value));
    }
    std::vector<JsonLine> ranks;
    for (std::size_t i = 0; i < cell.by_rank.size(); i += repetitions) {
        ranks.push_back(samples(std::span(cell.by_rank).subspan(i, repetitions), options));
    }
    JsonLine line;
    line.add("bench", "overlap")
        .add("collective", cell.collective->name)
        .add("bytes", cell.bytes)
        .add("engine", cell.engine.name)
        .add("tests", std::int64_t{options.tests})
        .add("repetitions", static_cast<std::int64_t>(repetitions))
        .add("work_iterations", cell.work_iterations)
        .add("medians", medians)
        .add("overlap_percent", cell.overlap_percent())
        .add("gain", cell.gain())
        .add("cpu_ms", cell.cpu_ms())
        .add("over_us", cell.over_us())
        .add("disturbed", std::int64_t{cell.is_disturbed()});
    if (options.attainable) {
        JsonLine pairs;
        pairs.add("overlap_percent", cell.overlaps_percent())
            .add("attainable_percent", cell.attainables_percent());
        line.add("attainable_percent", cell.attainable_percent())
            .add("difference", median(cell.differences()))
            .add("difference_bound", median_lower_bound(cell.differences()))
            .add("pairs", pairs);
    }
    return line.add("circumstances", circumstances).add("samples", ranks);
}

}  // namespace weft::bench
