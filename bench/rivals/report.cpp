// The table and the sentences of a comparison with an MPI.
#include "bench/rivals/report.h"

#include <algorithm>

#include "bench/points.h"
#include "bench/sizes.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr std::int64_t large = 64 << 10;  // from this size on there is something to hide

std::vector<double> ratios(const Cell& weft, double Times::*ours, const Cell& mpi,
                           double Times::*theirs) {
    std::vector<double> pairs;
    for (std::size_t i = 0; i < weft.repetitions.size(); ++i) {
        pairs.push_back(weft.repetitions[i].*ours / mpi.repetitions[i].*theirs);
    }
    return pairs;
}

std::vector<Comparison> comparisons(std::span<const Cell> cells, std::size_t engines,
                                    std::size_t engine) {
    std::vector<Comparison> all;
    for (std::size_t i = 0; i < cells.size(); i += engines + 1) {
        all.emplace_back(cells[i + 1 + engine], cells[i]);
    }
    return all;
}

std::vector<NamedRatio> named(const std::vector<Comparison>& all, Ratio Comparison::*ratio) {
    std::vector<NamedRatio> result;
    for (const Comparison& one : all) {
        result.push_back({Point{one.weft->collective, one.weft->bytes}.name(), one.*ratio});
    }
    return result;
}

// "1.62 to 1.85"
std::string range(const std::vector<double>& values) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return fixed(*least, 2) + (values.size() > 1 ? " to " + fixed(*most, 2) : "");
}

std::string gains_of_large_reductions(const std::vector<Comparison>& all) {
    std::vector<double> ours, theirs;
    for (const Comparison& one : all) {
        if (one.weft->collective->name != std::string("iallreduce")) continue;
        if (one.weft->bytes < 1 << 20) continue;
        ours.push_back(one.weft->gain());
        theirs.push_back(one.mpi->gain());
    }
    if (ours.empty()) return "";
    return "Gain of iallreduce from 1 MiB up: " + range(ours) + " with Weft, " + range(theirs) +
           " with " + all.front().mpi->engine.name + ".\n";
}

}  // namespace

Comparison::Comparison(const Cell& weft_cell, const Cell& mpi_cell)
    : weft(&weft_cell),
      mpi(&mpi_cell),
      total(ratios(weft_cell, &Times::total, mpi_cell, &Times::total)),
      blocking(ratios(weft_cell, &Times::blocking, mpi_cell, &Times::blocking)),
      call(ratios(weft_cell, &Times::blocking, mpi_cell, &Times::call)) {}

JsonLine Comparison::json() const {
    JsonLine line;
    return line.add("total", total.json())
        .add("blocking", blocking.json())
        .add("blocking_by_call", call.json());
}

void print_rival_table(std::FILE* file, std::span<const Cell> cells, std::size_t engines) {
    Table table({"size", "of", "call us", "blocking us", "work us", "start us", "wait us",
                 "total us", "overlap %", "gain", "total ratio", "95 %", "blocking ratio", "95 %",
                 "by call"});
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        const std::size_t place = i % (engines + 1);
        if (i > 0 && place == 0) table.add({});
        std::vector<std::string> row = {cell.collective->has_size ? size_text(cell.bytes) : "-",
                                        cell.engine.name};
        for (double Times::*const value : {&Times::call, &Times::blocking, &Times::work,
                                           &Times::start, &Times::wait, &Times::total}) {
            row.push_back(fixed(cell.median_of(value), 2));
        }
        row.push_back(fixed(cell.overlap_percent(), 0));
        row.push_back(fixed(cell.gain(), 2));
        if (place == 0) {
            row.insert(row.end(), 5, "");
        } else {
            const Comparison one(cell, cells[i - place]);
            row.insert(row.end(), {one.total.text(), one.total.interval_text(), one.blocking.text(),
                                   one.blocking.interval_text(), one.call.text()});
        }
        table.add(row);
    }
    std::fprintf(file, "\n%s\n", cells.empty() ? "" : cells[0].collective->name);
    table.print(file);
    std::fflush(file);
}

void print_rival_legend(std::FILE* file) {
    std::fputs(
        "call: the blocking call (Weft's is start + wait); blocking: start + wait. The work is the "
        "same for all,\nas long as the MPI's blocking. overlap = 1 - (total - work) / blocking; "
        "gain = (call + work) / total.\nratios: Weft / MPI in each repetition (median, with its "
        "95 % interval by order statistics); by call: Weft's blocking / the MPI's call.\n",
        file);
}

std::string rival_conclusion(std::span<const Cell> cells, std::size_t engines) {
    std::string text;
    for (std::size_t engine = 0; engine < engines; ++engine) {
        const std::vector<Comparison> all = comparisons(cells, engines, engine);
        std::vector<Comparison> of_large;
        for (const Comparison& one : all) {
            if (one.weft->bytes >= large) of_large.push_back(one);
        }
        text += std::string("\nWeft (") + all.front().weft->engine.name + ") by " +
                all.front().mpi->engine.name + ":\n";
        if (!of_large.empty()) {
            const std::vector<NamedRatio> totals = named(of_large, &Comparison::total);
            text +=
                "Overlapped, from 64 KiB up: " + summary(totals) + "; " + above_bar(totals) + ".\n";
        }
        text += "Start + wait: " + summary(named(all, &Comparison::blocking)) + ".\n";
        text += gains_of_large_reductions(all);
    }
    return text;
}

}  // namespace weft::bench
