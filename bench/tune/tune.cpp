#include "bench/tune/tune.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/cores.h"
#include "base/engine_kind.h"
#include "base/setting.h"
#include "bench/engines.h"
#include "bench/join.h"
#include "bench/progress.h"
#include "bench/run/computation.h"
#include "bench/run/task.h"
#include "bench/sizes.h"
#include "bench/tune/measure.h"
#include "c_api/guard.h"

namespace weft::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TuneOptions, collectives, sizes, repetitions, all_repetitions,
                                   overlapped, engines, output)

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
    for (const std::string& name : options.engines) {
        if (engine_named(name)) continue;
        return failure(WEFT_REFUSED_ARGUMENT, "engine = \"%s\"; expected one of %s", name.c_str(),
                       engine_names().c_str());
    }
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

// Between operations. Returns the first rank's reason not to; "": all have changed. Collective.
std::string change_engine(const Job& job, const std::string& name) {
    must(weft_barrier(job.comm), "weft_barrier");
    const bool is_set = set_engine(find_engine(name)->value) == WEFT_OK;
    return first_sentence(job, is_set ? "" : last_detail());
}

// Where the table's lines apply: with an engine each, if calls are overlapped. Collective.
std::vector<Place> places_of(const TuneOptions& options, const Job& job, const Place& place) {
    if (!options.overlapped) return {place};
    std::vector<std::string> engines = options.engines;
    if (engines.empty() && !place.engine.empty()) engines = {place.engine};
    if (engines.empty()) engines = {"manual", "thread", "kernel", "auto"};
    const weft_engine joined = weft_get_engine();
    std::vector<Place> places;
    for (const std::string& engine : engines) {
        const std::string why = change_engine(job, engine);
        if (why.empty())
            places.emplace_back(place).engine = engine;
        else if (job.rank == 0)
            std::printf("Not measured: %s\n", why.c_str());
    }
    must(set_engine(joined), "weft_set_engine");
    if (places.empty()) fail("no engine that can be measured here");
    return places;
}

// Broadcasts rank 0's answer.
bool agree(const Job& job, bool yes) {
    std::int32_t word = yes;
    must(weft_bcast(&word, 1, WEFT_INT32, 0, job.comm), "weft_bcast");
    return word != 0;
}

void write_table(const TuneOptions& options, const Points& wanted, const Record& record,
                 const std::vector<Place>& places, const std::string& where,
                 const std::string& circumstances) {
    const std::string timed =
        options.overlapped
            ? "start, a computation as long as the fastest's start and wait, and wait"
            : "start and wait";
    std::string text = "# Written by `weft tune`: " + where + "\n# " + circumstances +
                       "\n# Median microseconds by bytes of a block, " + timed +
                       ", the slowest rank.\n";
    for (const Subject& subject : wanted.subjects) {
        const bool has_bytes = subject.collective->has_size && subject.spec->agrees_on_sizes();
        for (const Place& place : places)
            text += "\n" + table_lines(record, *subject.spec, subject.sizes(wanted.sizes),
                                       has_bytes, place);
    }
    if (!replace_file(options.output, text).is_ok()) fail("%s", last_detail());
    const Place& place = places.front();
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
    if (options.overlapped) line["command"] = line["command"].get<std::string>() + " --overlapped";
    return line.dump();
}

}  // namespace

int run_tune_rank(const Json& json, const Cell& cell, const Json& about) {
    const auto options = json.get<TuneOptions>();
    const Result<Points> made = find_points(options);
    if (!made.is_ok()) fail("%s", last_detail());
    const Points& wanted = *made;
    const bool is_forced = is_engine_forced();  // join_job() also chooses one
    // Each candidate has a communicator, which the kernel engines give four dedicated connections
    // per peer, as long as there are any: the most that can be had, so that many candidates do.
    if (options.overlapped) setenv("WEFT_RESOURCES", "connections=+64", /*overwrite=*/0);
    const Job job = join_job(cell.ranks);
    const Topology& topology = c_api::current_process()->world().topology();
    const Place place = {job.ranks, topology.nodes(), forced_engine(job, is_forced),
                         *switch_setting("WEFT_REPRODUCIBLE")};
    // Before an engine's thread takes a share of the cores.
    const double step_us =
        options.overlapped ? Computation::calibrate_step_us(job, Compute::What::loop) : 0;
    const std::vector<Place> places = places_of(options, job, place);
    const std::size_t points = wanted.points() * places.size();
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
        std::printf("Resumes: %zu of %zu measurements are in %s.\n", record->size(), points,
                    kept.c_str());
    ProgressBar progress(job.rank == 0);
    std::size_t done = 0;
    const Manner manner = {options.repetitions,
                           options.all_repetitions ? Endurance::all : Endurance::fastest,
                           /*rest_ns=*/0, step_us};
    const auto measure = [&](const Subject& subject, const Place& there) {
        // (A communicator has what its engine needs only if it is made with that one.)
        if (options.overlapped) change_engine(job, there.engine);
        const std::string name = there.name_of(*subject.spec);
        std::vector<Candidate> candidates = make_candidates(job, *subject.spec);
        for (const std::int64_t bytes : subject.sizes(wanted.sizes)) {
            progress.show(static_cast<double>(done++) / static_cast<double>(points),
                          name + " " + size_text(bytes));
            if (agree(job, job.rank == 0 && record->has(name, bytes))) continue;
            const Timings timings =
                measure_candidates(subject, topology, bytes, candidates, manner);
            if (job.rank != 0) continue;
            const Status added = record->add(name, bytes, timings);
            if (!added.is_ok()) fail("%s", last_detail());
        }
        free_candidates(candidates);
    };
    for (const Subject& subject : wanted.subjects) {
        for (const Place& there : places) measure(subject, there);
    }
    progress.clear();
    if (job.rank == 0) {
        write_table(options, wanted, *record, places, where, measured_in);
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
