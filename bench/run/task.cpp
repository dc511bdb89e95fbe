#include "bench/run/task.h"

#include <cstdio>
#include <fstream>

#include "bench/launch.h"
#include "bench/run/launch_job.h"
#include "bench/run/run.h"
#include "bench/temporary_folder.h"

namespace weft::bench {
namespace {

Json axes_of(const Cell& place) {
    const Link& link = place.link;
    return {{"ranks", place.ranks},
            {"nodes", place.nodes},
            {"link", {{"rate", link.rate}, {"links", link.links}, {"gso", link.gso}}},
            {"cores", place.cores},
            {"transport", place.transport},
            {"engine", place.engine}};
}

}  // namespace

int launch_task(const Task& task) {
    JobPlan job;
    job.launcher = task.mpi;
    job.contests.push_back({{cell_from(axes_of(task.place))}});
    const Json plan = {{"job", to_json(job)},
                       {"task", {{"command", task.command}, {"options", task.options}}},
                       {"run", run_line(Json::object(), RunOptions{})}};
    if (is_rank()) return run_task(plan);
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/plan.json";
    std::ofstream(file) << plan;
    std::string why;
    const int status = launch_job(job, file, why);
    if (interrupted() != 0) return 128 + interrupted();
    if (why.empty()) return status;
    std::fprintf(stderr, "weft bench %s: %s\n", task.command.c_str(), why.c_str());
    return 1;
}

int run_task(const Json& plan) {
    const Json& task = plan.at("task");
    const std::string command = task.at("command");
    TaskRank* const run = command == "loggp"     ? run_loggp_rank
                          : command == "predict" ? run_predict_rank
                                                 : run_tune_rank;
    const JobPlan job = job_from(plan.at("job"));
    return run(task.at("options"), job.place(), plan.at("run"));
}

std::string description(const Cell& place) {
    std::string text = std::to_string(place.ranks) + (place.ranks == 1 ? " rank" : " ranks");
    if (place.nodes == 0) return text;
    const Link& link = place.link;
    const std::string number = link.links > 1 ? std::to_string(link.links) + " " : "";
    text += " on " + std::to_string(place.nodes) + " emulated node" +
            (place.nodes == 1 ? "" : "s") + ", " + number + "links of " + link.rate +
            (link.links > 1 ? " each" : "");
    if (link.gso > 0) text += ", packets of " + std::to_string(link.gso) + " bytes";
    return text;
}

}  // namespace weft::bench
