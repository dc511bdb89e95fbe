#include "bench/run/as_rank.h"

#include "base/clock.h"
#include "bench/job.h"
#include "bench/run/rank.h"

namespace weft::bench {

int run_as_rank(const Plan& plan, const RunOptions& options) {
    // All that can be measured in one job of this many ranks.
    JobPlan all;
    for (const JobPlan& job : plan.jobs) {
        if (!job.launcher.empty() || !job.place().settings.empty()) continue;
        for (const Contest& contest : job.contests)
            if (all.contests.empty() || contest.cells[0].ranks == all.place().ranks)
                all.contests.push_back(contest);
    }
    if (all.contests.empty()) fail("nothing of this can be measured in another launcher's job");
    return run_rank(Json{{"run", run_line(plan.scenarios, options)},
                         {"job", to_json(all)},
                         {"samples", options.samples},
                         {"seed", options.seed},
                         {"from", 0},
                         {"to", 1},
                         {"began_ns", now_ns()},
                         {"is_whole", true}});
}

}  // namespace weft::bench
