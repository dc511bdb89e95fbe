#include "tools/weft/switch/report.h"

#include <algorithm>
#include <cstdio>

namespace weft {
namespace {

constexpr double share_to_notice = 0.2;  // of a core

// printf, into a string.
template <class... Values>
std::string text(const char* format, Values... values) {
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, format, values...);
    return buffer;
}

double in_us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }
double in_s(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

std::int64_t SwitchReport::late_bound_ns() const {
    return std::max<std::int64_t>(20'000'000, delay_ns / 10);
}

std::string report_text(const SwitchReport& report) {
    if (!report.is_complete) {
        return "weft run: the switch of the nodes has ended before the job: what the job measured "
               "is worthless\n";
    }
    const double gigabytes = static_cast<double>(report.bytes) / 1e9;
    const double used_s = in_s(report.cpu_ns);
    const double share = report.elapsed_ns > 0 ? used_s / in_s(report.elapsed_ns) : 0;
    const std::string core =
        report.core >= 0 ? text("core %d", report.core) : std::string("a core");
    std::string all = text(
        "weft run: links with delay: bias %.0f us, subtracted; latest packet %.0f us late; "
        "congestion control %s; the switch took %.2f s of CPU time for %.3f GB",
        in_us(report.bias_ns), in_us(report.late_max_ns), report.congestion.c_str(), used_s,
        gigabytes);
    if (gigabytes >= 0.01) all += text(" (%.2f s per GB)", used_s / gigabytes);
    all += text(", %.0f %% of %s\n", 100 * share, core.c_str());
    if (share > share_to_notice) {
        all += text(
            "weft run: the switch took more than %.0f %% of %s from the program; with a lower rate "
            "it takes less: --rate 100mbit\n",
            100 * share_to_notice, core.c_str());
    }
    if (!report.is_as_asked()) {
        all += text(
            "weft run: a packet came %.1f ms after its time, more than %.1f ms: the links were not "
            "as asked for, because the switch could not run in time on %s\n",
            in_us(report.late_max_ns) / 1e3, in_us(report.late_bound_ns()) / 1e3, core.c_str());
    }
    return all;
}

std::string report_json(const SwitchReport& report) {
    return text(
        "{\"kind\":\"switch\",\"bias_us\":%.1f,\"late_max_us\":%.1f,\"cpu_s\":%.4f,\"bytes\":%llu,"
        "\"congestion\":\"%s\"}\n",
        in_us(report.bias_ns), in_us(report.late_max_ns), in_s(report.cpu_ns),
        static_cast<unsigned long long>(report.bytes), report.congestion.c_str());
}

}  // namespace weft
