#include "bench/pipeline/report.h"

#include <algorithm>

#include "bench/ratio.h"
#include "bench/rivals/rival.h"
#include "bench/sizes.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

Ratio ratio_of(const PipelineCell& cell, const PipelineCell& by_hand) {
    std::vector<double> pairs;
    for (std::size_t i = 0; i < cell.turns.size(); ++i)
        pairs.push_back(cell.turns[i].time_us / by_hand.turns[i].time_us);
    return Ratio(pairs);
}

double percent_outside(const PipelineCell& cell) {
    return 100 * median(cell.samples(&PipelineTurn::outside));
}

// Half of the times lie within this much, in percent of their median.
double spread_percent(const PipelineCell& cell) {
    const std::vector<double> times = cell.samples(&PipelineTurn::time_us);
    return 100 * (quantile(times, 0.75) - quantile(times, 0.25)) / median(times);
}

}  // namespace

const PipelineCell& by_hand_of(std::span<const PipelineCell> cells, const PipelineCell& cell) {
    return *std::find_if(cells.begin(), cells.end(), [&](const PipelineCell& one) {
        return one.bytes == cell.bytes && one.computation == cell.computation;
    });
}

void print_legend(std::FILE* file, const PipelineOptions& options, const std::string& transports,
                  std::span<const PipelineCell> cells) {
    const std::string& computation = cells.front().computation;
    const Rival* const rival = Rival::of_this_job();
    std::fprintf(file, "Broadcast along a chain in segments of %s, Weft over %s%s%s: %s;\n",
                 options.segment.c_str(), transports.c_str(), rival ? ", beside " : "",
                 rival ? rival->version().c_str() : "", description(options.testbed).c_str());
    std::fprintf(file,
                 "every rank repeats %s of %dx%d, with a query after each, until its part has "
                 "ended. %d repetitions.\n",
                 computation.c_str(), options.matrix, options.matrix, options.repetitions);
    std::string others;
    for (const PipelineCell& cell : cells) {
        if (cell.bytes != cells.front().bytes || cell.computation == computation) continue;
        others += (others.empty() ? "" : ", ") + cell.name;
    }
    if (!others.empty())
        std::fprintf(file, "(%s: a plain dgemm of the bench's own.)\n", others.c_str());
    std::fprintf(
        file,
        "time: from the first start to the last end (median); ratio: to %s with the same\n"
        "computation in the same repetition (median, with its 95 %% interval); outside: share of "
        "all ranks' CPU time\nthat is not the computations' (median); spread: between the "
        "quartiles "
        "of the times, of their median.\n\n",
        rival ? "pipelining by hand over that MPI" : "pipelining by hand over Weft");
}

void print_table(std::FILE* file, std::span<const PipelineCell> cells) {
    Table table(
        {"bytes", "way", "time us", "ratio", "95 %", "outside %", "spread %", "computations"});
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const PipelineCell& cell = cells[i];
        if (i > 0 && cells[i - 1].bytes != cell.bytes) table.add({});
        const Ratio ratio = ratio_of(cell, by_hand_of(cells, cell));
        table.add({size_text(cell.bytes), cell.name,
                   fixed(median(cell.samples(&PipelineTurn::time_us)), 1), ratio.text(),
                   ratio.interval_text(), fixed(percent_outside(cell), 1),
                   fixed(spread_percent(cell), 1),
                   fixed(median(cell.samples(&PipelineTurn::computations)), 1)});
    }
    table.print(file);
}

JsonLine json_row(const PipelineCell& cell, const PipelineCell& by_hand,
                  const PipelineOptions& options, const JsonLine& circumstances) {
    JsonLine samples;
    samples.add("time_us", cell.samples(&PipelineTurn::time_us))
        .add("outside", cell.samples(&PipelineTurn::outside))
        .add("computations", cell.samples(&PipelineTurn::computations));
    JsonLine row;
    row.add("bench", "pipeline")
        .add("bytes", cell.bytes)
        .add("way", cell.name)
        .add("segment", options.segment)
        .add("computation", cell.computation)
        .add("matrix", std::int64_t{options.matrix})
        .add("repetitions", static_cast<std::int64_t>(cell.turns.size()))
        .add("time_us", median(cell.samples(&PipelineTurn::time_us)))
        .add("ratio", ratio_of(cell, by_hand).json())
        .add("outside_percent", percent_outside(cell))
        .add("spread_percent", spread_percent(cell))
        .add("circumstances", circumstances)
        .add("samples", samples);
    return row;
}

std::string conclusion(std::span<const PipelineCell> cells) {
    std::int64_t bytes = 0;
    for (const PipelineCell& cell : cells) bytes = std::max(bytes, cell.bytes);
    std::string text;
    const PipelineCell* by_hand = nullptr;
    const auto time_text = [](const PipelineCell& cell) {
        return fixed(median(cell.samples(&PipelineTurn::time_us)), 0) + " us";
    };
    for (const PipelineCell& cell : cells) {
        if (cell.bytes != bytes) continue;
        if (!by_hand) {
            by_hand = &cell;
            continue;
        }
        const PipelineCell& reference = by_hand_of(cells, cell);
        text += (text.empty() ? "" : "; ") + cell.name + " takes ";
        if (&reference == &cell) {
            text += time_text(cell);
        } else {
            text += fixed(ratio_of(cell, reference).middle, 2) +
                    (&reference == by_hand ? " of that time" : " of the time of " + reference.name);
        }
        text += " and " + fixed(percent_outside(cell), 1) + " %";
    }
    return "A broadcast of " + size_text(bytes) + " bytes " + by_hand->name + " takes " +
           time_text(*by_hand) + ", and " + fixed(percent_outside(*by_hand), 1) +
           " % of the CPU time besides the computations" + (text.empty() ? "." : "; " + text + ".");
}

}  // namespace weft::bench
