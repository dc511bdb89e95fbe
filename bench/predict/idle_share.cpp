#include "bench/predict/idle_share.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/clock.h"
#include "bench/circumstances.h"
#include "bench/collective/collective.h"
#include "bench/join.h"
#include "bench/json_file.h"
#include "bench/predict/emulated.h"
#include "bench/progress.h"
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
                 const Testbed& testbed, Rank ranks, std::int64_t bytes) {
    model::LogGpParameters p = parameters.of(bytes);
    p.overhead_ps = model::plus(
        p.overhead_ps, model::times(std::max<std::int64_t>(bytes - 1, 0), p.byte_overhead_ps));
    if (testbed.nodes > 0) p.byte_gap_ps = std::max(p.byte_gap_ps, link_byte_ps(testbed.rate));
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

class Shares {
  public:
    explicit Shares(JsonFile& file) : file_(file) {}

    // Of all numbers of ranks.
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
            JsonLine line;
            line.add("collective", equation.collective)
                .add("bytes", bytes)
                .add("ranks", std::int64_t{counts[i]})
                .add("measured_idle_share", share)
                .add("predicted_idle_share", predicted_shares[i]);
            file_.write(line);
        }
        const bool is_independent = most - least <= tolerance;
        const bool is_right = worst_error <= tolerance;
        independent_ += is_independent ? 1 : 0;
        right_ += is_right ? 1 : 0;
        ++calls_;
        verdicts_.add({equation.collective, size, equation.numbers, fixed(100 * (most - least), 1),
                       is_independent ? "yes" : "no", fixed(100 * worst_error, 1),
                       is_right ? "yes" : "no"});
        JsonLine line;
        line.add("collective", equation.collective)
            .add("bytes", bytes)
            .add("varies_by", most - least)
            .add("is_independent_of_ranks", is_independent ? "yes" : "no")
            .add("differs_by_at_most", worst_error)
            .add("is_as_predicted", is_right ? "yes" : "no");
        file_.write(line);
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
    JsonFile& file_;
    Table cells_{{"collective", "size", "ranks", "idle %", "(interval)", "predicted %"}};
    Table verdicts_{{"collective", "size", "equations", "varies by", "independent of ranks",
                     "differs by", "as predicted"}};
    int independent_ = 0;
    int right_ = 0;
    int calls_ = 0;
};

}  // namespace

int measure_idle_shares(const PredictOptions& options, const model::MeasuredParameters& parameters,
                        const std::vector<std::int64_t>& sizes,
                        const std::vector<std::string>& words) {
    const Job job = join_job(options.testbed.ranks);
    const JsonLine about = circumstances(job, options.testbed, words);
    JsonFile file(job, options.json);
    file.write(about);
    Shares report(file);
    ProgressBar progress(job.rank == 0);
    const std::vector<Rank> counts = counts_up_to(job.ranks);
    double done = 0;
    for (const Equation& equation : equations) {
        const Collective& collective = **find_collective(equation.collective);
        const std::vector<std::int64_t> all_sizes =
            equation.has_size ? sizes : std::vector<std::int64_t>{0};
        for (const std::int64_t bytes : all_sizes) {
            std::vector<std::vector<double>> measured;
            std::vector<double> predicted_shares;
            for (const Rank count : counts) {
                progress.show(done / static_cast<double>(std::size(equations)),
                              std::string(equation.collective) + " " + size_text(bytes));
                weft_comm some = WEFT_COMM_NULL;
                must(weft_comm_split(job.comm, job.rank < count ? 0 : WEFT_COLOR_NONE, job.rank,
                                     &some),
                     "weft_comm_split");
                std::vector<double> shares(static_cast<std::size_t>(options.repetitions));
                if (job.rank < count) {
                    Job part{job.rank, count, WEFT_COMM_NULL};
                    must(weft_comm_dup_with(some, equation.setting, &part.comm),
                         "weft_comm_dup_with");
                    Case c = make_case(part, collective, bytes);
                    collective.fill(c, 1);
                    shares = idle_shares(collective, c, options.repetitions);
                    must(weft_comm_free(&part.comm), "weft_comm_free");
                    must(weft_comm_free(&some), "weft_comm_free");
                }
                measured.push_back(std::move(shares));
                predicted_shares.push_back(
                    predicted(equation, parameters, options.testbed, count, bytes));
                // The others sleep meanwhile.
                must(weft_barrier(job.comm), "weft_barrier");
            }
            if (job.rank == 0) {
                report.add(equation, equation.has_size ? size_text(bytes) : "-", bytes, counts,
                           measured, predicted_shares);
            }
        }
        done += 1;
    }
    progress.clear();
    if (job.rank == 0) {
        std::printf(
            "Share of blocking calls in which a rank's CPU is idle (getrusage), mean of all "
            "ranks,\nmedian of %d: %s.\n\n",
            options.repetitions, description(options.testbed).c_str());
        report.print();
    }
    file.close();
    leave_job();
    return 0;
}

}  // namespace weft::bench
