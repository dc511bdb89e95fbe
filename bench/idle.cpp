// One rank enters a collective late; the others' CPU time is the cost of waiting.
#include "bench/idle.h"

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "bench/contestants.h"
#include "bench/join.h"
#include "bench/launch.h"
#include "bench/sleep.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr double bar_share = 0.005;  // of the wait: 0.05 s in 10 s

void sleep_s(double seconds) { sleep_until(now_ns() + static_cast<std::int64_t>(seconds * 1e9)); }

struct Burned {
    double waiting = 0;  // inside the collective; the late rank's, outside of it
    double nothing = 0;  // for the same time, with nothing pending
};

void barrier_once(const Contestant& contestant) {
    const Collective& ibarrier = **find_collective("ibarrier");
    Case nothing = make_case(contestant.job, ibarrier, 0);
    if (contestant.rival != nullptr) {
        Rival::Call(*contestant.rival, ibarrier, nothing).start();
        contestant.rival->wait();
        return;
    }
    weft_request request = WEFT_REQUEST_NULL;
    must(ibarrier.start(nothing, &request), "weft_ibarrier");
    must(weft_wait(&request), "weft_wait");
}

Burned measure(const Contestant& contestant, double late_s) {
    const Job& job = contestant.job;
    const bool late = job.rank == job.ranks - 1;
    must(set_engine(contestant.engine.value), "weft_set_engine");
    must(weft_barrier(job.comm), "weft_barrier");

    Burned burned;
    double begin = cpu_seconds();
    if (late) sleep_s(late_s);
    barrier_once(contestant);
    burned.waiting = cpu_seconds() - begin;

    begin = cpu_seconds();
    sleep_s(late_s);
    burned.nothing = cpu_seconds() - begin;
    return burned;
}

int run_rank(const IdleOptions& options, const std::vector<Engine>& chosen) {
    const Job job = join_job(options.ranks);
    std::vector<Contestant> all_there_are = contestants(job, chosen);
    if (const Rival* rival = Rival::of_this_job()) {
        all_there_are.insert(all_there_are.begin(), contestant(job, *rival));
        if (job.rank == 0) std::printf("Beside %s: %s.\n", rival->name(), rival->version().c_str());
    }
    Table table({"engine", "rank", "does", "CPU s", "CPU s, nothing pending"});
    Burned worst;
    for (const Contestant& one : all_there_are) {
        const auto all = gather(job, std::vector<Burned>{measure(one, options.late_s)});
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            const bool late = rank + 1 == all.size();
            table.add({one.engine.name, std::to_string(rank), late ? "comes late" : "waits",
                       fixed(all[rank].waiting, 4), fixed(all[rank].nothing, 4)});
            if (one.rival != nullptr) continue;  // the bar is Weft's
            if (!late) worst.waiting = std::max(worst.waiting, all[rank].waiting);
            worst.nothing = std::max(worst.nothing, all[rank].nothing);
        }
    }
    if (job.rank == 0) {
        const double bar = bar_share * options.late_s;
        std::printf(
            "CPU time of all threads of a rank (getrusage) while one rank enters a barrier %g s "
            "late, and for the same time with nothing pending.\n\n",
            options.late_s);
        table.print(stdout);
        std::printf(
            "\nA waiting rank used at most %.4f s, a rank with nothing pending %.4f s; "
            "the bar for both is %g s: %s.\n",
            worst.waiting, worst.nothing, bar,
            std::max(worst.waiting, worst.nothing) < bar ? "met" : "missed");
    }
    leave_job();
    return 0;
}

}  // namespace

int bench_idle(const IdleOptions& options) {
    const Testbed testbed{.ranks = options.ranks, .bind = "none"};
    const Result<std::vector<Engine>> chosen = find_engines(options.engines);
    if (!chosen.is_ok() || !check(options.against, testbed).is_ok()) {
        std::fprintf(stderr, "weft bench idle: %s\n", last_detail());
        return 2;
    }
    if (is_rank()) return run_rank(options, *chosen);
    std::vector<std::string> words = {"bench", "idle", "--late", std::to_string(options.late_s)};
    words.insert(words.end(), {"--ranks", std::to_string(options.ranks)});
    for (const std::string& name : options.engines) words.insert(words.end(), {"--engine", name});
    for (const std::string& word : arguments(options.against)) words.push_back(word);
    const Launch job{testbed, words};
    return options.against.is_wanted() ? launch_against(options.against, job) : launch(job);
}

}  // namespace weft::bench
