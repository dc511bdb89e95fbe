// Runs the parts and prints their rows.
#include "bench/micro/micro.h"

#include <sched.h>

#include <cstdio>

#include "bench/join.h"
#include "bench/launch.h"
#include "bench/micro/rows.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr int ranks = 2;

struct Part {
    MicroRows (*measure)(const Job& job, int repetitions);
    bool needs_cores;
};

constexpr Part parts[] = {
    {measure_barrier, true},       {measure_bcast, true},  {measure_start, false},
    {measure_start_beside, false}, {measure_build, false}, {measure_reduction, false},
};

void add_row(Table& table, const MicroRow& row, bool bars) {
    std::vector<std::string> cells = {row.what, row.engine,
                                      fixed(row.value, row.value < 10 ? 3 : 1), row.unit};
    const bool has_bar = !row.bar_text.empty();
    const char* const verdict = !has_bar ? "" : (row.value <= row.bar ? "met" : "missed");
    if (bars) cells.insert(cells.end(), {row.bar_text, verdict});
    table.add(cells);
}

// Whether each rank has a core. A bound rank sees only its own.
bool have_cores(const Job& job) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    cpu_set_t any;
    CPU_ZERO(&any);
    for (const cpu_set_t& mask : gather(job, std::vector<cpu_set_t>{mine})) {
        CPU_OR(&any, &any, &mask);
    }
    return CPU_COUNT(&any) >= ranks;
}

int run_rank(const MicroOptions& options) {
    const Job job = join_job(ranks);
    const bool cores = have_cores(job);
    std::vector<std::string> heading = {"measured", "engine", "median", ""};
    if (options.bars) heading.insert(heading.end(), {"bar", ""});
    Table table(heading);
    for (const Part& part : parts) {
        if (part.needs_cores && !cores) continue;
        for (const MicroRow& row : part.measure(job, options.repetitions))
            add_row(table, row, options.bars);
        table.add({});
    }
    if (job.rank == 0) {
        if (!cores) {
            std::printf("Left out: rows that need a core for each of the %d ranks.\n\n", ranks);
        }
        table.print(stdout);
    }
    leave_job();
    return 0;
}

}  // namespace

int bench_micro(const MicroOptions& options) {
    if (is_rank()) return run_rank(options);
    const std::string repetitions = std::to_string(options.repetitions);
    std::vector<std::string> words = {"bench", "micro", "--repetitions", repetitions};
    if (options.bars) words.emplace_back("--bars");
    return launch({{.ranks = ranks}, words});
}

}  // namespace weft::bench
