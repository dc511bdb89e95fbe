#include "model/measured.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace weft::model {
namespace {

// The number that follows `"name":`, in this line; with `"value":` between them, if it has an
// interval. REQUIRES: the line has no blanks.
std::optional<double> number_of(std::string_view line, const std::string& name) {
    const std::string key = "\"" + name + "\":";
    const std::size_t at = line.find(key);
    if (at == line.npos) return std::nullopt;
    line.remove_prefix(at + key.size());
    constexpr std::string_view value = "{\"value\":";
    if (line.starts_with(value)) line.remove_prefix(value.size());
    double number = 0;
    const auto end = line.data() + line.size();
    if (std::from_chars(line.data(), end, number).ec != std::errc()) return std::nullopt;
    // (It reads "nan" and "inf", too.)
    if (!std::isfinite(number)) return std::nullopt;
    return number;
}

// Of ns. At most a second, as everywhere.
std::int64_t ps_of(double time_ns) { return std::llround(1000 * std::clamp(time_ns, 0.0, 1e9)); }

}  // namespace

const MeasuredParameters::MeasuredMessages& MeasuredParameters::messages_of(
    std::int64_t bytes) const {
    const auto one = std::ranges::lower_bound(messages, bytes, {}, &MeasuredMessages::bytes_max);
    return one == messages.end() ? messages.back() : *one;
}

Result<MeasuredParameters> read_measured(std::string_view text) {
    MeasuredParameters measured;
    double reduction_ns = 0;
    double copy_ns = 0;
    std::optional<double> latency, send, recv;  // if not observable, those of the messages before
    for (int line_number = 1; !text.empty(); ++line_number) {
        // JSON may have blanks or not.
        std::string line(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        std::erase(line, ' ');
        reduction_ns = number_of(line, "gamma_ns_per_byte").value_or(reduction_ns);
        copy_ns = number_of(line, "copy_ns_per_byte").value_or(copy_ns);
        if (line.find("\"messages\":") == line.npos) continue;
        const auto bytes_max = number_of(line, "bytes_max");
        if (line.find("\"not_observable\":") == line.npos) {
            latency = number_of(line, "L_ns");
            send = number_of(line, "o_s_ns");
            recv = number_of(line, "o_r_ns");
        }
        const auto byte_gap = number_of(line, "G_ns_per_byte");
        const auto byte_overhead = number_of(line, "O_ns_per_byte");
        if (!bytes_max || !latency || !send || !recv || !byte_gap || !byte_overhead) {
            return failure(WEFT_REFUSED_SETTING,
                           "line %d: expected bytes_max, L_ns, o_s_ns, o_r_ns, G_ns_per_byte and "
                           "O_ns_per_byte",
                           line_number);
        }
        MeasuredParameters::MeasuredMessages one{
            static_cast<std::int64_t>(std::clamp(*bytes_max, 0.0, 1e18))};
        one.parameters.latency_ps = ps_of(*latency);
        one.parameters.overhead_ps = (ps_of(*send) + ps_of(*recv)) / 2;
        // Where it cannot be observed, it is not above the overhead.
        one.parameters.gap_ps = ps_of(number_of(line, "g_ns").value_or(std::max(*send, *recv)));
        one.parameters.byte_gap_ps = ps_of(*byte_gap);
        one.parameters.byte_overhead_ps = ps_of(*byte_overhead);
        one.send_overhead_ps = ps_of(*send);
        one.recv_overhead_ps = ps_of(*recv);
        one.byte_send_overhead_ps =
            ps_of(number_of(line, "O_s_ns_per_byte").value_or(*byte_overhead));
        one.byte_recv_overhead_ps =
            ps_of(number_of(line, "O_r_ns_per_byte").value_or(*byte_overhead));
        one.are_ends_along = line.find("\"ends\":\"along\"") != line.npos;
        one.parameters.eager_bytes_max = time_max_ps;
        measured.messages.push_back(one);
    }
    if (measured.messages.empty())
        return failure(WEFT_REFUSED_SETTING, "no parameters of messages in it");
    for (MeasuredParameters::MeasuredMessages& one : measured.messages) {
        one.parameters.byte_reduction_ps = ps_of(reduction_ns);
        one.parameters.byte_copy_ps = ps_of(copy_ns);
    }
    std::ranges::stable_sort(measured.messages, {},
                             &MeasuredParameters::MeasuredMessages::bytes_max);
    return measured;
}

}  // namespace weft::model
