#include "bench/run/run.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include "base/clock.h"
#include "bench/launch.h"
#include "bench/run/launch_job.h"
#include "bench/run/samples.h"
#include "bench/run/timer.h"
#include "bench/shell_word.h"
#include "bench/temporary_folder.h"
#include "weft/build.h"
#include "weft/machine.h"

namespace weft::bench {
namespace {

// The library's settings in force, except secrets and those of a launcher or of the bench.
Json settings() {
    Json found = Json::object();
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        const std::string_view name = text.substr(0, equals);
        if (!name.starts_with("WEFT_") || equals == text.npos || name.find("KEY") != name.npos ||
            name.starts_with("WEFT_BENCH_") || name.starts_with("WEFT_CLUSTER_"))
            continue;
        found[std::string(name)] = text.substr(equals + 1);
    }
    return found;
}

std::string date() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

}  // namespace

Json run_line(const Json& scenarios, const RunOptions& options) {
    const Build build = this_build();
    const Stopwatch watch(Timer::clock);
    std::string command = "weft";
    for (const std::string& word : options.command) command += " " + shell_word(word);
    utsname system{};
    uname(&system);
    return {{"kind", "run"},
            {"schema", schema},
            {"date", date()},
            {"command", command},
            {"weft",
             {{"version", build.version},
              {"commit", build.commit},
              {"build_type", build.build_type},
              {"compiler", build.compiler}}},
            {"host",
             {{"cpu", cpu_model()},
              {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
              {"kernel", system.release}}},
            {"seed", options.seed},
            {"timer", {{"name", "clock"}, {"cost_ns", watch.cost_ns()}}},
            {"settings", settings()},
            {"scenarios", scenarios}};
}

namespace {

double seconds_of(const JobPlan& job) {
    double sum = 0;
    for (const Contest& contest : job.contests) sum += contest.budget_s;
    return sum;
}

// What the switch of a delayed link said about itself, a line of JSON.
void take_switch_report(const std::string& path, const JobPlan& job, Samples& samples) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        Json report = Json::parse(line, nullptr, false);
        if (!report.is_object()) continue;
        report["kind"] = "switch";
        report["scenario"] = job.place().scenario;
        samples.write(report);
    }
}

}  // namespace

int run(const Plan& plan, const RunOptions& options) {
    std::error_code error;
    std::filesystem::remove(options.samples, error);
    Samples samples(options.samples);
    const TemporaryFolder folder;
    const std::int64_t began_ns = now_ns();
    const Json line = run_line(plan.scenarios, options);
    samples.write(line);
    std::set<std::pair<std::string, std::string>> missed;  // said once
    const auto miss = [&](const std::string& scenario, const std::string& member,
                          const std::string& why) {
        if (!missed.emplace(scenario, member).second) return;
        samples.write(
            {{"kind", "missing"}, {"scenario", scenario}, {"member", member}, {"why", why}});
    };
    for (const Missing& one : plan.missing) miss(one.scenario, one.member, one.why);

    double all_s = 0;
    for (const JobPlan& job : plan.jobs) all_s += seconds_of(job);
    double before_s = 0;
    int first = 0;
    for (const JobPlan& job : plan.jobs) {
        const std::string file = folder.path() + "/plan.json";
        const double after_s = before_s + seconds_of(job);
        std::ofstream(file) << Json{{"run", line},
                                    {"job", to_json(job)},
                                    {"samples", std::filesystem::absolute(options.samples)},
                                    {"seed", options.seed},
                                    {"from", before_s / all_s},
                                    {"to", after_s / all_s},
                                    {"began_ns", began_ns}};
        before_s = after_s;
        const std::string report = folder.path() + "/switch.json";
        if (job.place().nodes > 0 && job.place().link.has_delay())
            setenv("WEFT_SWITCH_REPORT", report.c_str(), 1);
        std::string why;
        const int status = launch_job(job, file, why);
        unsetenv("WEFT_SWITCH_REPORT");
        take_switch_report(report, job, samples);
        std::filesystem::remove(report, error);
        if (interrupted() != 0) {
            first = 128 + interrupted();
            break;
        }
        if (why.empty() && status != 0)
            why = "the job failed, with status " + std::to_string(status);
        for (const Contest& contest : job.contests) {
            if (why.empty()) break;
            for (const Cell& cell : contest.cells) miss(cell.scenario, cell.member, why);
        }
        if (first == 0) first = status;
    }
    samples.write({{"kind", "end"},
                   {"seconds", static_cast<double>(now_ns() - began_ns) * 1e-9},
                   {"complete", first == 0}});
    return first;
}

}  // namespace weft::bench
