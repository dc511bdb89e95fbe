// Collects what is needed to repeat a measurement.
#include "bench/circumstances.h"

#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <string_view>

#include "base/cores.h"
#include "bench/rivals/rival.h"
#include "bench/shell_word.h"
#include "weft/build.h"
#include "weft/machine.h"

namespace weft::bench {
namespace {

// The library's settings in force, except those that the launcher sets for each rank.
JsonLine settings() {
    constexpr std::string_view launcher[] = {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD",
                                             "WEFT_STARTUP_DIR"};
    JsonLine line;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        const std::string_view name = text.substr(0, equals);
        if (!name.starts_with("WEFT_") || equals == text.npos) continue;
        if (name.starts_with("WEFT_BENCH_") || name.starts_with("WEFT_CLUSTER_")) continue;
        if (name.find("KEY") != name.npos) continue;  // secret
        if (std::find(std::begin(launcher), std::end(launcher), name) != std::end(launcher)) {
            continue;
        }
        line.add(name, text.substr(equals + 1));
    }
    return line;
}

std::string command(const std::vector<std::string>& arguments) {
    std::string text = "weft";
    for (const std::string& word : arguments) text += " " + shell_word(word);
    return text;
}

using CoreSet = std::bitset<1024>;

CoreSet set_of(const std::vector<int>& cores) {
    CoreSet set;
    for (const int core : cores) {
        if (core < static_cast<int>(set.size())) set.set(static_cast<std::size_t>(core));
    }
    return set;
}

std::vector<int> list_of(const CoreSet& set) {
    std::vector<int> cores;
    for (std::size_t core = 0; core < set.size(); ++core) {
        if (set[core]) cores.push_back(static_cast<int>(core));
    }
    return cores;
}

}  // namespace

JsonLine circumstances(const Job& job, const Testbed& testbed,
                       const std::vector<std::string>& arguments) {
    std::vector<std::string> affinity;
    for (const CoreSet& cores : gather(job, std::vector<CoreSet>{set_of(own_cores())})) {
        affinity.push_back(cores_text(list_of(cores)));
    }
    const Build build = this_build();
    JsonLine line;
    if (const Rival* rival = Rival::of_this_job()) line.add("mpi", rival->version());
    return line.add("command", command(arguments))
        .add("version", build.version)
        .add("commit", build.commit)
        .add("compiler", build.compiler)
        .add("build_type", build.build_type)
        .add("flags", build.flags)
        .add("processor", cpu_model())
        .add("kernel", kernel())
        .add("cpus", static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN)))
        .add("ranks", std::int64_t{job.ranks})
        .add("nodes", std::int64_t{testbed.nodes})
        .add("rate", testbed.nodes > 0 ? testbed.rate : "")
        .add("links", std::int64_t{testbed.nodes > 0 ? testbed.links : 0})
        .add("bind", testbed.bind)
        .add("affinity", affinity)
        .add("transport", transports_in_use(job))
        .add("settings", settings());
}

}  // namespace weft::bench
