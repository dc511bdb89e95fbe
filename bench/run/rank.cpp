#include "bench/run/rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "base/clock.h"
#include "bench/join.h"
#include "bench/player/mpi.h"
#include "bench/player/mpi_job.h"
#include "bench/player/weft.h"
#include "bench/progress.h"
#include "bench/run/contest.h"
#include "bench/run/core_time.h"
#include "bench/run/task.h"

namespace weft::bench {
namespace {

// "[####......]  40 %  about 31 s left  overlap: ibcast 64K"
class Bar {
  public:
    Bar(const Json& plan, bool is_shown)
        : from_(plan.at("from")),
          to_(plan.at("to")),
          began_ns_(plan.at("began_ns")),
          bar_(is_shown) {}

    void show(double share_of_job, const std::string& doing) {
        const double share = from_ + (to_ - from_) * share_of_job;
        const double took_s = static_cast<double>(now_ns() - began_ns_) * 1e-9;
        char left[64];
        std::snprintf(left, sizeof left, "about %.0f s left  ",
                      share > 0 ? took_s * (1 - share) / share : 0.0);
        bar_.show(share, left + doing);
    }

  private:
    double from_, to_;
    std::int64_t began_ns_;
    ProgressBar bar_;
};

bool has_spinner(const JobPlan& job) {
    return std::ranges::any_of(job.contests, [](const Contest& contest) {
        return std::ranges::any_of(contest.cells, [](const Cell& cell) {
            return cell.compute.what == Compute::What::spinner;
        });
    });
}

}  // namespace

int run_rank(const std::string& path) {
    std::ifstream file(path);
    const Json plan = Json::parse(file, nullptr, false);
    if (plan.is_discarded()) fail("%s: cannot be read as a plan", path.c_str());
    if (plan.contains("task")) return run_task(plan);
    run_rank(plan);
    return 0;
}

int run_rank(const Json& plan) {
    const JobPlan job = job_from(plan.at("job"));
    if (has_spinner(job)) prepare_core_time();
    bind_launched_rank(job.place());
    const Job world = join_job(job.place().ranks);
    std::optional<Samples> file_of_samples;
    if (world.rank == 0) file_of_samples.emplace(plan.at("samples").get<std::string>());
    Samples nothing;
    Samples& samples = world.rank == 0 ? *file_of_samples : nothing;
    const bool is_whole = plan.value("is_whole", false);  // nobody else writes to the file
    const std::int64_t began_ns = now_ns();
    if (is_whole) samples.write(plan.at("run"));
    if (const Mpi* const mpi = Mpi::of_this_job()) {
        Json run = plan.at("run");
        run["mpi"] = mpi->version();
        run["mpi_init_us"] = slowest(world, mpi->init_us());
        samples.write(run);
    }
    Bar bar(plan, world.rank == 0);
    double parts = 0;
    const auto count = static_cast<double>(job.contests.size());
    const Run run{world, samples, plan.at("seed"), [&](double share, const std::string& doing) {
                      bar.show((parts + share) / count, doing);
                  }};
    double spare_s = 0;
    for (const Contest& contest : job.contests) {
        spare_s = measure(run, contest, contest.budget_s + spare_s);
        ++parts;
    }
    if (is_whole)
        samples.write({{"kind", "end"},
                       {"seconds", static_cast<double>(now_ns() - began_ns) * 1e-9},
                       {"complete", true}});
    close_other_builds();
    leave_job();
    return world.rank;
}

}  // namespace weft::bench
