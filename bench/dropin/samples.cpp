// Reads rows, and computes results from them.
#include "bench/dropin/samples.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "bench/sizes.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

std::vector<double> of_all(const std::vector<std::vector<OverlapSample>>& rounds,
                           double (*value)(const OverlapSample&)) {
    std::vector<double> values;
    for (const auto& round : rounds) {
        for (const OverlapSample& sample : round) values.push_back(value(sample));
    }
    return values;
}

double total_of(const std::vector<OverlapSample>& round) {
    std::vector<double> totals;
    for (const OverlapSample& sample : round) totals.push_back(sample.total);
    return median(totals);
}

JsonLine samples_json(const std::vector<std::vector<OverlapSample>>& rounds) {
    JsonLine line;
    return line.add("work_us", of_all(rounds, [](const OverlapSample& s) { return s.work; }))
        .add("blocking_us", of_all(rounds, [](const OverlapSample& s) { return s.blocking; }))
        .add("total_us", of_all(rounds, [](const OverlapSample& s) { return s.total; }));
}

template <class Cell>
Cell& cell_of(std::vector<Cell>& cells, const std::string& collective, std::int64_t bytes,
              int outstanding) {
    for (Cell& cell : cells) {
        if (cell.collective != collective || cell.bytes != bytes) continue;
        if constexpr (requires { cell.outstanding; }) {
            if (cell.outstanding != outstanding) continue;
        }
        return cell;
    }
    Cell cell;
    cell.collective = collective;
    cell.bytes = bytes;
    if constexpr (requires { cell.outstanding; }) cell.outstanding = outstanding;
    cells.push_back(cell);
    return cells.back();
}

}  // namespace

double OverlapCell::median_of(const std::vector<std::vector<OverlapSample>>& rounds,
                              double OverlapSample::*value) const {
    std::vector<double> values;
    for (const auto& round : rounds) {
        for (const OverlapSample& sample : round) values.push_back(sample.*value);
    }
    return median(values);
}

double OverlapCell::overlap_percent(const std::vector<std::vector<OverlapSample>>& rounds) const {
    return median(of_all(rounds, [](const OverlapSample& s) {
        return 100 * (1 - (s.total - s.work) / s.blocking);
    }));
}

double OverlapCell::attainable_percent() const {
    return 100 * (1 - lost_us / median_of(with, &OverlapSample::blocking));
}

Ratio OverlapCell::total_ratio() const {
    std::vector<double> pairs;
    for (std::size_t i = 0; i < with.size() && i < without.size(); ++i) {
        pairs.push_back(total_of(with[i]) / total_of(without[i]));
    }
    return Ratio(pairs);
}

std::string OverlapCell::name() const { return collective + " " + size_text(bytes); }

JsonLine OverlapCell::json() const {
    JsonLine line;
    line.add("bench", "dropin")
        .add("measure", "overlap")
        .add("collective", collective)
        .add("bytes", bytes)
        .add("rounds", static_cast<std::int64_t>(with.size()))
        .add("overlap_percent", overlap_percent(with))
        .add("overlap_without_percent", overlap_percent(without));
    if (lost_us > 0) line.add("attainable_percent", attainable_percent()).add("lost_us", lost_us);
    return line.add("ratio", total_ratio().json())
        .add("with", samples_json(with))
        .add("without", samples_json(without));
}

Ratio LatencyCell::ratio() const {
    std::vector<double> pairs;
    for (std::size_t i = 0; i < with.size(); ++i) pairs.push_back(with[i] / native[i]);
    return Ratio(pairs);
}

std::string LatencyCell::name() const {
    return (outstanding > 1 ? std::to_string(outstanding) + " x " : "") + collective +
           (bytes > 0 ? " " + size_text(bytes) : "");
}

JsonLine LatencyCell::json() const {
    JsonLine line;
    line.add("bench", "dropin")
        .add("measure", outstanding > 0 ? "latency" : "blocking")
        .add("collective", collective)
        .add("bytes", bytes);
    if (outstanding > 0) line.add("outstanding", std::int64_t{outstanding});
    return line.add("ratio", ratio().json()).add("with_us", with).add("native_us", native);
}

std::vector<double> CallCell::differences() const {
    std::vector<double> differences;
    for (std::size_t i = 0; i < with.size(); ++i) differences.push_back(with[i] - native[i]);
    return differences;
}

JsonLine CallCell::json(const char* measure) const {
    const Interval interval = median_interval(differences());
    JsonLine line, more;
    more.add("median", median(differences())).add("low", interval.low).add("high", interval.high);
    return line.add("bench", "dropin")
        .add("measure", measure)
        .add("function", function)
        .add("more_ns", more)
        .add("with_ns", with)
        .add("native_ns", native);
}

JsonLine InitTimes::json() const {
    JsonLine line;
    return line.add("bench", "dropin")
        .add("measure", "calls")
        .add("function", "MPI_Init")
        .add("with_us", with)
        .add("without_us", without);
}

bool add_rows(const std::string& path, bool is_with, const LostTimes& lost, DropinCells& cells) {
    std::ifstream file(path);
    std::string last;  // the last cell; its rows are consecutive
    bool any = false;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind, collective;
        std::int64_t bytes = 0;
        words >> kind;
        if (kind == "version") {
            cells.version = line.substr(kind.size() + 1);
            continue;
        }
        any = true;
        if (kind == "init") {
            double us = 0;
            words >> us;
            (is_with ? cells.init.with : cells.init.without).push_back(us);
            continue;
        }
        if (kind == "calls" || kind == "stub") {
            std::vector<CallCell>& all = kind == "stub" ? cells.stubs : cells.calls;
            std::string function;
            double with = 0, native = 0;
            words >> function >> with >> native;
            if (!is_with) continue;  // the MPI's own twice
            auto cell = std::ranges::find(all, function, &CallCell::function);
            if (cell == all.end()) cell = all.insert(cell, {function, {}, {}});
            cell->with.push_back(with);
            cell->native.push_back(native);
            continue;
        }
        words >> collective >> bytes;
        if (kind == "overlap") {
            std::int64_t iterations = 0;
            OverlapSample sample;
            words >> iterations >> sample.work >> sample.blocking >> sample.total;
            OverlapCell& cell = cell_of(cells.overlap, collective, bytes, 1);
            if (const auto found = lost.find(collective + " " + std::to_string(bytes));
                found != lost.end()) {
                cell.lost_us = found->second;
            }
            auto& rounds = is_with ? cell.with : cell.without;
            if (last != cell.name()) rounds.emplace_back();
            last = cell.name();
            rounds.back().push_back(sample);
        } else {
            int outstanding = 0;
            double with = 0, native = 0;
            words >> outstanding >> with >> native;
            LatencyCell& cell = cell_of(kind == "blocking" ? cells.blocking : cells.latency,
                                        collective, bytes, outstanding);
            cell.with.push_back(with);
            cell.native.push_back(native);
        }
    }
    return any;
}

}  // namespace weft::bench
