#include "simulate/report.h"

#include <algorithm>

namespace weft::simulate {
namespace {

constexpr std::size_t listed_ranks_max = 16;

std::string padded(std::string name) {
    name.resize(std::max<std::size_t>(name.size() + 1, 17), ' ');
    return name;
}

// The last rank to end, the first of equals.
std::size_t last_of(const Report& report) {
    return static_cast<std::size_t>(std::ranges::max_element(report.end) - report.end.begin());
}

}  // namespace

std::string to_text(const Report& report) {
    std::string text;
    for (const auto& [name, value] : report.parameters) {
        text += (text.empty() ? "" : ", ") + name + " " + std::to_string(value);
    }
    text += "\n" + padded("events") + std::to_string(report.events) + "\n";
    if (report.end.size() <= listed_ranks_max) {
        for (std::size_t r = 0; r < report.end.size(); ++r)
            text += padded("rank " + std::to_string(r)) + std::to_string(report.end[r]) + " ns\n";
    }
    const std::size_t last = last_of(report);
    return text + padded("end") + std::to_string(report.end[last]) + " ns, rank " +
           std::to_string(last) + "\n";
}

std::string to_csv(const Report& report) {
    std::string text = "rank,end_ns\n";
    for (std::size_t r = 0; r < report.end.size(); ++r)
        text += std::to_string(r) + "," + std::to_string(report.end[r]) + "\n";
    return text;
}

std::string to_json(const Report& report) {
    std::string text = "{\"parameters\": {";
    for (const auto& [name, value] : report.parameters) {
        if (text.back() != '{') text += ", ";
        text += '"' + name + "\": " + std::to_string(value);
    }
    text += "},\n \"events\": " + std::to_string(report.events) +
            ",\n \"end_ns\": " + std::to_string(report.end[last_of(report)]) + ",\n \"ranks\": [";
    for (std::size_t r = 0; r < report.end.size(); ++r)
        text += (r == 0 ? "" : ", ") + std::to_string(report.end[r]);
    return text + "]}\n";
}

}  // namespace weft::simulate
