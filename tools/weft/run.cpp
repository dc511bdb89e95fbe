// The options of `weft run`.
#include "weft/run.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <regex>

#include "startup/wire.h"
#include "weft/commands.h"
#include "weft/machine.h"
#include "weft/seconds.h"

namespace weft {
namespace {

// "1gbit": what tc would take for a rate of nothing, or for bytes, is refused.
std::string rate_problem(const std::string& rate) {
    static const std::regex form("[0-9]+(\\.[0-9]+)?[kmgt]?bit");
    if (std::regex_match(rate, form) && std::strtod(rate.c_str(), nullptr) > 0) return "";
    return "'" + rate + "'; expected a rate like 1gbit, 2.5gbit or 100mbit";
}

// The first of the cores that cannot be had.
std::string cores_problem(const std::vector<int>& cores) {
    const std::vector<int> own = own_core_list();
    const std::string have = core_list(own_cores());
    auto wrong =
        std::find_if(cores.begin(), cores.end(), [](int core) { return !bind_to({core}); });
    bind_to(own);
    if (wrong == cores.end()) return "";
    return "no core " + std::to_string(*wrong) + " here; this process has " + have;
}

// Stands for the first "--", so that it comes to this command as any word does.
char end_of_options[] = "\x1e--";

// Behind the options; a "--" that ended them is not of the program.
std::vector<std::string> command_of(std::vector<std::string> words) {
    const auto mark = std::find(words.begin(), words.end(), end_of_options);
    if (mark == words.end()) return words;
    if (mark == words.begin()) {
        words.erase(mark);
    } else {
        *mark = "--";
    }
    return words;
}

// What no single option can see.
void check(const RunOptions& options) {
    const int nodes = options.cluster.nodes;
    if (!options.exec_per_node && nodes > options.ranks) {
        throw CLI::ValidationError("--nodes", std::to_string(nodes) + " nodes for " +
                                                  std::to_string(options.ranks) +
                                                  " ranks (-n); every node needs one");
    }
    if (std::string problem = cores_problem(options.cores); !problem.empty()) {
        throw CLI::ValidationError("--cores", problem);
    }
}

// --nodes and what only makes sense with it.
void add_cluster_options(CLI::App& run, RunOptions& options) {
    CLI::Option* nodes =
        run.add_option("--nodes", options.cluster.nodes,
                       "Emulate a cluster of this many nodes, to which ranks are dealt in blocks")
            ->check(CLI::Range(1, cluster_nodes_max));
    run.add_option("--rate", options.cluster.rate,
                   "Rate of each link of a node and direction, as 1gbit; not limited if not given")
        ->needs(nodes)
        ->check(CLI::Validator(rate_problem, "RATE"));
    run.add_option("--gso", options.cluster.gso_bytes,
                   "Bytes of the largest packet that a link takes at once (gso_max_size), as 1500")
        ->needs(nodes)
        ->check(CLI::Range(1500, 65536));
    run.add_option("--links", options.cluster.links, "Links per node, each to a network of its own")
        ->needs(nodes)
        ->check(CLI::Range(1, cluster_links_max))
        ->capture_default_str();
    run.add_flag("--exec-per-node", options.exec_per_node,
                 "Start PROGRAM once, beside the nodes; it finds in WEFT_CLUSTER_AGENT what starts "
                 "processes on them")
        ->needs(nodes)
        ->excludes("--ranks")
        ->excludes("--prefix");
}

}  // namespace

void mark_end_of_options(int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != "run") return;
    char** const end = argv + argc;
    char** const found = std::find_if(
        argv + 2, end, [](const char* word) { return std::string_view(word) == "--"; });
    if (found != end) *found = end_of_options;
}

void add_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    auto bind = std::make_shared<std::string>("none");
    CLI::App* run = app.add_subcommand(
        "run", "Start the ranks of a job on this machine: weft run -n 4 PROGRAM [ARGUMENTS...]");
    run->prefix_command();
    run->add_option("-n,--ranks", options->ranks, "How many ranks")
        ->check(CLI::Range(1, static_cast<int>(wire_ranks_max)))
        ->capture_default_str();
    CLI::Option* binding =
        run->add_option("--bind", *bind, "core: rank r stays on the r-th core; none")
            ->check(CLI::IsMember({"core", "none"}))
            ->capture_default_str();
    run->add_option("--cores", options->cores,
                    "0,1,...: rank r stays on the r-th of these cores, counting round and round")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(binding);
    run->add_flag("--prefix,--label", options->prefix,
                  "Put \"[rank] \" before each line of output");
    run->add_option("--grace", options->grace_s,
                    "Seconds that the other ranks get to end by themselves when one has failed")
        ->check(seconds(Least::zero))
        ->capture_default_str();
    run->add_option("--timeout", options->timeout_s, "End the job after this many seconds")
        ->check(seconds(Least::above_zero));
    add_cluster_options(*run, *options);
    run->callback([run, options, bind] {
        const std::vector<std::string> words = run->remaining();
        options->command = command_of(words);
        if (options->command.empty()) throw CLI::RequiredError("PROGRAM");
        if (words[0].starts_with('-')) {
            throw CLI::ExtrasError(std::vector<std::string>{options->command[0]});
        }
        check(*options);
        if (*bind == "core") options->cores = own_core_list();
        if (int status = run_job(*options); status != 0) throw CLI::RuntimeError(status);
    });
}

}  // namespace weft
