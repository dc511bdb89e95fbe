// The table, the rows of JSON and the sentence about relays.
#include "bench/relay/report.h"

#include <algorithm>

#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr std::int64_t small_bytes = 64 << 10;
constexpr std::int64_t large_bytes = 1 << 20;

// Compared with the engine thread in the same run. 1: equally long.
struct Ratio {
    double mean = 0;        // of the repetitions' means; median
    double percentile = 0;  // of the 99th percentiles of all relays
};

double percentile(const RelayCell& cell) { return quantile(cell.latencies(), 0.99); }

const RelayCell* thread_of(std::span<const RelayCell> cells, std::int64_t bytes) {
    const auto found = std::find_if(cells.begin(), cells.end(), [&](const RelayCell& cell) {
        return cell.engine == "thread" && cell.bytes == bytes;
    });
    return found == cells.end() ? nullptr : &*found;
}

Ratio ratio(const RelayCell& cell, const RelayCell& thread) {
    const std::vector<double> mine = cell.means();
    const std::vector<double> theirs = thread.means();
    std::vector<double> each;
    for (std::size_t i = 0; i < mine.size(); ++i) each.push_back(mine[i] / theirs[i]);
    return {median(each), percentile(cell) / percentile(thread)};
}

// Whether a row keeps the bar of its size and engine, if there is one.
const char* verdict(const RelayCell& cell, const RelayCell* thread, const RelayOptions& options) {
    if (!options.bars) return "";
    const auto text = [](bool is_met) { return is_met ? "met" : "missed"; };
    if (options.populate) {
        const bool has_bar = cell.engine == "kernel" && cell.bytes == small_bytes;
        return has_bar ? text(mean(cell.latencies()) <= 1000) : "";
    }
    if (cell.engine != "kernel:own" || thread == nullptr || options.pipelined ||
        options.testbed.nodes > 0) {
        return "";
    }
    const Ratio against = ratio(cell, *thread);
    if (cell.bytes == large_bytes) return text(against.mean <= 0.85 && against.percentile <= 1);
    return cell.bytes == small_bytes ? text(against.mean <= 1.05) : "";
}

// The size that the sentence is about: 1 MiB if it was measured, otherwise the largest.
std::int64_t headline(std::span<const RelayCell> cells) {
    std::int64_t most = 0;
    for (const RelayCell& cell : cells) {
        if (cell.bytes == large_bytes) return large_bytes;
        most = std::max(most, cell.bytes);
    }
    return most;
}

}  // namespace

void print_legend(std::FILE* file, const RelayOptions& options, const std::string& transports) {
    std::fprintf(
        file,
        "Broadcast along a chain%s through a rank that %s, over %s: %s,\n%d repetitions of "
        "%d relays. From the start of rank 0 to the end of rank 2's wait.\n",
        options.pipelined ? ", in segments," : "",
        options.populate ? "is inside mmap(MAP_POPULATE) of 512 MiB" : "computes and makes no call",
        transports.c_str(), description(options.testbed).c_str(), options.repetitions,
        options.relays);
    std::fputs(
        "mean: of a repetition's relays (median); p99, worst: of all relays; ratio, p99 ratio: to "
        "thread, in the same\nrepetitions; taken: what a relay takes from the computation "
        "(median), CPU: by getrusage (mean);\nlate: relays that ended only after the "
        "computation.\n\n",
        file);
}

void print_table(std::FILE* file, std::span<const RelayCell> cells, const RelayOptions& options) {
    Table table({"size", "engine", "mean us", "median us", "p99 us", "worst us", "ratio",
                 "p99 ratio", "taken us", "CPU us", "late", ""});
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const RelayCell& cell = cells[i];
        if (i > 0 && cells[i - 1].bytes != cell.bytes) table.add({});
        const std::vector<double> all = cell.latencies();
        const RelayCell* thread = thread_of(cells, cell.bytes);
        const Ratio against = thread ? ratio(cell, *thread) : Ratio{};
        table.add({size_text(cell.bytes), cell.engine, fixed(median(cell.means()), 1),
                   fixed(median(all), 1), fixed(percentile(cell), 1), fixed(quantile(all, 1), 1),
                   thread ? fixed(against.mean, 2) : "-",
                   thread ? fixed(against.percentile, 2) : "-", fixed(cell.taken_us(), 1),
                   fixed(cell.cpu_us(), 1), std::to_string(cell.late()),
                   verdict(cell, thread, options)});
    }
    table.print(file);
    int left_out = 0;
    for (const RelayCell& cell : cells) left_out += cell.left_out;
    if (left_out > 0) {
        std::fprintf(file, "Left out: %d relays that rank 0 started before all were ready.\n",
                     left_out);
    }
}

JsonLine json_row(const RelayCell& cell, const RelayOptions& options,
                  const JsonLine& circumstances) {
    std::vector<JsonLine> repetitions;
    for (std::size_t i = 0; i < cell.repetitions.size(); ++i) {
        JsonLine line;
        line.add("latency_us", samples(cell.repetitions[i], &Relay::latency))
            .add("work_us", samples(cell.repetitions[i], &Relay::work))
            .add("cpu_us", samples(cell.repetitions[i], &Relay::cpu))
            .add("work_alone_us", cell.alone[i].work)
            .add("cpu_alone_us", cell.alone[i].cpu);
        repetitions.push_back(line);
    }
    const std::vector<double> all = cell.latencies();
    JsonLine row;
    row.add("bench", "relay")
        .add("bytes", cell.bytes)
        .add("engine", cell.engine)
        .add("pipelined", std::int64_t{options.pipelined})
        .add("populate", std::int64_t{options.populate})
        .add("repetitions", static_cast<std::int64_t>(cell.repetitions.size()))
        .add("mean_us", median(cell.means()))
        .add("median_us", median(all))
        .add("p99_us", percentile(cell))
        .add("worst_us", quantile(all, 1))
        .add("taken_us", cell.taken_us())
        .add("cpu_us", cell.cpu_us())
        .add("late", std::int64_t{cell.late()})
        .add("left_out", std::int64_t{cell.left_out})
        .add("circumstances", circumstances)
        .add("samples", repetitions);
    return row;
}

std::string conclusion(std::span<const RelayCell> cells, const RelayOptions& options) {
    const std::int64_t bytes = headline(cells);
    const RelayCell* thread = thread_of(cells, bytes);
    std::string text;
    for (const RelayCell& cell : cells) {
        if (cell.bytes != bytes || &cell == thread) continue;
        text += text.empty() ? "" : "; ";
        if (thread == nullptr) {
            text += cell.engine + " takes " + fixed(median(cell.means()), 0) + " us";
            continue;
        }
        const Ratio against = ratio(cell, *thread);
        text += cell.engine + " takes " + fixed(against.mean, 2) + " of that on average and " +
                fixed(against.percentile, 2) + " at the 99th percentile";
    }
    std::string begin = "To pass " + size_text(bytes) + " bytes through a rank that " +
                        (options.populate ? "is inside the operating system" : "computes");
    if (thread != nullptr) {
        begin += ", thread takes " + fixed(median(thread->means()), 0) + " us";
        return begin + (text.empty() ? "." : "; " + text + ".");
    }
    return begin + ", " + text + ".";
}

}  // namespace weft::bench
