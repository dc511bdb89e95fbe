// Single operations, each after both barriers; the slowest rank counts.
#include "bench/rivals/latency.h"

#include <algorithm>
#include <cstdio>

#include "bench/overlap/meter.h"
#include "bench/rivals/report.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr std::int64_t bytes = 8;
constexpr int operations = 200;  // in a turn
constexpr const char* names[] = {"ibarrier",  "ibcast",     "igather", "iallgather",
                                 "ialltoall", "iallreduce", "isend"};

// The median of operations, each on its slowest rank.
double turn_us(const Job& job, Meter& meter, double (Meter::*operation)()) {
    constexpr int warming = 5;
    for (int i = 0; i < warming; ++i) (meter.*operation)();
    std::vector<double> mine;
    for (int i = 0; i < operations; ++i) mine.push_back((meter.*operation)());
    const std::vector<double> all = gather(job, mine);
    for (std::size_t i = 0; i < all.size(); ++i) {
        mine[i % mine.size()] = std::max(mine[i % mine.size()], all[i]);
    }
    return median(mine);
}

struct Row {
    std::vector<double> blocking;  // of each turn
    std::vector<double> call;      // the MPI's
};

void measure(const Job& job, const Collective& collective,
             const std::vector<Contestant>& contestants, int repetitions, Table& table) {
    Meter meter(job, collective, bytes, nullptr);
    std::vector<Row> rows(contestants.size());
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        for (std::size_t i = 0; i < contestants.size(); ++i) {
            switch_engine(job, contestants[i].engine.value);
            meter.use(contestants[i]);
            rows[i].blocking.push_back(turn_us(job, meter, &Meter::blocking_us));
            if (contestants[i].rival == nullptr) continue;
            rows[i].call.push_back(turn_us(job, meter, &Meter::call_us));
        }
    }
    switch_engine(job, WEFT_ENGINE_MANUAL);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::vector<std::string> row = {collective.name, contestants[i].engine.name,
                                        fixed(median(rows[i].blocking), 2)};
        if (i == 0) {
            row.insert(row.end(), {fixed(median(rows[i].call), 2), "", ""});
        } else {
            std::vector<double> pairs;
            for (std::size_t k = 0; k < rows[i].blocking.size(); ++k) {
                pairs.push_back(rows[i].blocking[k] / rows[0].blocking[k]);
            }
            const Ratio ratio(pairs);
            row.insert(row.end(), {"", ratio.text(), ratio.interval_text()});
        }
        table.add(row);
    }
    table.add({});
}

}  // namespace

void measure_rival_latency(const Job& job, const std::vector<Engine>& engines,
                           const Testbed& testbed, int repetitions) {
    const Rival& rival = *Rival::of_this_job();
    std::vector<Contestant> all = {contestant(job, rival)};
    for (const Contestant& one : contestants(job, engines)) all.push_back(one);
    Table table({"operation", "of", "start + wait us", "blocking call us", "ratio", "95 %"});
    for (const char* name : names) measure(job, **find_collective(name), all, repetitions, table);
    const std::string over = transports_in_use(job);
    if (job.rank != 0) return;
    std::printf(
        "Operations of %lld bytes beside %s (%s), Weft over %s: %s; each after a barrier, slowest "
        "rank;\nmedian of %d times %d. ratio: start + wait, Weft / MPI (median of turns, with its "
        "95 %% interval).\n\n",
        static_cast<long long>(bytes), rival.name(), rival.version().c_str(), over.c_str(),
        description(testbed).c_str(), repetitions, operations);
    table.print(stdout);
}

}  // namespace weft::bench
