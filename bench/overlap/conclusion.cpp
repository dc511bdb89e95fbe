// The sentence beneath the tables, computed from what they show.
#include <algorithm>
#include <vector>

#include "bench/overlap/report.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

// The cells of one engine over all collectives and sizes.
double median_gain(std::span<const Cell> cells, const Engine& engine) {
    std::vector<double> gains;
    for (const Cell& cell : cells) {
        if (cell.engine.value == engine.value) gains.push_back(cell.gain());
    }
    return median(gains);
}

// What the sentence is about: a broadcast of 1 MiB if there is one, else what moves most.
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

// What one engine's worst rows are, beside what is attainable: large messages by the share that is
// hidden, small ones, of which nothing can be, by the time that the program is late.
std::string against_attainable(std::span<const Cell> cells, const std::string& engine) {
    constexpr std::int64_t large = 64 << 10;
    constexpr std::int64_t small = 4 << 10;
    const Cell* worst = nullptr;
    const Cell* latest = nullptr;
    for (const Cell& cell : cells) {
        if (cell.engine.name != engine) continue;
        if (cell.bytes >= large &&
            (!worst || median(cell.differences()) < median(worst->differences()))) {
            worst = &cell;
        }
        if (cell.bytes <= small && (!latest || cell.over_us() > latest->over_us())) latest = &cell;
    }
    std::string text;
    if (worst) {
        text += engine + " differs from what is attainable by " +
                fixed(median(worst->differences()), 1) + " points or better (" + subject(*worst) +
                ")";
    }
    if (latest) {
        text += (text.empty() ? engine + " is" : std::string(", and is")) + " at most " +
                fixed(latest->over_us(), 1) + " us late up to 4 KiB (" + subject(*latest) + ")";
    }
    return text;
}

std::string against_attainable(std::span<const Cell> cells, const OverlapOptions& options) {
    std::string text;
    for (const std::string& engine : options.engines) {
        const std::string sentence = against_attainable(cells, engine);
        if (!sentence.empty()) text += (text.empty() ? "" : "; ") + sentence;
    }
    return text.empty() ? text : text + ".";
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
    if (options.attainable) text += "\n" + against_attainable(cells, options);
    return text;
}

}  // namespace weft::bench
