#include "sim/noise_trace.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/setting.h"
#include "model/loggp.h"

namespace weft::simulate {
namespace {

constexpr std::int64_t ps_per_ns = 1000;
constexpr std::int64_t time_max_ns = 1'000'000'000'000;  // 17 minutes

constexpr std::string_view blanks = " \t\r";

// Takes the first word off a line.
std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

// Of "2500" or "0.18"; nothing if it is something else.
std::optional<std::int64_t> ps_of(std::string_view word) {
    const std::size_t point = std::min(word.find('.'), word.size());
    const auto whole = parse_whole_number(word.substr(0, point));
    if (!whole || *whole < 0 || *whole > time_max_ns) return std::nullopt;
    if (point == word.size()) return *whole * ps_per_ns;
    std::string fraction(word.substr(point + 1));
    if (fraction.empty() || fraction.size() > 3 ||
        fraction.find_first_not_of("0123456789") != fraction.npos)
        return std::nullopt;
    fraction.resize(3, '0');
    return *whole * ps_per_ns + std::stoll(fraction);
}

}  // namespace

Result<NoiseTrace> NoiseTrace::read(std::string_view text) {
    NoiseTrace trace;
    for (int number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = line.substr(0, line.find('#'));
        const std::string_view begin_word = take_word(line);
        if (begin_word.empty()) continue;
        const std::optional<std::int64_t> begin_ps = ps_of(begin_word);
        const std::optional<std::int64_t> length_ps = ps_of(take_word(line));
        if (!begin_ps || !length_ps || !take_word(line).empty())
            return failure(WEFT_REFUSED_ARGUMENT, "line %d: expected a time and a duration, in ns",
                           number);
        if (*begin_ps < trace.period_ps_)
            return failure(WEFT_REFUSED_ARGUMENT,
                           "line %d begins before the end of the noise before it", number);
        trace.quiet_ps_ += *begin_ps - trace.period_ps_;
        trace.period_ps_ = *begin_ps + *length_ps;
        trace.spans_.push_back({*begin_ps, trace.period_ps_});
    }
    if (trace.quiet_ps_ == 0)
        return failure(WEFT_REFUSED_ARGUMENT,
                       trace.spans_.empty() ? "no noise in it" : "nothing but noise in it");
    return trace;
}

std::int64_t NoiseTrace::end_ps(std::int64_t phase_ps, std::int64_t begin_ps,
                                std::int64_t cost_ps) const {
    if (cost_ps == 0) return begin_ps;
    std::int64_t at_ps = (begin_ps + phase_ps) % period_ps_;
    std::int64_t before_ps = begin_ps - at_ps;  // when this period began
    std::int64_t left_ps = cost_ps;
    auto span = std::ranges::upper_bound(spans_, at_ps, {}, &Span::end_ps);
    for (;; ++span) {
        if (span == spans_.end()) {
            at_ps = 0;
            const std::int64_t periods = (left_ps - 1) / quiet_ps_;
            before_ps = model::plus(before_ps, model::times(periods + 1, period_ps_));
            if (before_ps == model::time_max_ps) return before_ps;
            left_ps -= periods * quiet_ps_;
            span = spans_.begin();
        }
        if (at_ps + left_ps <= span->begin_ps) return before_ps + at_ps + left_ps;
        left_ps -= std::max<std::int64_t>(span->begin_ps - at_ps, 0);
        at_ps = span->end_ps;
    }
}

}  // namespace weft::simulate
