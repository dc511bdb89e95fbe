#include "bench/run/launch_job.h"

#include "bench/launch.h"

namespace weft::bench {
namespace {

// The command line of `weft run`, up to the program.
std::vector<std::string> run_words(const Cell& place) {
    std::vector<std::string> words = {this_program(), "run", "-n", std::to_string(place.ranks)};
    if (place.cores.empty())
        words.insert(words.end(), {"--bind", "core"});
    else if (place.cores == "none")
        words.insert(words.end(), {"--bind", "none"});
    else
        words.insert(words.end(), {"--cores", place.cores});
    for (const std::string& word : node_words(place)) words.push_back(word);
    return words;
}

}  // namespace

std::vector<std::string> node_words(const Cell& place) {
    if (place.nodes == 0) return {};
    const Link& link = place.link;
    std::vector<std::string> words = {"--nodes", std::to_string(place.nodes), "--rate", link.rate,
                                      "--links", std::to_string(link.links)};
    if (link.gso > 0) words.insert(words.end(), {"--gso", std::to_string(link.gso)});
    for (const auto& [option, value] :
         {std::pair("--delay", &link.delay), std::pair("--jitter", &link.jitter),
          std::pair("--loss", &link.loss)})
        if (*value != "0") words.insert(words.end(), {option, *value});
    return words;
}

int launch_job(const JobPlan& job, const std::string& plan, std::string& why) {
    if (!job.launcher.empty()) return launch_by_mpi(job, plan, why);
    const Cell& place = job.place();
    std::vector<std::string> words = run_words(place);
    if (place.nodes > 0) {
        // A job that does nothing: whether the nodes can be had.
        std::vector<std::string> trial = words;
        trial.emplace_back("true");
        if (run_program(trial, {}) != 0) {
            why = "the emulated nodes cannot be had here (see above)";
            return 0;
        }
    }
    words.insert(words.end(), {this_program(), "bench-rank", plan});
    std::vector<std::string> settings;
    if (place.transport != "auto") settings.push_back("WEFT_TRANSPORT=" + place.transport);
    for (const auto& [name, value] : place.settings) settings.push_back(name + "=" + value);
    return run_program(words, settings);
}

}  // namespace weft::bench
