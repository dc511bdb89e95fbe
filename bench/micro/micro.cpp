// Runs the parts and prints their rows.
#include "bench/micro/micro.h"

#include <sched.h>

#include <cstdio>

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
    {measure_barrier, true}, {measure_bcast, true},      {measure_start, false},
    {measure_build, false},  {measure_reduction, false},
};

void add_row(Table& table, const MicroRow& row) {
    const bool has_bar = !row.bar_text.empty();
    table.add({row.what, row.engine, fixed(row.value, row.value < 10 ? 3 : 1), row.unit,
               row.bar_text, !has_bar ? "" : (row.value <= row.bar ? "met" : "missed")});
}

// Whether the ranks have a core each. A rank that is bound sees its own core alone.
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
    Table table({"measured", "engine", "median", "", "bar", ""});
    for (const Part& part : parts) {
        if (part.needs_cores && !cores) continue;
        for (const MicroRow& row : part.measure(job, options.repetitions)) add_row(table, row);
        table.add({});
    }
    if (job.rank == 0) {
        if (!cores) {
            std::printf("Fewer than %d cores: left out what needs one for each rank.\n\n", ranks);
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
    return launch({{.ranks = ranks}, {"bench", "micro", "--repetitions", repetitions}});
}

}  // namespace weft::bench
