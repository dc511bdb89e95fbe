// The sentence below the tables, computed from them.
#include <algorithm>
#include <vector>

#include "bench/overlap/report.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

// One engine's median over all collectives and sizes.
double median_gain(std::span<const Cell> cells, const Engine& engine) {
    std::vector<double> gains;
    for (const Cell& cell : cells) {
        if (cell.engine.value == engine.value) gains.push_back(cell.gain());
    }
    return median(gains);
}

// The cell that the sentence is about: a broadcast of 1 MiB if there is one, otherwise the one that
// moves most.
const Cell& headline(std::span<const Cell> cells) {
    const auto rank = [](const Cell& cell) {
        return std::pair(cell.collective->name == std::string("ibcast") && cell.bytes == 1 << 20,
                         cell.bytes);
    };
    return *std::max_element(cells.begin(), cells.end(),
                             [&](const Cell& a, const Cell& b) { return rank(a) < rank(b); });
}

// "one ibcast of 1 MiB"
std::string subject(const Cell& cell) {
    std::string text = std::string("one ") + cell.collective->name;
    if (!cell.collective->has_size) return text;
    std::string size = size_text(cell.bytes);
    if (size.back() <= '9') return text + " of " + size + " bytes";
    size.insert(size.size() - 1, " ");
    return text + " of " + size + "iB";
}

// "a, b and c"
std::string enumeration(const std::vector<std::string>& items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
        text += items[i];
    }
    return text;
}

std::string verdict(std::span<const Cell> cells, const std::vector<Engine>& engines) {
    constexpr double noise = 0.02;
    const auto best =
        std::max_element(engines.begin(), engines.end(), [&](const Engine& a, const Engine& b) {
            return median_gain(cells, a) < median_gain(cells, b);
        });
    const double gain = median_gain(cells, *best);
    if (gain < 1 - noise) return "so overlapping lost time with every engine here";
    if (gain < 1 + noise) return "so overlapping won nothing with any engine here";
    return std::string("so ") + best->name + " gained most here";
}

// The worst row of each engine, compared with what is attainable: large messages by the share
// hidden; small ones, which can hardly be hidden, by how late the program is.
std::string against_attainable(std::span<const Cell> cells, const OverlapOptions& options) {
    constexpr std::int64_t large = 64 << 10;
    constexpr std::int64_t small = 4 << 10;
    const auto missed = [](const Cell& cell) { return -median(cell.differences()); };
    std::vector<std::string> points;
    std::vector<std::string> late;
    for (const std::string& engine : options.engines) {
        const Cell* worst = nullptr;
        double late_us = 0;
        bool has_small = false;
        for (const Cell& cell : cells) {
            if (cell.engine.name != engine) continue;
            if (cell.bytes >= large && cell.had_its_core() &&
                (!worst || missed(cell) > missed(*worst)))
                worst = &cell;
            if (cell.bytes > small) continue;
            has_small = true;
            late_us = std::max(late_us, cell.over_us());
        }
        if (worst) {
            points.push_back(engine + " loses at most " + fixed(std::max(missed(*worst), 0.0), 1) +
                             " points (" + subject(*worst) + ")");
        }
        if (has_small) late.push_back(fixed(late_us, 1) + " us with " + engine);
    }
    std::string text;
    if (!points.empty())
        text += "\nCompared with the attainable overlap, " + enumeration(points) + ".";
    if (!late.empty()) {
        text += "\nUp to 4 KiB the program is late by at most " + enumeration(late) + ".";
    }
    return text;
}

}  // namespace

std::string conclusion(std::span<const Cell> cells, const OverlapOptions& options) {
    if (cells.empty()) return "Nothing was measured.";
    const Cell& chosen = headline(cells);
    std::vector<Engine> engines;
    std::vector<std::string> overlaps;
    std::vector<std::string> gains;
    for (const Cell& cell : cells) {
        if (cell.collective != chosen.collective || cell.bytes != chosen.bytes) continue;
        engines.push_back(cell.engine);
        overlaps.push_back(std::string(cell.engine.name) + " hides " +
                           fixed(cell.overlap_percent(), 0) + " %");
        gains.push_back(std::string(cell.engine.name) + " " +
                        fixed(median_gain(cells, cell.engine), 2));
    }
    std::string text = options.tests == 0 ? "Without any call during the computation, "
                                          : "With " + std::to_string(options.tests) +
                                                " calls of weft_test during the computation, ";
    text += enumeration(overlaps) + " of " + subject(chosen);
    text += " behind it; the median gain over all " +
            std::to_string(cells.size() / engines.size()) + " rows is " + enumeration(gains) +
            " (2 is perfect, 1 is nothing, below 1 is a loss), " + verdict(cells, engines) + ".";
    if (options.attainable) text += against_attainable(cells, options);
    return text;
}

}  // namespace weft::bench
