#include "sim/disturbance.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/setting.h"
#include "model/loggp.h"

namespace weft::simulate {
namespace {

// The numbers of one rank; `purpose` tells those for starts from those for noise.
Prng prng_of(std::uint64_t seed, std::uint64_t purpose, std::uint64_t rank) {
    return Prng(Prng(Prng(seed).next() + purpose).next() + rank);
}

// In (0, 1].
double fraction(Prng& prng) {
    constexpr double scale = 0x1p-53;
    return (static_cast<double>(prng.next() >> 11) + 1) * scale;
}

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

std::vector<std::int64_t> Disturbance::starts_ps(Rank ranks) const {
    std::vector<std::int64_t> starts(static_cast<std::size_t>(ranks));
    if (skew == Skew::none) return starts;
    if (skew == Skew::late) {
        starts[static_cast<std::size_t>(late_rank)] = skew_ps;
        return starts;
    }
    for (std::size_t r = 0; r < starts.size(); ++r) {
        Prng prng = prng_of(seed, 1, r);
        const double exponential = -std::log(fraction(prng));
        // Box and Muller, 1958, doi:10.1214/aoms/1177706645
        const double normal =
            std::sqrt(2 * exponential) * std::cos(2 * std::numbers::pi * fraction(prng));
        const double start = skew == Skew::normal ? normal : exponential;
        starts[r] = std::llround(start * static_cast<double>(skew_ps));
    }
    if (skew == Skew::normal) {
        const std::int64_t first = std::ranges::min(starts);
        for (std::int64_t& start : starts) start -= first;
    }
    return starts;
}

std::int64_t Disturbance::end_ps(Rank rank, std::int64_t begin_ps, std::int64_t cost_ps) const {
    if (cost_ps == 0) return begin_ps;
    if (trace) return trace->end_ps(phase_ps(rank, trace->period_ps()), begin_ps, cost_ps);
    const std::int64_t first_ps = phase_ps(rank, period_ps);
    // The noise of this number may still last, that before it does not.
    std::int64_t k = (begin_ps - first_ps + period_ps) / period_ps - 1;
    std::int64_t time_ps = begin_ps;
    std::int64_t left_ps = cost_ps;
    for (;; ++k) {
        const std::int64_t noise = noise_begin_ps(rank, first_ps, k);
        if (noise + noise_ps <= time_ps) continue;
        if (time_ps + left_ps <= noise) return time_ps + left_ps;
        left_ps -= std::max<std::int64_t>(noise - time_ps, 0);
        time_ps = noise + noise_ps;
        // Whole periods of long work at once. However they jitter, less is done in them than is
        // left.
        const std::int64_t periods = left_ps / (period_ps - noise_ps) - 2;
        if (periods <= 0) continue;
        k += periods;
        if (model::times(k + 1, period_ps) == model::time_max_ps) return model::time_max_ps;
        const std::int64_t later_ps = noise_begin_ps(rank, first_ps, k) + noise_ps;
        left_ps -= later_ps - time_ps - periods * noise_ps;
        time_ps = later_ps;
    }
}

std::int64_t Disturbance::phase_ps(Rank rank, std::int64_t of_period_ps) const {
    if (has_noise_together) return 0;
    Prng prng = prng_of(seed, 2, static_cast<std::uint64_t>(rank));
    return static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(of_period_ps)));
}

std::int64_t Disturbance::noise_begin_ps(Rank rank, std::int64_t first_ps, std::int64_t k) const {
    std::int64_t begin_ps = first_ps + k * period_ps;
    if (jitter_ps > 0 && !has_noise_together) {
        Prng prng =
            prng_of(seed + static_cast<std::uint64_t>(k), 3, static_cast<std::uint64_t>(rank));
        begin_ps +=
            static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(jitter_ps) + 1));
    }
    return begin_ps;
}

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
