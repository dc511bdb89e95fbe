#include "sim/report.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace weft::simulate {
namespace {

constexpr std::size_t listed_ranks_max = 16;

using Times = std::vector<std::uint64_t>;

std::string padded(std::string name) {
    name.resize(std::max<std::size_t>(name.size() + 1, 17), ' ');
    return name;
}

// A decimal fraction, without zeros at its end.
std::string decimal(std::uint64_t value, std::uint64_t units) {
    std::string text = std::to_string(value / units);
    if (value % units == 0) return text;
    std::string fraction = std::to_string(units + value % units);
    fraction[0] = '.';
    return text + fraction.substr(0, fraction.find_last_not_of('0') + 1);
}

// Of a share, with one decimal.
std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", 100 * share);
    return text;
}

// The first of the largest.
std::size_t most(const Times& times) {
    return static_cast<std::size_t>(std::ranges::max_element(times) - times.begin());
}

std::string quoted(const std::string& text) {
    std::string quote = "\"";
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < ' ') continue;
        if (c == '"' || c == '\\') quote += '\\';
        quote += c;
    }
    return quote + '"';
}

std::string list_of(const Times& times, std::uint64_t units) {
    std::string text = "[";
    for (const std::uint64_t time : times)
        text += (text.size() > 1 ? ", " : "") + decimal(time, units);
    return text + "]";
}

}  // namespace

std::optional<double> absorbed(const Report& report) {
    if (report.disturbed.empty() || !report.undisturbed_end) return std::nullopt;
    const auto injected = static_cast<double>(std::ranges::max(report.disturbed));
    if (injected == 0) return std::nullopt;
    const double slower = static_cast<double>(std::ranges::max(report.end)) -
                          static_cast<double>(*report.undisturbed_end);
    return 1 - slower / injected;
}

double share_hidden(std::int64_t alone_ps, std::int64_t compute_ps, std::int64_t together_ps) {
    const std::int64_t shorter_ps = std::min(alone_ps, compute_ps);
    if (shorter_ps == 0) return 1;
    return static_cast<double>(alone_ps + compute_ps - together_ps) /
           static_cast<double>(shorter_ps);
}

std::optional<double> optimality(const Report& report) {
    const auto end = static_cast<double>(std::ranges::max(report.end));
    if (!report.lower_bound || end == 0) return std::nullopt;
    return static_cast<double>(*report.lower_bound) / end;
}

std::string to_text(const Report& report) {
    const auto ns = [&](std::uint64_t time) { return decimal(time, report.units_per_ns) + " ns"; };
    std::string text = report.title.empty() ? "" : report.title + "\n";
    for (const auto& [name, value] : report.parameters)
        text += name + " " + decimal(value, report.units_per_ns) + ", ";
    text += "S " + std::to_string(report.eager_bytes_max) + "\n" + padded("events") +
            std::to_string(report.events) + "\n";
    if (report.end.size() <= listed_ranks_max) {
        for (std::size_t r = 0; r < report.end.size(); ++r) {
            text += padded("rank " + std::to_string(r)) + ns(report.end[r]);
            if (!report.cpu.empty()) text += ", CPU busy " + ns(report.cpu[r]);
            if (!report.wait.empty()) text += ", waits " + ns(report.wait[r]);
            if (!report.overlaps.empty()) text += ", overlap " + percent(report.overlaps[r]) + " %";
            text += "\n";
        }
    }
    const std::size_t last = most(report.end);
    text += padded("end") + ns(report.end[last]) + ", rank " + std::to_string(last) + "\n";
    if (report.cpu.empty()) return text;
    const auto add = [&](const char* name, const Times& times) {
        const std::size_t longest = most(times);
        const double sum = std::accumulate(times.begin(), times.end(), 0.0);
        text += padded(name) + "at most " + ns(times[longest]) + ", rank " +
                std::to_string(longest) + "; on average " +
                ns(static_cast<std::uint64_t>(sum / static_cast<double>(times.size()))) + "\n";
    };
    add("CPU busy", report.cpu);
    if (!report.wait.empty()) add("wait", report.wait);
    if (report.overlap) text += padded("overlap") + percent(*report.overlap) + " %\n";
    if (!report.disturbed.empty()) {
        const std::size_t worst = most(report.disturbed);
        text += padded("disturbed") + "at most " + ns(report.disturbed[worst]) + ", rank " +
                std::to_string(worst) + "\n";
    }
    if (report.undisturbed_end)
        text += padded("undisturbed end") + ns(*report.undisturbed_end) + "\n";
    if (const auto share = absorbed(report))
        text += padded("absorbed") + percent(*share) + " % of the most disturbed rank's\n";
    if (report.closed_form) {
        const auto [time, cpu_time] = *report.closed_form;
        text += padded("closed form") + ns(time) + ": CPU " + ns(cpu_time) + ", network " +
                ns(time - cpu_time) + "\n";
    }
    if (report.by_rounds) text += padded("by rounds") + ns(*report.by_rounds) + "\n";
    if (report.lower_bound) text += padded("lower bound") + ns(*report.lower_bound) + "\n";
    if (const auto share = optimality(report))
        text += padded("of the optimum") + "at least " + percent(*share) + " %\n";
    return text;
}

std::string to_csv(const Report& report) {
    std::string text = "rank,end_ns";
    if (!report.cpu.empty()) text += ",cpu_ns";
    if (!report.disturbed.empty()) text += ",disturbed_ns";
    if (!report.wait.empty()) text += ",wait_ns";
    if (!report.overlaps.empty()) text += ",overlap_percent";
    text += "\n";
    for (std::size_t r = 0; r < report.end.size(); ++r) {
        text += std::to_string(r) + "," + decimal(report.end[r], report.units_per_ns);
        if (!report.cpu.empty()) text += "," + decimal(report.cpu[r], report.units_per_ns);
        if (!report.disturbed.empty())
            text += "," + decimal(report.disturbed[r], report.units_per_ns);
        if (!report.wait.empty()) text += "," + decimal(report.wait[r], report.units_per_ns);
        if (!report.overlaps.empty()) text += "," + percent(report.overlaps[r]);
        text += "\n";
    }
    return text;
}

std::string to_json(const Report& report) {
    const std::uint64_t units = report.units_per_ns;
    std::string text = "{";
    if (!report.title.empty()) text += "\"title\": " + quoted(report.title) + ",\n ";
    text += "\"parameters\": {";
    for (const auto& [name, value] : report.parameters)
        text += "\"" + name + "\": " + decimal(value, units) + ", ";
    text += "\"S\": " + std::to_string(report.eager_bytes_max) +
            "},\n \"events\": " + std::to_string(report.events) +
            ",\n \"end_ns\": " + decimal(report.end[most(report.end)], units) +
            ",\n \"rank_end_ns\": " + list_of(report.end, units);
    if (!report.cpu.empty()) text += ",\n \"rank_cpu_ns\": " + list_of(report.cpu, units);
    if (!report.disturbed.empty())
        text += ",\n \"rank_disturbed_ns\": " + list_of(report.disturbed, units);
    if (!report.wait.empty()) text += ",\n \"rank_wait_ns\": " + list_of(report.wait, units);
    if (!report.overlaps.empty()) {
        std::string shares;
        for (const double share : report.overlaps)
            shares += (shares.empty() ? "" : ", ") + percent(share);
        text += ",\n \"rank_overlap_percent\": [" + shares + "]";
    }
    if (report.overlap) text += ",\n \"overlap_percent\": " + percent(*report.overlap);
    if (report.undisturbed_end)
        text += ",\n \"undisturbed_end_ns\": " + decimal(*report.undisturbed_end, units);
    if (const auto share = absorbed(report)) text += ",\n \"absorbed_percent\": " + percent(*share);
    if (report.closed_form) {
        text += ",\n \"closed_form_ns\": " + decimal(report.closed_form->first, units) +
                ", \"closed_form_cpu_ns\": " + decimal(report.closed_form->second, units);
    }
    if (report.by_rounds) text += ",\n \"by_rounds_ns\": " + decimal(*report.by_rounds, units);
    if (report.lower_bound)
        text += ",\n \"lower_bound_ns\": " + decimal(*report.lower_bound, units);
    if (const auto share = optimality(report))
        text += ",\n \"optimality_percent\": " + percent(*share);
    return text + "}\n";
}

std::string to_trace(std::span<const BusySpan> spans) {
    constexpr const char* units[] = {"CPU", "sending", "receiving", "card"};
    constexpr const char* works[] = {"send",     "receive", "reduction", "copy",
                                     "question", "answer",  "list"};
    constexpr std::uint64_t ps_per_us = 1'000'000;
    std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
    std::uint32_t ranks = 0;
    for (const BusySpan& span : spans) {
        ranks = std::max(ranks, span.rank + 1);
        const auto begin = static_cast<std::uint64_t>(span.begin_ps);
        const auto length = static_cast<std::uint64_t>(span.end_ps - span.begin_ps);
        text += "{\"ph\": \"X\", \"pid\": " + std::to_string(span.rank) +
                ", \"tid\": " + std::to_string(static_cast<int>(span.unit)) + ", \"name\": \"" +
                works[static_cast<int>(span.work)] + "\", \"ts\": " + decimal(begin, ps_per_us) +
                ", \"dur\": " + decimal(length, ps_per_us) + "},\n";
    }
    for (std::uint32_t r = 0; r < ranks; ++r) {
        const std::string pid = "{\"ph\": \"M\", \"pid\": " + std::to_string(r);
        for (std::size_t unit = 0; unit < std::size(units); ++unit) {
            text += pid + ", \"tid\": " + std::to_string(unit) +
                    ", \"name\": \"thread_name\", \"args\": {\"name\": \"" + units[unit] +
                    "\"}},\n";
        }
        text += pid + ", \"name\": \"process_name\", \"args\": {\"name\": \"rank " +
                std::to_string(r) + "\"}},\n";
    }
    if (text.ends_with(",\n")) text.resize(text.size() - 2);
    return text + "\n]}\n";
}

}  // namespace weft::simulate
