#include "bench/predict/idle_share.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/predict/emulated.h"
#include "bench/run/task.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"
#include "sim/case_paper.h"

namespace weft::bench {
namespace {

// The share is independent of the number of ranks if it does not vary by more, and right if it is not off by more.
constexpr double tolerance = 0.05;

constexpr double sample_s = 0.02;  // of a sample's calls together

// The algorithms that the equations are about.
struct Equation {
    const char* collective;
    const char* setting;
    const char* numbers;
    bool has_size;
    model::ModelTime (*time)(const model::LogGpParameters&, Rank, std::int64_t);
};
constexpr Equation equations[] = {
    {"ibarrier", "barrier=dissemination", "1 and 4", false,
     [](const model::LogGpParameters& p, Rank ranks, std::int64_t) {
         return model::paper_barrier(p, ranks);
     }},
    {"iallreduce", "allreduce=reduce_bcast", "2 and 5", true, model::paper_allreduce},
    {"ibcast", "bcast=binomial", "3 and 6", true, model::paper_bcast},
};

// o of a message of so many bytes is o + (s-1)O; the emulated link may be slower than the interface.
double predicted(const Equation& equation, const model::MeasuredParameters& parameters,
                 const Cell& place, Rank ranks, std::int64_t bytes) {
    model::LogGpParameters p = parameters.of(bytes);
    p.overhead_ps = model::plus(
        p.overhead_ps, model::times(std::max<std::int64_t>(bytes - 1, 0), p.byte_overhead_ps));
    if (place.nodes > 0) p.byte_gap_ps = std::max(p.byte_gap_ps, link_byte_ps(place.link.rate));
    const model::ModelTime time = equation.time(p, ranks, bytes);
    return static_cast<double>(time.network_ps()) /
           static_cast<double>(std::max<std::int64_t>(time.time_ps, 1));
}

struct Times {
    double wall_s = 0;
    double cpu_s = 0;
};

// Of one blocking call, of this rank.
Times time_call(const Collective& collective, Case& c) {
    must(weft_barrier(c.job.comm), "weft_barrier");
    weft_request request = WEFT_REQUEST_NULL;
    const double cpu_begin = cpu_seconds();
    const std::int64_t begin = now_ns();
    must(collective.start(c, &request), collective.name);
    must(weft_wait(&request), "weft_wait");
    const auto wall_ns = static_cast<double>(now_ns() - begin);
    return {wall_ns * 1e-9, cpu_seconds() - cpu_begin};
}

// The mean of all ranks' shares, by repetition. Only ranks of c.job.
std::vector<double> idle_shares(const Collective& collective, Case& c, int repetitions) {
    const double first_s = slowest(c.job, time_call(collective, c).wall_s);
    const int calls = std::clamp(static_cast<int>(sample_s / std::max(first_s, 1e-6)), 1, 1000);
    std::vector<double> mine;
    for (int i = 0; i < repetitions; ++i) {
        Times sum;
        for (int call = 0; call < calls; ++call) {
            const Times one = time_call(collective, c);
            sum.wall_s += one.wall_s;
            sum.cpu_s += one.cpu_s;
        }
        mine.push_back(1 - sum.cpu_s / sum.wall_s);
    }
    const std::vector<double> all = gather(c.job, mine);
    std::vector<double> shares;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        std::vector<double> of_ranks;
        for (std::size_t at = i; at < all.size(); at += mine.size()) of_ranks.push_back(all[at]);
        shares.push_back(mean(of_ranks));
    }
    return shares;
}

// 2, 4, 8, ... and all.
std::vector<Rank> counts_up_to(Rank ranks) {
    std::vector<Rank> counts;
    for (Rank count = 2; count < ranks; count *= 2) counts.push_back(count);
    counts.push_back(ranks);
    return counts;
}

std::string percent(double share) { return fixed(100 * share, 1); }

// What a call's shares with several numbers of ranks say.
class Verdicts {
  public:
    explicit Verdicts(Rows& file) : file_(file) {}

    void add(const Equation& equation, const std::string& size, std::int64_t bytes,
             const std::vector<Rank>& counts, const std::vector<std::vector<double>>& measured,
             const std::vector<double>& predicted_shares) {
        double least = 1, most = 0, worst_error = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const double share = median(measured[i]);
            const Interval interval = median_interval(measured[i]);
            least = std::min(least, share);
            most = std::max(most, share);
            worst_error = std::max(worst_error, std::abs(share - predicted_shares[i]));
            cells_.add({equation.collective, size, std::to_string(counts[i]), percent(share),
                        std::isfinite(interval.low)
                            ? percent(interval.low) + " .. " + percent(interval.high)
                            : "-",
                        percent(predicted_shares[i])});
            file_.write({{"collective", equation.collective},
                         {"bytes", bytes},
                         {"ranks", counts[i]},
                         {"measured_idle_share", share},
                         {"predicted_idle_share", predicted_shares[i]}});
        }
        const auto word = [](bool is_so) { return is_so ? "yes" : "no"; };
        const bool is_independent = most - least <= tolerance;
        const bool is_right = worst_error <= tolerance;
        independent_ += is_independent ? 1 : 0;
        right_ += is_right ? 1 : 0;
        ++calls_;
        verdicts_.add({equation.collective, size, equation.numbers, percent(most - least),
                       word(is_independent), percent(worst_error), word(is_right)});
        file_.write({{"collective", equation.collective},
                     {"bytes", bytes},
                     {"varies_by", most - least},
                     {"is_independent_of_ranks", word(is_independent)},
                     {"differs_by_at_most", worst_error},
                     {"is_as_predicted", word(is_right)}});
    }

    void print() const {
        cells_.print(stdout);
        std::printf("\n");
        verdicts_.print(stdout);
        std::printf(
            "\nVerdict: the idle share is independent of the number of ranks, within %.0f points, "
            "in %d of %d calls; as the equations predict it, within as many, in %d.\n",
            100 * tolerance, independent_, calls_, right_);
    }

  private:
    Rows& file_;
    Table cells_{{"collective", "size", "ranks", "idle %", "(interval)", "predicted %"}};
    Table verdicts_{{"collective", "size", "equations", "varies by", "independent of ranks",
                     "differs by", "as predicted"}};
    int independent_ = 0;
    int right_ = 0;
    int calls_ = 0;
};

// Of the job's first ranks, while the others sleep.
std::vector<double> shares_of_first(const Job& job, Rank count, const Equation& equation,
                                    std::int64_t bytes, int repetitions) {
    weft_comm some = WEFT_COMM_NULL;
    must(weft_comm_split(job.comm, job.rank < count ? 0 : WEFT_COLOR_NONE, job.rank, &some),
         "weft_comm_split");
    std::vector<double> shares(static_cast<std::size_t>(repetitions));
    if (job.rank < count) {
        const Collective& collective = **find_collective(equation.collective);
        Job part{job.rank, count};
        must(weft_comm_dup_with(some, equation.setting, &part.comm), "weft_comm_dup_with");
        Case c = make_case(part, collective, bytes);
        collective.fill(c, 1);
        shares = idle_shares(collective, c, repetitions);
        must(weft_comm_free(&part.comm), "weft_comm_free");
        must(weft_comm_free(&some), "weft_comm_free");
    }
    must(weft_barrier(job.comm), "weft_barrier");
    return shares;
}

}  // namespace

void measure_idle_shares(const PredictOptions& options, const model::MeasuredParameters& parameters,
                         const std::vector<std::int64_t>& sizes, const Job& job, const Cell& place,
                         Rows& file, ProgressBar& progress) {
    Verdicts verdicts(file);
    const std::vector<Rank> counts = counts_up_to(job.ranks);
    double done = 0;
    for (const Equation& equation : equations) {
        const std::vector<std::int64_t> none = {0};
        for (const std::int64_t bytes : equation.has_size ? sizes : none) {
            const std::string size = equation.has_size ? size_text(bytes) : "-";
            std::vector<std::vector<double>> measured;
            std::vector<double> predicted_shares;
            for (const Rank count : counts) {
                progress.show(done, std::string(equation.collective) + " " + size);
                measured.push_back(
                    shares_of_first(job, count, equation, bytes, options.repetitions));
                predicted_shares.push_back(predicted(equation, parameters, place, count, bytes));
            }
            if (job.rank == 0)
                verdicts.add(equation, size, bytes, counts, measured, predicted_shares);
        }
        done += 1.0 / static_cast<double>(std::size(equations));
    }
    progress.clear();
    if (job.rank != 0) return;
    std::printf(
        "Share of blocking calls in which a rank's CPU is idle (getrusage), mean of all "
        "ranks,\nmedian of %d: %s.\n\n",
        options.repetitions, description(place).c_str());
    verdicts.print();
}

}  // namespace weft::bench
