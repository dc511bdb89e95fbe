// The options of `weft run`.
#include "weft/run_options.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/cores.h"
#include "startup/key_value.h"
#include "weft/amounts.h"
#include "weft/commands.h"
#include "weft/hosts.h"
#include "weft/seconds.h"

namespace weft {
namespace {

std::string rate_problem(const std::string& rate) {
    if (bits_per_second(rate) > 0) return "";
    return "'" + rate + "'; expected a rate like 1gbit, 2.5gbit or 100mbit";
}

std::string time_problem(const std::string& time) {
    const std::optional<std::int64_t> value = nanoseconds(time);
    if (value && *value <= distance_max_ns) return "";
    return "'" + time + "'; expected a time like 1ms, 50us or 0.1s, at most 10s";
}

std::string loss_problem(const std::string& loss) {
    const std::optional<double> value = share(loss);
    if (value && *value <= loss_max) return "";
    return "'" + loss + "'; expected a share of the packets like 0.1%, at most 50%";
}

// Names the first core that this process does not have.
std::string cores_problem(const std::vector<int>& cores) {
    const std::vector<int> own = own_cores();
    auto wrong =
        std::find_if(cores.begin(), cores.end(), [](int core) { return !bind_to({core}); });
    bind_to(own);
    if (wrong == cores.end()) return "";
    return "no core " + std::to_string(*wrong) + " here; this process has " + cores_text(own);
}

// Replaces the first "--", so that this command gets it like any other word.
char end_of_options[] = "\x1e--";

// "-np", "-np2" and "-np=2", as launchers for MPI have it, with two dashes: CLI11 reads "-n p".
char* long_np(std::string_view word) {
    static std::string text;
    word.remove_prefix(std::string_view("-np").size());
    if (word.starts_with('=')) word.remove_prefix(1);
    text = word.empty() ? "--np" : "--np=" + std::string(word);
    return text.data();
}

// The words after the options; a "--" that ended them is not part of the program.
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

// One that no rank is bound to, if there is one, else the last.
int core_for_switch(const std::vector<int>& bound) {
    const std::vector<int> own = own_cores();
    for (auto core = own.rbegin(); core != own.rend(); ++core) {
        if (std::find(bound.begin(), bound.end(), *core) == bound.end()) return *core;
    }
    return own.empty() ? -1 : own.back();
}

// Checks options that depend on each other.
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

// --nodes and the options that need it.
void add_cluster_options(CLI::App& run, RunOptions& options) {
    CLI::Option* nodes =
        run.add_option("--nodes", options.cluster.nodes,
                       "Emulate a cluster of this many nodes; each gets a block of ranks")
            ->check(CLI::Range(1, cluster_nodes_max));
    run.add_option("--rate", options.cluster.rate,
                   "Rate of each link and direction, such as 1gbit; default: unlimited")
        ->needs(nodes)
        ->check(CLI::Validator(rate_problem, "RATE"));
    run.add_option("--gso", options.cluster.gso_bytes,
                   "Bytes of the largest packet that a link takes (gso_max_size), such as 1500")
        ->needs(nodes)
        ->check(CLI::Range(1500, 65536));
    run.add_option("--burst", options.cluster.burst_bytes,
                   "Bytes that a link passes at once after a pause, beyond its rate")
        ->needs(nodes)
        ->check(CLI::Range(4096, 1 << 20))
        ->capture_default_str();
    run.add_option("--links", options.cluster.links, "Links per node, each to its own network")
        ->needs(nodes)
        ->check(CLI::Range(1, cluster_links_max))
        ->capture_default_str();
    // Any of the three puts a switch between the nodes.
    const auto distance = [&options]() -> Distance& {
        std::optional<Distance>& place = options.cluster.distance;
        return place ? *place : place.emplace();
    };
    run.add_option_function<std::string>(
           "--delay",
           [distance](const std::string& text) { distance().delay_ns = nanoseconds(text).value(); },
           "How long a packet travels from node to node, such as 1ms; default: no time")
        ->needs(nodes)
        ->check(CLI::Validator(time_problem, "TIME"));
    run.add_option_function<std::string>(
           "--jitter",
           [distance](const std::string& text) {
               distance().jitter_ns = nanoseconds(text).value();
           },
           "Up to this much longer, drawn for each packet, such as 100us")
        ->needs(nodes)
        ->check(CLI::Validator(time_problem, "TIME"));
    run.add_option_function<std::string>(
           "--loss", [distance](const std::string& text) { distance().loss = share(text).value(); },
           "The share of packets that are lost, such as 0.1%")
        ->needs(nodes)
        ->check(CLI::Validator(loss_problem, "PERCENT"));
    run.add_flag("--exec-per-node", options.exec_per_node,
                 "Start PROGRAM once, beside the nodes; WEFT_CLUSTER_AGENT names a command that "
                 "starts processes on them")
        ->needs(nodes)
        ->excludes("--ranks")
        ->excludes("--prefix");
}

}  // namespace

void mark_end_of_options(const CLI::App& app, int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != "run") return;
    char** const end = argv + argc;
    const CLI::App& run = *app.get_subcommand("run");
    for (char** word = argv + 2; word < end && **word == '-'; ++word) {
        if (std::string_view(*word).starts_with("-np")) *word = long_np(*word);
        const CLI::Option* const option = run.get_option_no_throw(*word);
        if (option && option->get_items_expected_max() > 0) ++word;  // its value
    }
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
    run->add_option("-n,--ranks,--np", options->ranks, "How many ranks")
        ->check(CLI::Range(1, static_cast<int>(wire_ranks_max)))
        ->capture_default_str();
    CLI::Option* binding =
        run->add_option("--bind", *bind, "core: rank r stays on the r-th core; none")
            ->check(CLI::IsMember({"core", "none"}))
            ->capture_default_str();
    run->add_option("--cores", options->cores,
                    "0,1,...: rank r stays on the r-th of these cores, starting over at the end")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(binding);
    run->add_flag("--prefix,--label", options->prefix,
                  "Put \"[rank] \" before each line of output");
    run->add_option("--grace", options->grace_s,
                    "Seconds that the other ranks have to end by themselves when one has failed")
        ->check(seconds(Least::zero))
        ->capture_default_str();
    run->add_option("--timeout", options->timeout_s, "End the job after this many seconds")
        ->check(seconds(Least::above_zero));
    add_cluster_options(*run, *options);
    auto hosts = std::make_shared<std::string>();
    auto ssh = std::make_shared<std::string>("ssh");
    CLI::Option* const on_hosts =
        run->add_option("--hosts", *hosts,
                        "Start the ranks on these hosts by ssh: node1,node2:4 has 1 and 4 of them")
            ->check(CLI::Validator(hosts_problem, "HOSTS"))
            ->excludes("--nodes")
            ->excludes("--cores")
            ->excludes(binding);
    run->add_option("--ssh", *ssh, "The program to use as ssh")
        ->needs(on_hosts)
        ->capture_default_str();
    CLI::App* const share = app.add_subcommand("run-share")->group("");
    auto asks_addresses = std::make_shared<bool>(false);
    share->add_flag("--addresses", *asks_addresses);
    share->callback([asks_addresses] {
        const int status = *asks_addresses ? say_addresses() : run_share();
        if (status != 0) throw CLI::RuntimeError(status);
    });
    run->callback([run, options, bind, hosts, ssh] {
        const std::vector<std::string> words = run->remaining();
        options->command = command_of(words);
        if (options->command.empty()) throw CLI::RequiredError("PROGRAM");
        if (words[0].starts_with('-')) {
            throw CLI::ExtrasError(std::vector<std::string>{options->command[0]});
        }
        check(*options);
        if (!hosts->empty()) {
            if (run->count("--ranks") == 0) options->ranks = 0;  // as many as the hosts have places
            if (int status = run_on_hosts(*options, *hosts, *ssh); status != 0)
                throw CLI::RuntimeError(status);
            return;
        }
        if (*bind == "core") options->cores = own_cores();
        options->cluster.switch_core = core_for_switch(options->cores);
        if (int status = run_job(*options); status != 0) throw CLI::RuntimeError(status);
    });
}

}  // namespace weft
