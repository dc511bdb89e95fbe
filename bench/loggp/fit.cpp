#include "bench/loggp/fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/random.h"

namespace weft::bench {
namespace {

using Kind = LogGpTrain::Kind;
using Samples = std::vector<double>;

// Of two trains. Their difference is free of how a train begins and ends.
constexpr int messages = 16;
constexpr int fewer_messages = 8;
constexpr int resamplings = 200;
constexpr std::int64_t local_bytes[] = {4096, 65536};  // that stay in a core's cache

struct Line {
    double at_zero = 0;
    double slope = 0;
};

double weight_of(double time) { return time > 0 ? 1 / (time * time) : 1; }

// Least squares of relative deviations: large times do not decide alone.
Line line_through(const std::vector<double>& x, const std::vector<double>& y) {
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double weight = weight_of(y[i]);
        w += weight;
        wx += weight * x[i];
        wy += weight * y[i];
        wxx += weight * x[i] * x[i];
        wxy += weight * x[i] * y[i];
    }
    const double determinant = w * wxx - wx * wx;
    if (determinant == 0) return {y.empty() ? 0 : y[0], 0};
    const double slope = (w * wxy - wx * wy) / determinant;
    return {(wy - slope * wx) / w, slope};
}

// The same, where it begins at `at_zero`.
Line line_from(double at_zero, const std::vector<double>& x, const std::vector<double>& y) {
    double wxx = 0, wxy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double weight = weight_of(y[i]);
        wxx += weight * x[i] * x[i];
        wxy += weight * x[i] * (y[i] - at_zero);
    }
    return {at_zero, wxx > 0 ? wxy / wxx : 0};
}

// The same, where its slope is `slope`.
Line line_of_slope(double slope, const std::vector<double>& x, const std::vector<double>& y) {
    double w = 0, wy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double weight = weight_of(y[i]);
        w += weight;
        wy += weight * (y[i] - slope * x[i]);
    }
    return {w > 0 ? wy / w : 0, slope};
}

// The samples of one size. Of messages that wait for their receive, `delayed` and `received` are CPU times, and there
// are no delays and requests.
struct OfSize {
    std::int64_t bytes = 0;
    std::int64_t delay_ns = 0;
    Samples one;
    Samples few, many, few_delayed, many_delayed;
    Samples few_received, many_received;
    Samples few_delays, many_delays;
    Samples few_requests, many_requests;
};

struct Point {
    double bytes, one, between, sending, receiving;
};

// What a train's additional message takes.
double additional(const Samples& few, const Samples& many) {
    return (median(many) - median(few)) / (messages - fewer_messages);
}

Point point_of(const OfSize& size) {
    return {static_cast<double>(size.bytes), median(size.one), additional(size.few, size.many),
            additional(size.few_delayed, size.many_delayed) -
                additional(size.few_delays, size.many_delays),
            additional(size.few_received, size.many_received) -
                additional(size.few_requests, size.many_requests)};
}

// One set of values, without intervals.
struct Values {
    double latency, send_overhead, recv_overhead, gap, byte_gap;
    double byte_send_overhead, byte_recv_overhead;
    bool is_gap_observable;
    bool are_ends_along;
    double residual;
};

// The overheads of smaller messages.
struct Overheads {
    double send, recv;
};

// Relative differences below this count as noise.
constexpr double noise = 0.02;

// If the overheads add up to more than the end-to-end time, no L >= 0 fits. Then L is 0, and the overheads are the
// least-squares fit (relative deviations) to all three times.
void agree(double one_way, double& send, double& recv) {
    if (std::min({one_way, send, recv}) <= 0) return;
    const double excess = (send + recv - one_way) / (one_way * one_way + send * send + recv * recv);
    send -= send * send * excess;
    recv -= recv * recv * excess;
}

// `known`: the overheads, if those of this class are not observable. `along`: whether the ends work along with the
// network; if not given, that is found.
Values values_of(const std::vector<OfSize>& sizes, bool wait_for_receive,
                 const std::optional<Overheads>& known, std::optional<bool> along) {
    std::vector<double> x, one_way, sending, receiving;
    std::vector<double> x_between, between;  // where the network decides, not a CPU
    for (const OfSize& size : sizes) {
        const Point point = point_of(size);
        x.push_back(point.bytes - 1);
        one_way.push_back(point.one / 2);
        sending.push_back(point.sending);
        receiving.push_back(point.receiving);
        if (point.between <= (1 + noise) * std::max(point.sending, point.receiving)) continue;
        x_between.push_back(point.bytes - 1);
        between.push_back(point.between);
    }
    const Line ways = line_through(x, one_way);
    const Line sends = known ? line_from(known->send, x, sending) : line_through(x, sending);
    const Line receives = known ? line_from(known->recv, x, receiving) : line_through(x, receiving);
    const bool has_trains = between.size() >= 2;
    // Of a byte's way from end to end, what is no end's.
    const double rest = ways.slope - sends.slope - receives.slope;
    Line gaps{0, std::max(rest, 0.0)};
    if (wait_for_receive && has_trains) {
        gaps = line_through(x_between, between);
        if (!along) along = rest < (1 - noise) * gaps.slope;
    }
    if (!along) along = rest < -noise * (sends.slope + receives.slope);
    if (!wait_for_receive) {
        if (*along) gaps.slope = ways.slope;
        if (has_trains) gaps.at_zero = line_of_slope(gaps.slope, x_between, between).at_zero;
    }
    Values v{};
    v.byte_gap = gaps.slope;
    v.gap = gaps.at_zero;
    v.send_overhead = sends.at_zero;
    v.recv_overhead = receives.at_zero;
    v.byte_send_overhead = sends.slope;
    v.byte_recv_overhead = receives.slope;
    v.are_ends_along = *along;
    v.latency = wait_for_receive || *along
                    ? ways.at_zero - sends.at_zero - receives.at_zero
                    : one_way[0] - sending[0] - receiving[0] - x[0] * v.byte_gap;
    if (!wait_for_receive && v.latency < 0) {
        agree(v.latency + v.send_overhead + v.recv_overhead, v.send_overhead, v.recv_overhead);
        v.latency = 0;
    }
    v.is_gap_observable = v.gap > (1 + noise) * std::max(v.send_overhead, v.recv_overhead);
    const auto deviates = [&](double fitted, double measured) {
        v.residual = std::max(v.residual, std::abs(fitted - measured) / measured);
    };
    for (std::size_t i = 0; i < between.size(); ++i)
        deviates(gaps.at_zero + gaps.slope * x_between[i], between[i]);
    if (wait_for_receive) return v;
    const double start = v.send_overhead + v.latency + v.recv_overhead;
    const double byte = *along ? v.byte_gap : v.byte_gap + sends.slope + receives.slope;
    for (std::size_t i = 0; i < x.size(); ++i) deviates(start + byte * x[i], one_way[i]);
    return v;
}

Samples resampled(const Samples& samples, Prng& random) {
    Samples again;
    for (std::size_t i = 0; i < samples.size(); ++i)
        again.push_back(samples[random.below(samples.size())]);
    return again;
}

OfSize resampled(const OfSize& size, Prng& random) {
    OfSize again = size;
    for (Samples OfSize::*part :
         {&OfSize::one, &OfSize::few, &OfSize::many, &OfSize::few_delayed, &OfSize::many_delayed,
          &OfSize::few_received, &OfSize::many_received, &OfSize::few_delays, &OfSize::many_delays,
          &OfSize::few_requests, &OfSize::many_requests})
        again.*part = resampled(size.*part, random);
    return again;
}

LogGpValue with_interval(double value, const Samples& again) {
    return {value, {quantile(again, 0.025), quantile(again, 0.975)}};
}

LogGpClass class_knowing(const std::optional<Overheads>& known, const LogGpSizes& sizes,
                         const std::vector<OfSize>& samples) {
    const Values v = values_of(samples, sizes.wait_for_receive, known, std::nullopt);
    std::vector<Values> others;
    Prng random(1);
    for (int i = 0; i < resamplings; ++i) {
        std::vector<OfSize> again;
        for (const OfSize& size : samples) again.push_back(resampled(size, random));
        others.push_back(values_of(again, sizes.wait_for_receive, known, v.are_ends_along));
    }
    const auto value = [&](auto of) {
        Samples again;
        for (const Values& other : others) again.push_back(of(other));
        return with_interval(of(v), again);
    };
    LogGpClass found;
    found.name = sizes.name;
    found.sizes = sizes.sizes;
    found.latency = value([](const Values& one) { return one.latency; });
    found.send_overhead = value([](const Values& one) { return one.send_overhead; });
    found.recv_overhead = value([](const Values& one) { return one.recv_overhead; });
    found.gap = value([](const Values& one) { return one.gap; });
    found.byte_gap = value([](const Values& one) { return one.byte_gap; });
    found.byte_send_overhead = value([](const Values& one) { return one.byte_send_overhead; });
    found.byte_recv_overhead = value([](const Values& one) { return one.byte_recv_overhead; });
    found.byte_overhead = value(
        [](const Values& one) { return (one.byte_send_overhead + one.byte_recv_overhead) / 2; });
    found.is_gap_observable = v.is_gap_observable;
    found.are_ends_along = v.are_ends_along;
    found.residual = v.residual;
    return found;
}

bool is_observable(const LogGpValue& value) {
    return value.interval.low > 0 && value.interval.high - value.interval.low <= value.value;
}

// `smaller`: the class before it; null: none.
LogGpClass class_of(const LogGpSizes& sizes, const std::vector<OfSize>& samples,
                    const LogGpClass* smaller) {
    LogGpClass found = class_knowing({}, sizes, samples);
    if (!sizes.wait_for_receive || !smaller) return found;
    if (is_observable(found.latency) && is_observable(found.send_overhead) &&
        is_observable(found.recv_overhead))
        return found;
    found = class_knowing(Overheads{smaller->send_overhead.value, smaller->recv_overhead.value},
                          sizes, samples);
    found.is_start_observable = false;
    return found;
}

std::vector<OfSize> samples_of(LogGpPair& pair, const LogGpSizes& sizes, int repetitions) {
    std::vector<LogGpTrain> trains;
    for (const std::int64_t bytes : sizes.sizes) {
        for (const int number : {1, fewer_messages, messages})
            trains.push_back({.kind = Kind::round_trip, .messages = number, .bytes = bytes});
    }
    std::vector<Samples> times = pair.time(trains, repetitions);
    std::vector<OfSize> all;
    trains.clear();
    for (std::size_t i = 0; i < sizes.sizes.size(); ++i) {
        OfSize size;
        size.bytes = sizes.sizes[i];
        size.one = times[3 * i];
        size.few = times[3 * i + 1];
        size.many = times[3 * i + 2];
        all.push_back(std::move(size));
        if (sizes.wait_for_receive) {
            for (const Kind kind : {Kind::sending_cpu, Kind::receiving_cpu}) {
                for (const int number : {fewer_messages, messages})
                    trains.push_back({.kind = kind, .messages = number, .bytes = all.back().bytes});
            }
            continue;
        }
        OfSize& last = all.back();
        // So long that a message has come before the next one is sent.
        last.delay_ns = static_cast<std::int64_t>(
            std::ceil(std::max(median(last.one), additional(last.few, last.many))));
        for (const Kind kind : {Kind::round_trip, Kind::reception, Kind::delays, Kind::requests}) {
            for (const int number : {fewer_messages, messages})
                trains.push_back({kind, number, last.delay_ns, last.bytes});
        }
    }
    times = pair.time(trains, repetitions);
    const std::size_t trains_of_size = sizes.wait_for_receive ? 4 : 8;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Samples* const of_size = &times[trains_of_size * i];
        all[i].few_delayed = of_size[0];
        all[i].many_delayed = of_size[1];
        all[i].few_received = of_size[2];
        all[i].many_received = of_size[3];
        if (sizes.wait_for_receive) continue;
        all[i].few_delays = of_size[4];
        all[i].many_delays = of_size[5];
        all[i].few_requests = of_size[6];
        all[i].many_requests = of_size[7];
    }
    return all;
}

// Of `samples` or pairs of them, by a function of their medians.
template <class Function>
LogGpValue value_of(const std::vector<Samples>& samples, Function function) {
    if (std::ranges::any_of(samples, &Samples::empty)) return {std::nan(""), {}};
    Samples again;
    Prng random(1);
    for (int i = 0; i < resamplings; ++i) {
        std::vector<double> medians;
        for (const Samples& of_one : samples) medians.push_back(median(resampled(of_one, random)));
        again.push_back(function(medians));
    }
    std::vector<double> medians;
    for (const Samples& of_one : samples) medians.push_back(median(of_one));
    return with_interval(function(medians), again);
}

}  // namespace

LogGpEstimate estimate_loggp(LogGpPair& pair, const std::vector<LogGpSizes>& classes,
                             int repetitions) {
    LogGpEstimate estimate;
    for (const LogGpSizes& sizes : classes) {
        const LogGpClass* const smaller =
            estimate.classes.empty() ? nullptr : &estimate.classes.back();
        estimate.classes.push_back(class_of(sizes, samples_of(pair, sizes, repetitions), smaller));
    }

    std::vector<LogGpTrain> others;
    for (const Kind kind : {Kind::reductions, Kind::copies}) {
        for (const std::int64_t bytes : local_bytes)
            others.push_back({.kind = kind, .messages = messages, .bytes = bytes});
    }
    others.push_back({.kind = Kind::start});
    others.push_back({.kind = Kind::test});
    others.push_back({.kind = Kind::round_trip});
    others.push_back({.kind = Kind::late_trip});
    const std::vector<Samples> times = pair.time(others, repetitions);
    const auto per_byte = [](const std::vector<double>& medians) {
        return (medians[1] - medians[0]) /
               (messages * static_cast<double>(local_bytes[1] - local_bytes[0]));
    };
    const auto itself = [](const std::vector<double>& medians) { return medians[0]; };
    estimate.byte_reduction = value_of({times[0], times[1]}, per_byte);
    estimate.byte_copy = value_of({times[2], times[3]}, per_byte);
    estimate.start = value_of({times[4]}, itself);
    estimate.test = value_of({times[5]}, itself);
    estimate.wake =
        value_of({times[6], times[7]}, [](const std::vector<double>& m) { return m[1] - m[0]; });
    return estimate;
}

}  // namespace weft::bench
