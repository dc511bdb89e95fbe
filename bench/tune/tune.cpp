#include "bench/tune/tune.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/cores.h"
#include "base/engine_kind.h"
#include "base/setting.h"
#include "bench/join.h"
#include "bench/progress.h"
#include "bench/run/task.h"
#include "bench/sizes.h"
#include "bench/tune/measure.h"
#include "c_api/guard.h"

namespace weft::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TuneOptions, collectives, sizes, repetitions, all_repetitions,
                                   output)

namespace {

struct Points {
    std::vector<Subject> subjects;
    std::vector<std::int64_t> sizes;

    std::size_t points() const {
        std::size_t count = 0;
        for (const Subject& subject : subjects) count += subject.sizes(sizes).size();
        return count;
    }
};

Result<Points> find_points(const TuneOptions& options) {
    Points wanted;
    Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    wanted.sizes = *sizes;
    std::ranges::sort(wanted.sizes);
    wanted.sizes.erase(std::unique(wanted.sizes.begin(), wanted.sizes.end()), wanted.sizes.end());
    Result<std::vector<Subject>> subjects = find_subjects(options.collectives);
    if (!subjects.is_ok()) return subjects.status();
    wanted.subjects = std::move(*subjects);
    return wanted;
}

bool is_engine_forced() {
    const char* wanted = std::getenv("WEFT_ENGINE");
    return wanted != nullptr && *wanted != '\0';
}

// The engine that the environment forces on all ranks ("thread"); "": there is none.
std::string forced_engine(const Job& job, bool is_forced) {
    // (Not the name that was given: kernel may have become thread.)
    const int mine = is_forced ? weft_get_engine() : -1;
    for (const int engine : gather(job, std::vector<int>{mine}))
        if (engine != mine) return "";
    return is_forced ? traits(static_cast<EngineKind>(mine)).name : "";
}

// Broadcasts rank 0's answer.
bool agree(const Job& job, bool yes) {
    std::int32_t word = yes;
    must(weft_bcast(&word, 1, WEFT_INT32, 0, job.comm), "weft_bcast");
    return word != 0;
}

void write_table(const TuneOptions& options, const Points& wanted, const Record& record,
                 const Place& place, const std::string& where, const std::string& circumstances) {
    std::string text = "# Written by `weft tune`: " + where + "\n# " + circumstances +
                       "\n# Median microseconds by bytes of a block, start and wait, the slowest "
                       "rank.\n";
    for (const Subject& subject : wanted.subjects) {
        const bool has_bytes = subject.collective->has_size && subject.spec->agrees_on_sizes();
        text += "\n" +
                table_lines(record, *subject.spec, subject.sizes(wanted.sizes), has_bytes, place);
    }
    if (!replace_file(options.output, text).is_ok()) fail("%s", last_detail());
    std::printf(
        "%s: the fastest algorithms of %zu collectives for %d ranks on %d node%s. Use it with\n"
        "WEFT_TUNING=%s on all ranks.\n",
        options.output.c_str(), wanted.subjects.size(), place.ranks, place.nodes,
        place.nodes == 1 ? "" : "s", options.output.c_str());
}

// How, where and by which build it is measured, in one line: what a resumed measurement must have in common. (Not this
// command's other options: another command may use other sizes, and resume the rest.)
std::string circumstances(const TuneOptions& options, const Cell& place, const Json& about) {
    Json line = place.axes;
    for (const char* field : {"weft", "host", "settings"}) line[field] = about.at(field);
    line["command"] = "weft tune";
    if (options.all_repetitions)
        line["command"] = "weft tune --all-repetitions " + std::to_string(options.repetitions);
    return line.dump();
}

}  // namespace

int run_tune_rank(const Json& json, const Cell& cell, const Json& about) {
    const auto options = json.get<TuneOptions>();
    const Result<Points> made = find_points(options);
    if (!made.is_ok()) fail("%s", last_detail());
    const Points& wanted = *made;
    const bool is_forced = is_engine_forced();  // join_job() also chooses one
    const Job job = join_job(cell.ranks);
    const Topology& topology = c_api::current_process()->world().topology();
    const Place place = {job.ranks, topology.nodes(), forced_engine(job, is_forced),
                         *switch_setting("WEFT_REPRODUCIBLE")};
    const std::string where = description(cell) + ", " + std::to_string(place.nodes) + " node" +
                              (place.nodes == 1 ? "" : "s") + ", over " + transports_in_use(job) +
                              ", Weft " WEFT_VERSION;
    const std::string measured_in = circumstances(options, cell, about);
    const std::string kept = options.output + ".part";
    // Rank 0 writes.
    Result<Record> record =
        job.rank == 0 ? Record::open(kept, measured_in) : Result<Record>(Record());
    if (!record.is_ok()) fail("%s", last_detail());
    if (job.rank == 0 && record->size() > 0)
        std::printf("Resumes: %zu of %zu measurements are in %s.\n", record->size(),
                    wanted.points(), kept.c_str());
    ProgressBar progress(job.rank == 0);
    std::size_t done = 0;
    for (const Subject& subject : wanted.subjects) {
        std::vector<Candidate> candidates = make_candidates(job, *subject.spec);
        for (const std::int64_t bytes : subject.sizes(wanted.sizes)) {
            progress.show(static_cast<double>(done++) / static_cast<double>(wanted.points()),
                          std::string(subject.spec->name) + " " + size_text(bytes));
            if (agree(job, job.rank == 0 && record->has(subject.spec->name, bytes))) continue;
            const Timings timings =
                measure_candidates(subject, topology, bytes, candidates, options.repetitions,
                                   options.all_repetitions ? Endurance::all : Endurance::fastest);
            if (job.rank != 0) continue;
            const Status added = record->add(subject.spec->name, bytes, timings);
            if (!added.is_ok()) fail("%s", last_detail());
        }
        free_candidates(candidates);
    }
    progress.clear();
    if (job.rank == 0) {
        write_table(options, wanted, *record, place, where, measured_in);
        std::remove(kept.c_str());
    }
    leave_job();
    return 0;
}

int tune(const TuneOptions& options) {
    if (!find_points(options).is_ok()) {
        std::fprintf(stderr, "weft tune: %s\n", last_detail());
        return 2;
    }
    const auto cores = static_cast<int>(own_cores().size());
    if (options.place.ranks > cores)
        std::printf("Note: %d ranks share %d core%s.\n", options.place.ranks, cores,
                    cores == 1 ? "" : "s");
    return launch_task({"tune", options, options.place});
}

}  // namespace weft::bench
