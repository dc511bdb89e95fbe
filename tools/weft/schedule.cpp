// `weft schedule`: prints the schedules of a collective and what they cost, and checks them.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/catalogue.h"
#include "base/setting.h"
#include "lab/every_rank.h"
#include "lab/measure.h"
#include "lab/print/dot.h"
#include "lab/print/goal.h"
#include "lab/print/links.h"
#include "lab/print/svg.h"
#include "lab/print/task_table.h"
#include "lab/print/task_text.h"
#include "reduce/reduce.h"
#include "schedule/check/check.h"
#include "schedule/text.h"
#include "shape/blocks.h"
#include "weft/commands.h"
#include "weft/library_choice.h"

namespace weft {
namespace {

using algorithm::Algorithm;
using algorithm::build_all;
using algorithm::CollectiveSpec;
using algorithm::Sizes;

struct Options {
    std::string collective;
    std::string algorithm;
    std::string inner;  // of hierarchical algorithms; empty: their own choice
    algorithm::GlobalArgs agreed;
    std::string type = "byte";
    Rank nodes = 1;    // with the ranks on them in blocks
    std::string grid;  // for collectives among neighbors: "4x4"; default: all ranks in a row
    bool has_borders = false;
    std::string torus_sizes;  // "4x4"; empty: none
    std::optional<Torus> torus;
    bool links = false;
    std::string order = "rank";  // in which the torus has the ranks
    bool in_place = false;
    Rank rank = -1;  // all
    std::string format = "text";
    std::string protocol = "eager";  // of task lists
    bool check = false;
    bool list = false;
};

constexpr Rank scheduled_ranks_max = 4096;

// If all ranks have at most this many, no sum over a collective's messages overflows.
constexpr std::int64_t bytes_max = std::int64_t{1} << 36;

// Replaces a size such as 4K by its number of bytes.
CLI::Validator bytes(std::int64_t least) {
    return CLI::Validator(
        [least](std::string& text) -> std::string {
            const std::string given = text;
            std::int64_t bytes = -1;
            try {
                if (CLI::AsSizeValue(false)(text).empty())
                    std::from_chars(text.data(), text.data() + text.size(), bytes);
            } catch (const CLI::ValidationError&) {
                // Not a size: -1.
            }
            if (bytes >= least && bytes <= bytes_max) return "";
            return "'" + given + "'; expected bytes, such as 64, 4K or 1M, at least " +
                   std::to_string(least) + " and at most 64G";
        },
        "SIZE");
}

[[noreturn]] void refuse(const std::string& sentence) {
    std::fprintf(stderr, "weft schedule: %s\n", sentence.c_str());
    throw CLI::RuntimeError(2);
}

Rank product_of(const std::vector<Rank>& sizes) {
    Rank product = 1;
    for (const Rank size : sizes) product *= size;
    return product;
}

std::vector<Dimension> grid_of(const Options& options) {
    const std::string text =
        options.grid.empty() ? std::to_string(options.agreed.ranks) : options.grid;
    const std::optional<std::vector<Rank>> sizes = parse_sizes(text);
    if (!sizes || product_of(*sizes) != options.agreed.ranks) {
        refuse("grid = " + text + "; expected sizes such as 4x4 with " +
               std::to_string(options.agreed.ranks) + " places in all (--ranks)");
    }
    std::vector<Dimension> grid;
    for (const Rank size : *sizes) grid.push_back({size, !options.has_borders});
    return grid;
}

// The torus has all ranks; it determines their number, if --ranks does not.
void declare_torus(Options& options, bool has_ranks) {
    const std::string& text = options.torus_sizes;
    const std::optional<std::vector<Rank>> sizes = parse_sizes(text);
    if (!sizes || sizes->size() < 2 || sizes->size() > 3 ||
        product_of(*sizes) > scheduled_ranks_max) {
        refuse("torus = " + text + "; expected two or three sizes, such as 4x4, of at most " +
               std::to_string(scheduled_ranks_max) + " ranks");
    }
    if (has_ranks && product_of(*sizes) != options.agreed.ranks) {
        refuse("torus = " + text + " has " + std::to_string(product_of(*sizes)) +
               " ranks; expected " + std::to_string(options.agreed.ranks) + " (--ranks)");
    }
    options.torus.emplace(*sizes);
    options.agreed.ranks = options.torus->ranks();
    options.agreed.torus = &*options.torus;
}

// The call on all ranks. Blocks that may differ all have --bytes here, and are contiguous.
struct BoundProblem {
    BoundProblem(const CollectiveSpec& spec, const Options& options) {
        algorithm::GlobalArgs agreed = options.agreed;
        for (Rank r = 0; spec.sizes == Sizes::known_to_all && r < agreed.ranks; ++r) {
            sizes.push_back(agreed.bytes);
            offsets.push_back(r * agreed.bytes);
        }
        agreed.sizes = sizes;
        std::vector<Rank> marks;
        for (Rank node = 0; node < options.nodes; ++node)
            marks.resize(marks.size() + static_cast<std::size_t>(
                                            block_of(agreed.ranks, options.nodes, node).count),
                         node);
        nodes = std::make_unique<Topology>(marks);
        agreed.topology = nodes.get();
        const std::int64_t bytes = agreed.bytes;
        if (!spec.agrees_on_sizes()) agreed.bytes = -1;
        if (spec.is_among_neighbors()) {
            const std::vector<Dimension> grid = grid_of(options);
            for (Rank r = 0; r < agreed.ranks; ++r) neighbors.push_back(grid_neighbors(grid, r));
        }
        every_rank = std::make_unique<EveryRank>(
            spec, agreed, options.in_place, offsets, [=](Rank, Rank, std::size_t) { return bytes; },
            /*gap=*/0, neighbors);
    }

    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
    std::unique_ptr<Topology> nodes;
    std::vector<Neighborhood> neighbors;
    std::unique_ptr<EveryRank> every_rank;

    const std::vector<algorithm::Problem>& problems() const { return every_rank->problems(); }
};

void list(const CollectiveSpec& spec) {
    for (const Algorithm* known : spec.algorithms) {
        std::printf("%-20s %-20s %s\n", spec.name, known->name, known->source);
    }
}

// The one that is named; or the library's choice, with its parameters.
const Algorithm& find_algorithm(const CollectiveSpec& spec, Options& options,
                                const CLI::App& command) {
    const std::string& name = options.algorithm;
    if (!name.empty()) {
        const Algorithm* const known = spec.find(name);
        if (!known) refuse("algorithm = " + name + "; expected one of: " + spec.known_names());
        return *known;
    }
    const BoundProblem posed(spec, options);
    algorithm::GlobalArgs agreed = posed.problems().front().agreed;
    // Shared memory combines what it receives by the library's own operations.
    const bool is_function = !agreed.commutative && !agreed.reproducible;
    agreed.combines = spec.reduces && options.nodes == 1 && !is_function;
    const Algorithm* const chosen = library_choice(command, agreed, options.agreed.tuning);
    if (!chosen) refuse(last_detail());
    return *chosen;
}

const Algorithm& find_flat_algorithm(const CollectiveSpec& spec, const std::string& name) {
    const std::vector<const Algorithm*> flat = spec.flat_algorithms();
    const auto known =
        std::ranges::find_if(flat, [&](const Algorithm* one) { return one->name == name; });
    if (known == flat.end())
        refuse("inner = " + name + "; expected one of: " + algorithm::names_of(flat));
    return **known;
}

std::vector<std::string> type_names() {
    std::vector<std::string> names;
    for (int type = 0; type < type_count; ++type)
        names.push_back(type_name(static_cast<weft_type>(type)));
    return names;
}

// What is reduced is cut only between elements.
void use_type(Options& options, const CollectiveSpec& spec) {
    const std::vector<std::string> names = type_names();
    const auto type = std::ranges::find(names, options.type) - names.begin();
    const auto element = static_cast<std::int64_t>(type_bytes(static_cast<weft_type>(type)));
    if (options.agreed.bytes % element != 0) {
        refuse("bytes = " + std::to_string(options.agreed.bytes) + "; expected a multiple of " +
               std::to_string(element) + " (--type " + options.type + ")");
    }
    if (spec.reduces) options.agreed.element_bytes = element;
}

// What must be right before any algorithm can be chosen.
void validate_call(const Options& options, const CollectiveSpec& spec) {
    if (options.agreed.root >= options.agreed.ranks) {
        refuse("root = " + std::to_string(options.agreed.root) + "; expected 0.." +
               std::to_string(options.agreed.ranks - 1));
    }
    if (options.nodes > options.agreed.ranks) {
        refuse("nodes = " + std::to_string(options.nodes) + "; expected 1.." +
               std::to_string(options.agreed.ranks));
    }
    if (!spec.is_among_neighbors() && (!options.grid.empty() || options.has_borders)) {
        refuse(std::string(options.grid.empty() ? "--borders" : "--grid") + " with " + spec.name +
               "; it is not among neighbors");
    }
    if (options.rank >= options.agreed.ranks) {
        refuse("rank = " + std::to_string(options.rank) + "; expected 0.." +
               std::to_string(options.agreed.ranks - 1));
    }
}

void validate(const Options& options, const Algorithm& algorithm) {
    if (options.agreed.tuning.ports > 1 && algorithm.tunes != algorithm::Tunes::ports) {
        refuse("--ports with " + std::string(algorithm.name) + "; it has no ports");
    }
    if (options.agreed.tuning.throttle && algorithm.tunes != algorithm::Tunes::throttle) {
        refuse("--throttle with " + std::string(algorithm.name) + "; it has no throttle");
    }
    if (!options.inner.empty() && !algorithm.follows_inner()) {
        refuse("--inner with " + std::string(algorithm.name) + "; it has no inner algorithm");
    }
    if (options.agreed.tuning.leaders > 0 && !algorithm.follows_leaders()) {
        refuse("--leaders with " + std::string(algorithm.name) + "; it has no choice of leaders");
    }
    if (options.links && !options.torus)
        refuse("--links without --torus; a link is one of a torus");
    if (options.order != "rank" && !options.links)
        refuse("--order without --links; it says where ranks lie in the torus");
    if (options.order != "rank" && algorithm.needs.torus)
        refuse("--order with " + std::string(algorithm.name) + "; it orders the ranks itself");
    if (options.links && options.check) refuse("--links with --check; it shows no links");
    if (options.links && options.rank >= 0) {
        refuse("--rank with --links; they carry the messages of all ranks");
    }
    if (options.rank >= 0 && options.format == "goal") {
        refuse("--rank with --format goal; a simulation needs all ranks");
    }
    if (options.rank >= 0 && options.format == "svg") {
        refuse("--rank with --format svg; a drawing shows all ranks");
    }
    if (options.protocol != "eager" && options.format != "tasks") {
        refuse("--protocol with --format " + options.format + "; it belongs to task lists");
    }
}

void print_summary(const Algorithm& algorithm, const algorithm::GlobalArgs& agreed,
                   const Measures& m, std::span<const Schedule> schedules) {
    auto n = [](std::int64_t value) { return static_cast<long long>(value); };
    auto end_with_claim = [&](std::int64_t (*claim)(const algorithm::GlobalArgs&),
                              const char* others) {
        if (claim && claim(agreed) != algorithm::no_claim)
            std::printf(" (claimed %lld)\n", n(claim(agreed)));
        else
            std::printf("%s\n", others);
    };
    std::printf("rounds           %lld", n(m.rounds));
    end_with_claim(algorithm.rounds, "");
    std::printf("depth            %lld\n", n(m.depth));
    std::printf("messages         %lld; at most %lld by one rank", n(m.messages),
                n(m.messages_max));
    end_with_claim(algorithm.sent_messages_max, " (claimed: one per block)");
    std::printf("bytes sent       %lld; at most %lld by one rank", n(m.sent_bytes),
                n(m.sent_bytes_max));
    const auto claimed_bytes =
        agreed.bytes >= 0 ? algorithm.sent_bytes_max : nullptr;  // not all ranks know the sizes
    end_with_claim(claimed_bytes, " (claimed: each block once)");
    if (agreed.topology->nodes() == 1) return;
    std::printf("between nodes    %lld bytes", n(bytes_between_nodes(schedules, *agreed.topology)));
    end_with_claim(algorithm.bytes_between_nodes, "");
}

// Prints what the checker has proved or found. With findings the program fails.
void print_check(const CollectiveSpec& spec, const Options& options,
                 std::span<const Schedule> schedules) {
    const Postcondition promise = spec.promise_of(BoundProblem(spec, options).problems());
    const Verdict verdict = check(schedules, promise);
    if (verdict.holds()) {
        std::printf(
            "proved           %lld messages match, no deadlock, no hazard, result as "
            "promised (%lld operations followed)\n",
            static_cast<long long>(verdict.messages), static_cast<long long>(verdict.operations));
        return;
    }
    for (const Finding& finding : verdict.findings) {
        std::printf("%-16s %s\n", flaw_name(finding.flaw), finding.sentence.c_str());
    }
    throw CLI::RuntimeError(1);
}

std::string title(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options) {
    std::string words = std::string(spec.name) + ' ' + algorithm.name + ", " +
                        std::to_string(options.agreed.ranks) + " ranks";
    if (spec.has_root) words += ", root " + std::to_string(options.agreed.root);
    return words;
}

void print_title(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options) {
    std::printf("%s, %lld bytes\n%s\n\n", title(spec, algorithm, options).c_str(),
                static_cast<long long>(options.agreed.bytes), algorithm.source);
}

// The algorithm's needs, and the options that change its schedules.
void print_traits(const Algorithm& algorithm) {
    std::vector<std::string> followed;
    if (algorithm.tunes == algorithm::Tunes::segments) followed = {"segment", "window"};
    if (algorithm.tunes == algorithm::Tunes::ports) followed = {"ports"};
    if (algorithm.tunes == algorithm::Tunes::throttle) followed = {"throttle"};
    if (algorithm.follows_inner()) followed = {"inner"};
    if (algorithm.follows_leaders()) followed.emplace_back("leaders");
    if (algorithm.follows_topology) followed.emplace_back("nodes");
    std::string list;
    for (const std::string& one : followed) list += (list.empty() ? "" : ", ") + one;
    const std::string needs = algorithm.needs_in_words();
    if (!needs.empty()) std::printf("needs            %s\n", needs.c_str());
    if (!list.empty()) std::printf("follows          %s\n", list.c_str());
}

void print_text(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options,
                std::span<const Schedule> schedules) {
    print_title(spec, algorithm, options);
    if (options.check) {
        print_check(spec, options, schedules);
        return;
    }
    for (const Schedule& schedule : schedules) {
        if (options.rank >= 0 && schedule.rank() != options.rank) continue;
        std::printf("rank %d", schedule.rank());
        if (schedule.scratch_bytes() > 0) {
            std::printf(", %lld bytes of scratch",
                        static_cast<long long>(schedule.scratch_bytes()));
        }
        std::printf("\n%s\n", to_text(schedule).c_str());
    }
    Result<Measures> measures = measure(schedules, static_cast<int>(options.agreed.tuning.ports));
    if (!measures.is_ok()) refuse(last_detail());
    print_traits(algorithm);
    const BoundProblem posed(spec, options);
    print_summary(algorithm, posed.problems().front().agreed, *measures, schedules);
}

// The sum over all ranks, and the largest of one rank.
struct Count {
    std::int64_t all = 0;
    std::int64_t most = 0;

    void add(std::int64_t value) {
        all += value;
        most = std::max(most, value);
    }
};

// The resources of section VI.E of the CORE-Direct paper.
void print_resources(std::span<const Tasks> ranks) {
    Count tasks;
    Count lists;
    Count connections;
    Count memory;
    for (const Tasks& rank : ranks) {
        std::size_t own = 0;
        std::set<std::pair<Rank, bool>> peers;
        for (const TaskList& list : rank.lists) {
            own += list.tasks.size();
            peers.insert({list.peer, list.is_control});
        }
        tasks.add(static_cast<std::int64_t>(own));
        lists.add(static_cast<std::int64_t>(rank.lists.size()));
        connections.add(static_cast<std::int64_t>(peers.size()));
        memory.add(rank.memory_bytes() + rank.rest.scratch_bytes());
    }
    auto print = [](const char* what, const Count& count, const char* unit) {
        std::printf("%-16s %lld%s; at most %lld on one rank\n", what,
                    static_cast<long long>(count.all), unit, static_cast<long long>(count.most));
    };
    print("tasks", tasks, "");
    print("task lists", lists, "");
    connections.all /= 2;  // each has two ends
    print("connections", connections, "");
    print("memory", memory, " bytes, including scratch");
}

void print_tasks(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options,
                 std::span<const Schedule> schedules) {
    const int ports = static_cast<int>(options.agreed.tuning.ports);
    Result<Timetable> times = timetable(schedules, ports);
    if (!times.is_ok()) refuse(last_detail());
    const Protocol protocol = options.protocol == "eager" ? Protocol::eager : Protocol::rendezvous;
    std::vector<Tasks> compiled;
    for (const Schedule& schedule : schedules) {
        const std::vector<bool> all(schedule.lanes().size(), true);
        compiled.push_back(compile_tasks(schedule, all, protocol));
    }
    print_title(spec, algorithm, options);
    std::span<const Tasks> shown = compiled;
    if (options.rank >= 0) shown = shown.subspan(static_cast<std::size_t>(options.rank), 1);
    std::printf("%s\n", task_table(shown, *times).c_str());
    if (options.rank >= 0) std::printf("%s\n", to_text(shown.front()).c_str());
    print_resources(compiled);
}

void print_drawing(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options,
                   const Topology& nodes, std::span<const Schedule> schedules) {
    Result<Timetable> times = timetable(schedules, static_cast<int>(options.agreed.tuning.ports));
    if (!times.is_ok()) refuse(last_detail());
    std::fputs(to_svg(title(spec, algorithm, options), schedules, *times, nodes).c_str(), stdout);
}

void print_links(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options,
                 std::span<const Schedule> schedules) {
    Result<Timetable> times = timetable(schedules, static_cast<int>(options.agreed.tuning.ports));
    if (!times.is_ok()) refuse(last_detail());
    if (options.order == "path") {
        const std::vector<Rank> path = options.torus->path();
        const auto place = [&](Rank rank) { return path[static_cast<std::size_t>(rank)]; };
        std::map<std::pair<Rank, Rank>, std::vector<std::int64_t>> placed;
        for (auto& [ends, rounds] : times->messages)
            placed[{place(ends.first), place(ends.second)}] = std::move(rounds);
        times->messages = std::move(placed);
    }
    print_title(spec, algorithm, options);
    std::fputs(link_table(*options.torus, *times).c_str(), stdout);
}

void show(Options& options, const CLI::App& command) {
    const CollectiveSpec* spec = algorithm::find_spec(options.collective);
    if (options.list) {
        for (const CollectiveSpec& f : algorithm::catalogue()) {
            if (!spec || spec == &f) list(f);
        }
        return;
    }
    if (!spec) refuse("expected a collective, or --list");
    if (options.agreed.reproducible && !spec->reduces)
        refuse("--reproducible with " + options.collective + "; it reduces nothing");
    validate_call(options, *spec);
    use_type(options, *spec);
    const Algorithm& algorithm = find_algorithm(*spec, options, command);
    validate(options, algorithm);
    if (!options.inner.empty()) {
        options.agreed.tuning.inner = &find_flat_algorithm(*spec, options.inner);
    }
    const BoundProblem posed(*spec, options);
    const std::string lacks = algorithm.unmet_need(posed.problems().front().agreed);
    if (!lacks.empty()) refuse(std::string(algorithm.name) + " needs " + lacks);
    Result<std::vector<Schedule>> schedules = build_all(algorithm, posed.problems());
    if (!schedules.is_ok()) refuse(last_detail());

    std::span<const Schedule> shown = *schedules;
    if (options.rank >= 0) shown = shown.subspan(static_cast<std::size_t>(options.rank), 1);
    if (options.format == "dot") {
        std::fputs(to_dot(shown).c_str(), stdout);
    } else if (options.format == "goal") {
        std::fputs(to_goal(shown).c_str(), stdout);
    } else if (options.format == "svg") {
        print_drawing(*spec, algorithm, options, *posed.nodes, *schedules);
    } else if (options.format == "tasks") {
        print_tasks(*spec, algorithm, options, *schedules);
    } else if (options.links) {
        print_links(*spec, algorithm, options, *schedules);
    } else {
        print_text(*spec, algorithm, options, *schedules);
    }
}

}  // namespace

void add_schedule(CLI::App& app) {
    auto options = std::make_shared<Options>();
    options->agreed.ranks = 4;
    options->agreed.bytes = 64;
    algorithm::GlobalArgs& agreed = options->agreed;
    std::vector<std::string> names;
    for (const CollectiveSpec& spec : algorithm::catalogue()) names.push_back(spec.name);

    CLI::App* command = app.add_subcommand("schedule", "Print the schedules of a collective");
    command->add_option("collective", options->collective, "Which collective")
        ->check(CLI::IsMember(names));
    command->add_option("-a,--algorithm", options->algorithm,
                        "Which algorithm; default: as the library would choose");
    CLI::Option* const ranks = command->add_option("-n,--ranks", agreed.ranks, "How many ranks")
                                   ->check(CLI::Range(1, scheduled_ranks_max))
                                   ->capture_default_str();
    command->add_option("--nodes", options->nodes, "The ranks are on this many nodes, in blocks")
        ->check(CLI::Range(1, scheduled_ranks_max))
        ->capture_default_str();
    command->add_option("--grid", options->grid,
                        "For collectives among neighbors: sizes of a grid (4x4); default: a row");
    command->add_flag("--borders", options->has_borders, "The grid is not periodic");
    command->add_option("--torus", options->torus_sizes,
                        "Sizes of a torus of all ranks (4x4) that is their network");
    command->add_option("--rank", options->rank, "Only this rank's schedule")
        ->check(CLI::NonNegativeNumber);
    command->add_option("--root", agreed.root, "The root")->check(CLI::NonNegativeNumber);
    command->add_option("--bytes", agreed.bytes, "Size of one rank's contribution (64, 4K, 1M)")
        ->transform(bytes(0))
        ->capture_default_str();
    command->add_option("--type", options->type, "Type of the elements")
        ->check(CLI::IsMember(type_names()))
        ->capture_default_str();
    command->add_option("--segment", agreed.tuning.segment_bytes, "Bytes of a pipeline's segment")
        ->transform(bytes(1))
        ->capture_default_str();
    command
        ->add_option("--window", agreed.tuning.window,
                     "A pipeline's segments in flight (default: as suits the algorithm)")
        ->check(CLI::Range(1, 65536));
    command->add_option("--ports", agreed.tuning.ports, "Messages a rank sends at a time")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    command->add_flag("--throttle", agreed.tuning.throttle, "A rank's sends follow one another");
    command->add_option("--inner", options->inner, "The algorithm by which leaders exchange");
    command->add_option("--leaders", agreed.tuning.leaders, "Leaders of each node")
        ->check(CLI::Range(1, 65536));
    command->add_flag_callback(
        "--ordered", [&agreed] { agreed.commutative = false; }, "The operation does not commute");
    command->add_flag_callback(
        "--reproducible",
        [&agreed] {
            agreed.reproducible = true;
            agreed.commutative = false;
        },
        "Reductions combine by one association (WEFT_REPRODUCIBLE)");
    command->add_flag("--in-place", options->in_place, "The contribution is in the receive buffer");
    CLI::Option* format =
        command
            ->add_option("--format", options->format,
                         "text, svg (a drawing), dot (Graphviz), goal (LogGOPSim), tasks (what is "
                         "offloaded)")
            ->check(CLI::IsMember({"text", "svg", "dot", "goal", "tasks"}))
            ->capture_default_str();
    command
        ->add_option("--protocol", options->protocol,
                     "For task lists: eager, or rendezvous (a message waits for its CTS)")
        ->check(CLI::IsMember({"eager", "rendezvous"}))
        ->capture_default_str();
    command
        ->add_flag("--check", options->check,
                   "Prove that the schedules do what the collective promises, or say what is wrong")
        ->excludes(format);
    command
        ->add_flag("--links", options->links,
                   "How many messages are on each link of the torus, step by step")
        ->excludes(format);
    command
        ->add_option("--order", options->order,
                     "With --links, how ranks lie in the torus: by rank, or along its path")
        ->check(CLI::IsMember({"rank", "path"}))
        ->capture_default_str();
    command->add_flag("--list", options->list, "List the algorithms");
    command->callback([options, ranks, command] {
        if (!options->torus_sizes.empty()) declare_torus(*options, ranks->count() > 0);
        show(*options, *command);
    });
}

}  // namespace weft
