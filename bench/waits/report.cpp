// The tables, the rows of JSON and the sentences about waits.
#include "bench/waits/report.h"

#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

std::string every_text(const WaitsCell& cell) { return std::to_string(cell.every_us) + " us"; }

// "ibcast 64K", "ibcast 64K every 2 us"
std::string name_of(const WaitsCell& cell) {
    return cell.point.name() + (cell.every_us > 0 ? " every " + every_text(cell) : "");
}

}  // namespace

void print_legend(std::FILE* file, const Situation& situation, const WaitsOptions& options,
                  const std::string& transports) {
    std::fprintf(file, "\n%s: %s, over %s, %d repetitions.\n%s\n", situation.title,
                 description(options.testbed).c_str(), transports.c_str(), options.repetitions,
                 situation.legend);
    if (situation.kind == Situation::Kind::skew) {
        std::fprintf(file, "Ranks come 0 to %d us after a barrier; seed %s.\n", options.skew_us,
                     std::to_string(options.seed).c_str());
    }
    std::fputs(
        situation.is_symmetric()
            ? "blocking: start + wait (median); ratio: to the first engine in each repetition "
              "(median, with its 95 %\ninterval by order statistics).\n\n"
            : "blocking: start + wait of all ranks at once (median); long: the share longer than "
              "ten times the median.\n\n",
        file);
}

void print_table(std::FILE* file, const Situation& situation, std::span<const WaitsCell> cells,
                 std::size_t engines) {
    const bool is_test = situation.kind == Situation::Kind::test;
    const bool is_skew = situation.kind == Situation::Kind::skew;
    std::vector<std::string> heading = {"collective", "size"};
    if (is_test) heading.emplace_back("every");
    heading.insert(heading.end(), {"engine", "blocking us"});
    if (is_skew) heading.emplace_back("work us");
    heading.insert(heading.end(), {"median us", "p90 us", "p99 us"});
    if (situation.is_symmetric()) {
        heading.insert(heading.end(), {"ratio", "95 %"});
    } else {
        heading.emplace_back("long %");
    }
    Table table(heading);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const WaitsCell& cell = cells[i];
        const WaitsCell& base = cells[i - i % engines];
        if (i > 0 && &cell == &base) table.add({});
        const Collective& collective = *cell.point.collective;
        std::vector<std::string> row = {collective.name,
                                        collective.has_size ? size_text(cell.point.bytes) : "-"};
        if (is_test) row.push_back(every_text(cell));
        row.insert(row.end(), {cell.engine.name, fixed(median(cell.blocking), 1)});
        if (is_skew) row.push_back(fixed(cell.work_us, 1));
        for (const double share : {0.5, 0.9, 0.99}) {
            row.push_back(fixed(quantile(cell.times, share), 1));
        }
        if (!situation.is_symmetric()) {
            row.push_back(fixed(cell.long_percent(), 1));
        } else if (&cell == &base) {
            row.insert(row.end(), 2, "");
        } else {
            const Ratio ratio = cell.ratio_to(base);
            row.insert(row.end(), {ratio.text(), ratio.interval_text()});
        }
        table.add(row);
    }
    table.print(file);
}

std::string conclusion(const Situation& situation, std::span<const WaitsCell> cells,
                       std::size_t engines) {
    std::string text;
    for (std::size_t engine = 1; engine < engines && situation.is_symmetric(); ++engine) {
        std::vector<NamedRatio> ratios;
        for (std::size_t i = 0; i < cells.size(); i += engines) {
            const WaitsCell& cell = cells[i + engine];
            ratios.push_back({name_of(cell), cell.ratio_to(cells[i])});
        }
        text += std::string(cells[engine].engine.name) + " by " + cells[0].engine.name + ": " +
                summary(ratios) + "; " + above_bar(ratios) + ".\n";
    }
    return text;
}

JsonLine json_row(const Situation& situation, const WaitsCell& cell, const WaitsCell& base,
                  const JsonLine& circumstances) {
    JsonLine line;
    line.add("bench", "waits")
        .add("situation", situation.name)
        .add("collective", cell.point.collective->name)
        .add("bytes", cell.point.bytes)
        .add("every_us", std::int64_t{cell.every_us})
        .add("engine", cell.engine.name)
        .add("repetitions", static_cast<std::int64_t>(cell.times.size()))
        .add("blocking_us", median(cell.blocking))
        .add("work_us", cell.work_us)
        .add("median_us", median(cell.times))
        .add("p90_us", quantile(cell.times, 0.9))
        .add("p99_us", quantile(cell.times, 0.99))
        .add("long_percent", cell.long_percent());
    if (situation.is_symmetric() && &cell != &base) {
        line.add("ratio", cell.ratio_to(base).json());
    }
    JsonLine samples;
    samples.add("blocking_us", cell.blocking).add("times_us", cell.times);
    return line.add("circumstances", circumstances).add("samples", samples);
}

}  // namespace weft::bench
