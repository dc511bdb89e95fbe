// `weft simulate`: how long a collective, or a program in GOAL, takes in a model of the network.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "algorithm/catalogue.h"
#include "base/setting.h"
#include "lab/every_rank.h"
#include "lab/print/goal.h"
#include "model/closed_form.h"
#include "shape/topology.h"
#include "sim/goal.h"
#include "sim/lgs.h"
#include "sim/loggp.h"
#include "sim/lower_bound.h"
#include "sim/profile.h"
#include "sim/report.h"
#include "weft/commands.h"
#include "weft/experiment/experiments.h"
#include "weft/experiment/simulated_call.h"
#include "weft/library_choice.h"
#include "weft/simulate_options.h"

namespace weft::simulate {
namespace {

using algorithm::Algorithm;
using algorithm::CollectiveSpec;

// Times are given in ns, with up to three decimals.
struct Options {
    std::string collective;
    std::string algorithm;
    algorithm::GlobalArgs agreed;
    bool in_place = false;
    std::string goal;     // a file; "-": the standard input
    GoalProgram program;  // of that file
    std::string compat;   // whose rules; empty: our own
    LogGpParameters parameters;
    std::string profile;                      // a name; empty: none
    std::int64_t recv_overhead_ps = -1;       // as -o
    std::int64_t recv_byte_overhead_ps = -1;  // as -O
    MessageEnds ends;
    std::string torus_sizes;         // "4x4"; empty: none
    std::int64_t link_byte_ps = -1;  // as the interfaces
    std::int64_t hop_ps = 0;
    std::optional<TorusParameters> torus;
    std::string node_sizes;  // "4x2"; empty: a node for each rank
    std::int64_t burst_bytes = 0;
    std::string inside;  // "300:100:100:0.1"; empty: as between nodes
    Rank cores = 0;
    bool has_card_inside = false;
    std::string inner;  // of hierarchical algorithms; empty: their own choice
    std::optional<NodesParameters> nodes;
    std::optional<Topology> topology;
    Progress progress;
    std::string progress_by;  // as given
    std::string skew;         // as given
    std::string noise;        // as given
    std::string noise_trace;  // a file
    Disturbance disturbance;
    bool compares = false;  // also simulates undisturbed
    bool says_speed = false;
    std::string format = "text";
};

constexpr Rank simulated_ranks_max = 1 << 20;
constexpr Rank listed_ranks_max = 4096;  // where every rank has a list of all others' blocks
constexpr Rank torus_ranks_max = 4096;
constexpr std::int64_t simulated_bytes_max = std::int64_t{1} << 36;
constexpr std::int64_t experiment_bytes_max = std::int64_t{1} << 26;

constexpr std::int64_t ps_per_ns = 1000;
constexpr std::int64_t time_option_max_ps = 1'000'000'000 * ps_per_ns;
constexpr std::uint64_t rounds_ops_max = std::uint64_t{1} << 18;  // with more, no time by rounds
constexpr std::uint64_t goal_ops_max = std::uint64_t{1} << 24;    // of a collective, written out

[[noreturn]] void refuse(const std::string& sentence) {
    std::fprintf(stderr, "weft simulate: %s\n", sentence.c_str());
    throw CLI::RuntimeError(2);
}

// Of "2500" or "0.18"; nothing if it is something else.
std::optional<std::int64_t> ps_of(const std::string& text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string fraction = text.substr(std::min(point + 1, text.size()));
    const std::string digits = text.substr(0, point) + fraction;
    if (point == 0 || point > 10 || fraction.size() > 3) return std::nullopt;
    if (point < text.size() && fraction.empty()) return std::nullopt;
    if (digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
    fraction.resize(3, '0');
    return std::stoll(text.substr(0, point) + fraction);
}

// Replaces ns by ps: 2.5 by 2500.
CLI::Validator nanoseconds() {
    return CLI::Validator(
        [](std::string& text) -> std::string {
            const std::optional<std::int64_t> time_ps = ps_of(text);
            if (!time_ps || *time_ps > time_option_max_ps) {
                return "'" + text + "'; expected ns, such as 2500 or 0.18, at most " +
                       std::to_string(time_option_max_ps / ps_per_ns);
            }
            text = std::to_string(*time_ps);
            return "";
        },
        "NS");
}

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
        if (c == ':')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

// At most a second, as all times.
std::optional<std::int64_t> time_of(const std::vector<std::string>& parts, std::size_t i) {
    const std::optional<std::int64_t> time_ps = i < parts.size() ? ps_of(parts[i]) : std::nullopt;
    return time_ps && *time_ps <= time_option_max_ps ? time_ps : std::nullopt;
}

// What was not given is the profile's.
void follow_profile(Options& options, const CLI::App& command) {
    if (options.recv_overhead_ps >= 0) options.ends.recv_overhead_ps = options.recv_overhead_ps;
    if (options.recv_byte_overhead_ps >= 0)
        options.ends.recv_byte_overhead_ps = options.recv_byte_overhead_ps;
    if (options.profile.empty()) return;
    const NetworkProfile& profile = *find_profile(options.profile);
    const LogGpParameters& from = profile.parameters;
    LogGpParameters& to = options.parameters;
    const auto follow = [&](const char* name, std::int64_t& value, std::int64_t of_profile) {
        if (command.get_option(name)->count() == 0) value = of_profile;
    };
    follow("--latency", to.latency_ps, from.latency_ps);
    follow("--overhead", to.overhead_ps, from.overhead_ps);
    follow("--gap", to.gap_ps, from.gap_ps);
    follow("--byte-gap", to.byte_gap_ps, from.byte_gap_ps);
    follow("--byte-overhead", to.byte_overhead_ps, from.byte_overhead_ps);
    follow("--reduction", to.byte_reduction_ps, from.byte_reduction_ps);
    follow("--copy", to.byte_copy_ps, from.byte_copy_ps);
    follow("--eager-max", to.eager_bytes_max, from.eager_bytes_max);
    if (!options.torus_sizes.empty()) follow("--hop", options.hop_ps, profile.hop_ps);
    MessageEnds& ends = options.ends;
    if (!ends.recv_overhead_ps) ends.recv_overhead_ps = profile.ends.recv_overhead_ps;
    if (!ends.recv_byte_overhead_ps)
        ends.recv_byte_overhead_ps = profile.ends.recv_byte_overhead_ps;
    ends.cpu_sends = profile.ends.cpu_sends;
    if (ends.cpu_sends && options.progress_by.starts_with("offload"))
        refuse("--profile " + options.profile + " with --progress offload; its CPU sends");
}

// The torus has all ranks, or all nodes; it says how many ranks there are, if neither --ranks nor --nodes does.
void declare_torus(Options& options, bool has_ranks) {
    const std::string& text = options.torus_sizes;
    const std::optional<std::vector<Rank>> sizes = parse_sizes(text);
    Rank product = 1;
    for (const Rank size : sizes.value_or(std::vector<Rank>{})) product *= size;
    if (!sizes || sizes->size() < 2 || sizes->size() > 3 || product > torus_ranks_max) {
        refuse("torus = " + text + "; expected two or three sizes, such as 4x4, of at most " +
               std::to_string(torus_ranks_max) + " ranks");
    }
    if (has_ranks && options.node_sizes.empty() && product != options.agreed.ranks) {
        refuse("torus = " + text + " has " + std::to_string(product) + " ranks; expected " +
               std::to_string(options.agreed.ranks) + " (--ranks)");
    }
    const std::int64_t link_byte_ps =
        options.link_byte_ps < 0 ? options.parameters.byte_gap_ps : options.link_byte_ps;
    options.torus.emplace(TorusParameters{Torus(*sizes), link_byte_ps, options.hop_ps});
    if (!options.node_sizes.empty()) return;
    options.agreed.ranks = product;
    options.agreed.torus = &options.torus->torus;
}

// "300:100:100:0.1", "300:100:100:0.1:0.2"
void read_inside(const std::string& text, LogGpParameters& inside) {
    const std::vector<std::string> parts = parts_of(text);
    std::int64_t* const times[] = {&inside.latency_ps, &inside.overhead_ps, &inside.gap_ps,
                                   &inside.byte_gap_ps, &inside.byte_overhead_ps};
    bool is_read = parts.size() == 4 || parts.size() == 5;
    for (std::size_t i = 0; is_read && i < parts.size(); ++i) {
        const std::optional<std::int64_t> time_ps = time_of(parts, i);
        is_read = time_ps.has_value();
        *times[i] = time_ps.value_or(0);
    }
    if (!is_read) refuse("inside = " + text + "; expected L:o:g:G or L:o:g:G:O, in ns");
    if (parts.size() == 4) inside.byte_overhead_ps = 0;
}

// The nodes have all ranks; they say how many, if --ranks does not.
void declare_nodes(Options& options, bool has_ranks) {
    const std::string& text = options.node_sizes;
    const std::optional<std::vector<Rank>> sizes = parse_sizes(text);
    if (!sizes || sizes->size() != 2 || (*sizes)[0] * (*sizes)[1] > simulated_ranks_max) {
        refuse("nodes = " + text + "; expected nodes x ranks of each, such as 4x2, of at most " +
               std::to_string(simulated_ranks_max) + " ranks");
    }
    NodesParameters& nodes = options.nodes.emplace();
    nodes.nodes = (*sizes)[0];
    nodes.ranks_per_node = (*sizes)[1];
    if (has_ranks && nodes.ranks() != options.agreed.ranks) {
        refuse("nodes = " + text + " have " + std::to_string(nodes.ranks()) + " ranks; expected " +
               std::to_string(options.agreed.ranks) + " (--ranks)");
    }
    if (options.torus && nodes.nodes != options.torus->torus.ranks()) {
        refuse("nodes = " + text + "; expected " + std::to_string(options.torus->torus.ranks()) +
               " nodes, as torus = " + options.torus_sizes);
    }
    if (options.torus && options.burst_bytes > 0)
        refuse("--burst with --torus; expected one of them");
    nodes.link_byte_ps =
        options.link_byte_ps < 0 ? options.parameters.byte_gap_ps : options.link_byte_ps;
    nodes.burst_bytes = options.burst_bytes;
    nodes.inside = options.parameters;
    if (!options.inside.empty()) read_inside(options.inside, nodes.inside);
    nodes.cores = options.cores;
    nodes.has_card_inside = options.has_card_inside;
    options.agreed.ranks = nodes.ranks();
    options.agreed.topology = &options.topology.emplace(nodes.topology());
}

// "normal:1000", "late:1000:3"
void read_skew(const std::string& text, Rank ranks, Disturbance& disturbance) {
    using Skew = Disturbance::Skew;
    const std::vector<std::string> parts = parts_of(text);
    const std::optional<std::int64_t> time_ps = time_of(parts, 1);
    disturbance.skew = parts[0] == "normal"        ? Skew::normal
                       : parts[0] == "exponential" ? Skew::exponential
                       : parts[0] == "late"        ? Skew::late
                                                   : Skew::none;
    const bool is_late = disturbance.skew == Skew::late;
    const std::optional<std::int64_t> rank =
        is_late && parts.size() == 3 ? parse_whole_number(parts[2]) : 0;
    if (disturbance.skew == Skew::none || !time_ps || parts.size() != (is_late ? 3u : 2u) ||
        !rank || *rank < 0 || *rank >= ranks) {
        refuse("skew = " + text + "; expected normal:NS, exponential:NS or late:NS:RANK");
    }
    disturbance.skew_ps = *time_ps;
    disturbance.late_rank = static_cast<Rank>(*rank);
}

// "host:1000:50", "thread:2000", "thread:2000:shared", "offload:100", "offload:100:50:1000:20"
void read_progress(const std::string& text, Progress& progress) {
    const std::vector<std::string> parts = parts_of(text);
    const bool is_host = parts[0] == "host";
    const bool is_card = parts[0] == "offload";
    const bool is_thread = parts[0] == "thread";
    std::vector<std::int64_t*> times;
    if (is_host) times = {&progress.poll_ps, &progress.look_ps};
    if (is_thread) times = {&progress.wake_ps};
    if (is_card)
        times = {&progress.trigger_ps, &progress.list_ps, &progress.poll_ps, &progress.look_ps};
    progress.shares_core = is_thread && parts.size() == 3 && parts[2] == "shared";
    const std::size_t given = parts.size() - 1 - (progress.shares_core ? 1 : 0);
    bool is_read = given >= 1 && given <= times.size();
    for (std::size_t i = 0; is_read && i < given; ++i) {
        const std::optional<std::int64_t> time_ps = time_of(parts, i + 1);
        is_read = time_ps.has_value();
        *times[i] = time_ps.value_or(0);
    }
    if (!is_read) {
        refuse("progress = " + text +
               "; expected host:POLL, host:POLL:LOOK, thread:WAKE, thread:WAKE:shared, or "
               "offload:TRIGGER, with :LIST, :POLL and :LOOK after it, in ns");
    }
    progress.by = is_host   ? Progress::By::host
                  : is_card ? Progress::By::offload
                            : Progress::By::thread;
}

// "1000000:5000:200"
void read_noise(const std::string& text, Disturbance& disturbance) {
    const std::vector<std::string> parts = parts_of(text);
    const std::optional<std::int64_t> period_ps = time_of(parts, 0);
    const std::optional<std::int64_t> noise_ps = time_of(parts, 1);
    const std::optional<std::int64_t> jitter_ps = parts.size() > 2 ? time_of(parts, 2) : 0;
    if (parts.size() > 3 || !period_ps || !noise_ps || !jitter_ps ||
        *noise_ps + *jitter_ps >= *period_ps) {
        refuse("noise = " + text +
               "; expected PERIOD:NOISE or PERIOD:NOISE:JITTER, in ns, with a " +
               "period longer than the others together");
    }
    disturbance.period_ps = *period_ps;
    disturbance.noise_ps = *noise_ps;
    disturbance.jitter_ps = *jitter_ps;
}

std::string text_of(const std::string& path) {
    std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
    if (file == nullptr) refuse("cannot read " + path + ": " + std::strerror(errno));
    std::string text;
    char piece[65536];
    for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, file)) > 0;) text.append(piece, n);
    const bool is_read = std::ferror(file) == 0;
    const int error = errno;
    if (file != stdin) std::fclose(file);
    if (!is_read) refuse("cannot read " + path + ": " + std::strerror(error));
    return text;
}

// The program has all ranks.
void read_program(Options& options, bool has_ranks) {
    if (!options.collective.empty()) refuse("--goal with a collective; expected one of them");
    Result<GoalProgram> program = read_goal(text_of(options.goal));
    if (!program.is_ok()) refuse(options.goal + ", " + last_detail());
    options.program = std::move(*program);
    const auto ranks = static_cast<Rank>(options.program.size());
    if (has_ranks && ranks != options.agreed.ranks) {
        refuse(options.goal + " has " + std::to_string(ranks) + " ranks; expected " +
               std::to_string(options.agreed.ranks) + " (--ranks)");
    }
    options.agreed.ranks = ranks;
}

void read_noise_trace(const std::string& path, Disturbance& disturbance) {
    Result<NoiseTrace> trace = NoiseTrace::read(text_of(path));
    if (!trace.is_ok()) refuse(path + ": " + last_detail());
    disturbance.trace = std::make_shared<NoiseTrace>(std::move(*trace));
}

// Replaces a size such as 4K by its number of bytes.
CLI::Validator size(std::int64_t least) {
    return CLI::Validator(
        [least](std::string& text) -> std::string {
            const std::optional<std::int64_t> bytes = parse_bytes(text);
            if (!bytes || *bytes < least || *bytes > simulated_bytes_max) {
                return "'" + text + "'; expected bytes, such as 64, 4K or 1M, at least " +
                       std::to_string(least) + " and at most 64G";
            }
            text = std::to_string(*bytes);
            return "";
        },
        "SIZE");
}

void print(const Report& report, const std::string& format) {
    std::string text;
    if (format == "text") text = to_text(report);
    if (format == "csv") text = to_csv(report);
    if (format == "json") text = to_json(report);
    std::fputs(text.c_str(), stdout);
}

// Of the times of LogGOPSim, which are whole ns.
std::uint64_t whole_ns(std::int64_t time_ps) {
    if (time_ps % ps_per_ns != 0) refuse("--compat lgs with a part of a ns; it counts whole ns");
    return static_cast<std::uint64_t>(time_ps / ps_per_ns);
}

void simulate_program(const GoalProgram& program, const Options& options, Report report) {
    const LogGpParameters& given = options.parameters;
    if (!options.progress.is_plain()) refuse("--compute and --progress with --compat lgs");
    if (options.torus) refuse("--torus with --compat lgs; it has no torus");
    if (options.nodes) refuse("--nodes with --compat lgs; each of its ranks has a node");
    if (options.disturbance.exists())
        refuse("--skew and --noise with --compat lgs; it has neither");
    if (options.format == "trace") refuse("--format trace with --compat lgs; it has no trace");
    if (!options.profile.empty() || options.ends.recv_overhead_ps ||
        options.ends.recv_byte_overhead_ps) {
        refuse(
            "--profile, --recv-overhead and --recv-byte-overhead with --compat lgs; its ends are "
            "alike");
    }
    if (given.byte_reduction_ps > 0 || given.byte_copy_ps > 0)
        refuse("--reduction and --copy with --compat lgs; its operations are in the program");
    LgsParameters p;
    p.L = whole_ns(given.latency_ps);
    p.o = whole_ns(given.overhead_ps);
    p.g = whole_ns(given.gap_ps);
    p.G = whole_ns(given.byte_gap_ps);
    p.O = whole_ns(given.byte_overhead_ps);
    p.S = static_cast<std::uint64_t>(given.eager_bytes_max);
    Result<LgsOutcome> outcome = simulate_lgs(program, p);
    if (!outcome.is_ok()) refuse(report.title + ": " + last_detail());
    report.parameters = {{"L", p.L}, {"o", p.o}, {"g", p.g}, {"G", p.G}, {"O", p.O}};
    report.eager_bytes_max = p.S;
    report.events = outcome->events;
    report.end = std::move(outcome->end);
    print(report, options.format);
}

// Calls `use` with every rank's schedule, in order.
template <class Use>
void for_schedules(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options,
                   Use use) {
    algorithm::GlobalArgs agreed = options.agreed;
    const auto build_and_use = [&](const algorithm::Problem& problem) {
        const Result<Schedule> schedule = build_rank(algorithm, problem);
        if (!schedule.is_ok()) refuse(last_detail());
        use(*schedule);
    };
    if (spec.sizes == algorithm::Sizes::uniform) {
        for (Rank r = 0; r < agreed.ranks; ++r)
            build_and_use(spec.problem(agreed, r, options.in_place));
        return;
    }
    if (agreed.ranks > listed_ranks_max) {
        refuse(std::to_string(agreed.ranks) + " ranks with " + spec.name + "; expected at most " +
               std::to_string(listed_ranks_max));
    }
    // Blocks that may differ all have --bytes here, one behind the other.
    const std::int64_t bytes = agreed.bytes;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
    for (Rank r = 0; spec.sizes == algorithm::Sizes::known_to_all && r < agreed.ranks; ++r) {
        sizes.push_back(bytes);
        offsets.push_back(r * bytes);
    }
    agreed.sizes = sizes;
    if (!spec.agrees_on_sizes()) agreed.bytes = -1;
    const EveryRank every_rank(spec, agreed, options.in_place, offsets,
                               [=](Rank, Rank, std::size_t) { return bytes; });
    for (const algorithm::Problem& problem : every_rank.problems()) build_and_use(problem);
}

// How many there are in GOAL, which has no repeats.
std::uint64_t written_out_ops(const Schedule& schedule) {
    std::uint64_t ops = schedule.ops().size();
    for (const Repeat& repeat : schedule.repeats())
        ops += static_cast<std::uint64_t>(repeat.iterations) * (std::uint64_t{repeat.ops} + 2);
    return ops;
}

Report report_of(const LogGpOutcome& outcome, const LogGpParameters& p, const Options& options,
                 std::string title) {
    const auto unsigned_of = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    Report report;
    report.title = std::move(title);
    report.units_per_ns = ps_per_ns;
    report.parameters = {{"L", unsigned_of(p.latency_ps)},
                         {"o", unsigned_of(p.overhead_ps)},
                         {"g", unsigned_of(p.gap_ps)},
                         {"G", unsigned_of(p.byte_gap_ps)},
                         {"O", unsigned_of(p.byte_overhead_ps)}};
    const auto add = [&](const char* name, std::int64_t time_ps) {
        report.parameters.emplace_back(name, unsigned_of(time_ps));
    };
    if (options.goal.empty()) {
        add("reduction", p.byte_reduction_ps);
        add("copy", p.byte_copy_ps);
    }
    if (options.ends.recv_overhead_ps) add("o of receives", *options.ends.recv_overhead_ps);
    if (options.ends.recv_byte_overhead_ps)
        add("O of receives", *options.ends.recv_byte_overhead_ps);
    if (options.torus) {
        add("link", options.torus->link_byte_ps);
        add("hop", options.torus->hop_ps);
    }
    if (options.nodes) {
        const LogGpParameters& inside = options.nodes->inside;
        if (!options.torus) add("link", options.nodes->link_byte_ps);
        add("inside L", inside.latency_ps);
        add("inside o", inside.overhead_ps);
        add("inside g", inside.gap_ps);
        add("inside G", inside.byte_gap_ps);
        add("inside O", inside.byte_overhead_ps);
    }
    if (options.progress.compute_ps > 0) add("compute", options.progress.compute_ps);
    report.eager_bytes_max = unsigned_of(p.eager_bytes_max);
    report.events = outcome.events;
    report.end.assign(outcome.end_ps.begin(), outcome.end_ps.end());
    report.cpu.assign(outcome.cpu_ps.begin(), outcome.cpu_ps.end());
    report.disturbed.assign(outcome.disturbed_ps.begin(), outcome.disturbed_ps.end());
    return report;
}

// `alone`: without the computation.
void add_overlap(const LogGpOutcome& outcome, const LogGpOutcome& alone, const Options& options,
                 Report& report) {
    const std::int64_t compute_ps = options.progress.compute_ps;
    const std::vector<std::int64_t> starts_ps =
        options.disturbance.starts_ps(static_cast<Rank>(outcome.end_ps.size()));
    for (std::size_t r = 0; r < starts_ps.size(); ++r) {
        report.overlaps.push_back(share_hidden(alone.end_ps[r] - starts_ps[r], compute_ps,
                                               outcome.end_ps[r] - starts_ps[r]));
    }
    report.overlap =
        share_hidden(std::ranges::max(alone.end_ps), compute_ps, std::ranges::max(outcome.end_ps));
    report.wait.assign(outcome.waiting_ps.begin(), outcome.waiting_ps.end());
}

// What is known without a simulation. The closed form knows no torus, no nodes, no ends that differ, no other work and
// no disturbance.
void add_model(const CollectiveSpec& spec, const Algorithm& algorithm, const Options& options,
               Report& report) {
    algorithm::GlobalArgs agreed = options.agreed;
    agreed.collective = spec.collective;
    const auto unsigned_of = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    const Surroundings surroundings{options.parameters, options.ends, options.progress,
                                    options.torus ? &*options.torus : nullptr,
                                    options.nodes ? &*options.nodes : nullptr};
    if (const auto bound = lower_bound(agreed, surroundings))
        report.lower_bound = unsigned_of(*bound);
    const MessageEnds& ends = options.ends;
    if (ends.recv_overhead_ps || ends.recv_byte_overhead_ps || ends.cpu_sends || options.torus ||
        options.nodes || !options.progress.is_plain() || options.disturbance.exists())
        return;
    if (const auto time = model::closed_form(algorithm, agreed, options.parameters))
        report.closed_form = {unsigned_of(time->time_ps), unsigned_of(time->cpu_ps)};
}

// By rounds, on a torus of one rank a node, if that is all there is.
void add_rounds(const std::vector<Schedule>& schedules, const Options& options, Report& report) {
    const Result<std::int64_t> time_ps =
        time_by_rounds_ps(schedules, options.torus->torus,
                          round_costs(options.parameters, options.ends, *options.torus));
    if (time_ps.is_ok()) report.by_rounds = static_cast<std::uint64_t>(*time_ps);
}

// By which leaders exchange.
const Algorithm& inner_algorithm(const CollectiveSpec& spec, const Algorithm& algorithm,
                                 const std::string& name) {
    if (!algorithm.follows_inner())
        refuse("--inner with " + std::string(algorithm.name) + "; it has no inner algorithm");
    const std::vector<const Algorithm*> flat = spec.flat_algorithms();
    const auto known =
        std::ranges::find_if(flat, [&](const Algorithm* one) { return one->name == name; });
    if (known == flat.end())
        refuse("inner = " + name + "; expected one of: " + algorithm::names_of(flat));
    return **known;
}

// "torus 4x4"
std::string network_of(const Options& options) {
    std::string text = options.profile.empty() ? "" : ", " + options.profile;
    if (options.torus) text += ", torus " + options.torus_sizes;
    if (options.nodes) text += ", nodes " + options.node_sizes;
    if (options.burst_bytes > 0)
        text += ", bursts of " + std::to_string(options.burst_bytes) + " bytes";
    if (options.cores > 0) text += ", " + std::to_string(options.cores) + " cores";
    return text;
}

// `for_all` calls its argument with every rank's schedule, in order. `complete` adds to the report what is known besides.
template <class ForAll, class Complete>
void simulate_schedules(const Options& options, const std::string& title, ForAll for_all,
                        Complete complete) {
    std::vector<BusySpan> spans;
    const auto run = [&](const Disturbance& disturbance, const Progress& progress,
                         std::vector<BusySpan>* to) {
        LogGpMachine machine(options.parameters, disturbance,
                             options.torus ? &*options.torus : nullptr);
        if (options.nodes) machine.set_nodes(*options.nodes);
        machine.set_ends(options.ends);
        machine.set_progress(progress);
        for_all([&](const Schedule& schedule) { machine.add(schedule); });
        const std::clock_t begin = std::clock();
        Result<LogGpOutcome> outcome = machine.run(to);
        if (!outcome.is_ok()) refuse(last_detail());
        const double seconds =
            static_cast<double>(std::max<std::clock_t>(std::clock() - begin, 1)) / CLOCKS_PER_SEC;
        if (options.says_speed) {
            rusage usage = {};
            getrusage(RUSAGE_SELF, &usage);
            std::fprintf(stderr,
                         "%.2f million events a second, %.1f bytes a rank, peak memory of the "
                         "command %.1f MiB\n",
                         static_cast<double>(outcome->events) / seconds / 1e6,
                         static_cast<double>(machine.rank_memory_bytes()) /
                             static_cast<double>(outcome->end_ps.size()),
                         static_cast<double>(usage.ru_maxrss) / 1024);
        }
        return std::move(*outcome);
    };
    const bool traces = options.format == "trace";
    const LogGpOutcome outcome =
        run(options.disturbance, options.progress, traces ? &spans : nullptr);
    if (traces) {
        std::fputs(to_trace(spans).c_str(), stdout);
        return;
    }
    Report report = report_of(outcome, options.parameters, options, title);
    complete(report);
    if (options.progress.compute_ps > 0) {
        Progress without = options.progress;
        without.compute_ps = 0;
        const LogGpOutcome alone = run(options.disturbance, without, nullptr);
        add_overlap(outcome, alone, options, report);
    }
    if (options.compares) {
        report.undisturbed_end =
            static_cast<std::uint64_t>(std::ranges::max(run({}, options.progress, nullptr).end_ps));
    }
    print(report, options.format);
}

// The one that is named; or the library's choice, with its parameters.
const Algorithm& find_algorithm(const CollectiveSpec& spec, Options& options,
                                const CLI::App& command) {
    if (!options.algorithm.empty()) {
        const Algorithm* const known = spec.find(options.algorithm);
        if (!known) {
            refuse("algorithm = " + options.algorithm + "; expected one of: " + spec.known_names());
        }
        return *known;
    }
    algorithm::GlobalArgs agreed = options.agreed;
    agreed.collective = spec.collective;
    if (!spec.agrees_on_sizes()) agreed.bytes = -1;
    std::vector<Rank> nodes(static_cast<std::size_t>(agreed.ranks));
    std::iota(nodes.begin(), nodes.end(), 0);
    const Topology of_its_own(nodes);
    if (!agreed.topology) agreed.topology = &of_its_own;
    const Algorithm* const chosen = library_choice(command, agreed, options.agreed.tuning);
    if (!chosen) refuse(last_detail());
    return *chosen;
}

void simulate_collective(Options& options, const CLI::App& command) {
    const CollectiveSpec& spec = *algorithm::find_spec(options.collective);
    if (spec.is_among_neighbors())
        refuse(options.collective + " is among neighbors; expected a collective of all ranks");
    algorithm::GlobalArgs& agreed = options.agreed;
    if (agreed.root >= agreed.ranks) {
        refuse("root = " + std::to_string(agreed.root) + "; expected 0.." +
               std::to_string(agreed.ranks - 1));
    }
    const Algorithm* const known = &find_algorithm(spec, options, command);
    const std::string name = known->name;
    if (agreed.tuning.ports > 1 && known->tunes != algorithm::Tunes::ports)
        refuse("--ports with " + name + "; it has no ports");
    if (agreed.tuning.throttle && known->tunes != algorithm::Tunes::throttle)
        refuse("--throttle with " + name + "; it has no throttle");
    if (agreed.tuning.leaders > 0 && !known->follows_leaders())
        refuse("--leaders with " + name + "; it has no choice of leaders");
    if (known->follows_topology && agreed.topology && agreed.ranks > listed_ranks_max) {
        refuse(std::to_string(agreed.ranks) + " ranks with " + name + "; expected at most " +
               std::to_string(listed_ranks_max));
    }
    if (!options.inner.empty()) agreed.tuning.inner = &inner_algorithm(spec, *known, options.inner);
    const std::string lacks = known->unmet_need(agreed);
    if (!lacks.empty()) refuse(name + " needs " + lacks);
    const std::string title = options.collective + " " + name + ", " +
                              std::to_string(agreed.ranks) + " ranks, " +
                              std::to_string(agreed.bytes) + " bytes" + network_of(options) +
                              (options.progress_by.empty() ? "" : ", " + options.progress_by);
    if (!options.compat.empty()) {
        if (agreed.ranks > listed_ranks_max) {
            refuse(std::to_string(agreed.ranks) + " ranks with --compat; expected at most " +
                   std::to_string(listed_ranks_max));
        }
        std::vector<Schedule> schedules;
        std::uint64_t ops = 0;
        for_schedules(spec, *known, options, [&](const Schedule& schedule) {
            ops += written_out_ops(schedule);
            if (ops > goal_ops_max) {
                refuse("--compat with more than " + std::to_string(goal_ops_max) +
                       " operations of all ranks; expected fewer ranks, or larger segments");
            }
            schedules.push_back(schedule);
        });
        const Result<GoalProgram> program = read_goal(to_goal(schedules));
        if (!program.is_ok()) refuse(last_detail());
        Report report;
        report.title = title;
        return simulate_program(*program, options, std::move(report));
    }
    const bool has_rounds = options.torus && !options.nodes && options.progress.is_plain() &&
                            !options.disturbance.exists();
    std::vector<Schedule> kept;  // for the time by rounds
    std::uint64_t ops = 0;
    const auto for_all = [&](const auto& use) {
        for_schedules(spec, *known, options, [&](const Schedule& schedule) {
            use(schedule);
            if (!has_rounds || std::ssize(kept) == agreed.ranks) return;
            ops += written_out_ops(schedule);
            if (ops <= rounds_ops_max) kept.push_back(schedule);
        });
    };
    simulate_schedules(options, title, for_all, [&](Report& report) {
        add_model(spec, *known, options, report);
        if (std::ssize(kept) == agreed.ranks) add_rounds(kept, options, report);
    });
}

void simulate_goal(Options& options) {
    const std::string title = options.goal == "-" ? "a program" : options.goal;
    if (!options.compat.empty()) {
        Report report;
        report.title = title;
        return simulate_program(options.program, options, std::move(report));
    }
    options.parameters.byte_reduction_ps = 0;
    options.parameters.byte_copy_ps = ps_per_ns;  // calculations are copies
    Result<std::vector<Schedule>> schedules = schedules_of(options.program);
    if (!schedules.is_ok()) refuse(options.goal + ", " + last_detail());
    const auto for_all = [&](const auto& use) { std::ranges::for_each(*schedules, use); };
    simulate_schedules(options, title + network_of(options), for_all, [](Report&) {});
}

void add_experiments(CLI::App& command) {
    struct Asked {
        std::string name;
        Rank ranks_max = 0;
        std::vector<std::string> sizes;
        std::string format = "text";
    };
    auto asked = std::make_shared<Asked>();
    std::vector<std::string> names;
    std::string meanings = "Many simulations at once:";
    for (const Experiment& experiment : experiments) {
        names.emplace_back(experiment.name);
        meanings += std::string("\n  ") + experiment.name + ": " + experiment.meaning;
    }
    CLI::App* const app = command.add_subcommand("experiment", meanings);
    app->add_option("name", asked->name, "Which")->required()->check(CLI::IsMember(names));
    app->add_option("-n,--ranks", asked->ranks_max, "At most so many ranks; default: its own")
        ->check(CLI::Range(2, simulated_ranks_max));
    app->add_option("--bytes", asked->sizes, "Only these sizes (64,4K); default: its own")
        ->delimiter(',');
    app->add_option("--format", asked->format, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    app->callback([asked] {
        ExperimentSize size;
        if (asked->ranks_max > 0) size.ranks_max = asked->ranks_max;
        for (const std::string& text : asked->sizes) {
            const std::optional<std::int64_t> bytes = parse_bytes(text);
            if (!bytes || *bytes > experiment_bytes_max)
                refuse("bytes = " + text + "; expected sizes, such as 64,4K, of at most 64M");
            size.bytes.push_back(*bytes);
        }
        const auto* const experiment = std::ranges::find_if(
            experiments, [&](const Experiment& one) { return one.name == asked->name; });
        const ExperimentResult result = experiment->run(size);
        const std::string text = asked->format == "json" ? to_json(result) : to_text(result);
        std::fputs(text.c_str(), stdout);
    });
}

}  // namespace

void add_parameter_options(CLI::App& command, LogGpParameters& p) {
    const auto add = [&](const char* names, std::int64_t& time_ps, const char* meaning) {
        std::string shown = std::to_string(time_ps / ps_per_ns);
        command.add_option(names, time_ps, meaning)
            ->transform(nanoseconds())
            ->default_str(std::move(shown));
    };
    add("-L,--latency", p.latency_ps, "Latency, in ns");
    add("-o,--overhead", p.overhead_ps, "CPU time of a message at each end, in ns");
    add("-g,--gap", p.gap_ps, "Network interface's time of a message, in ns");
    add("-G,--byte-gap", p.byte_gap_ps, "Network interface's time of a byte, in ns");
    add("-O,--byte-overhead", p.byte_overhead_ps, "CPU time of a message's byte, in ns");
    add("--reduction", p.byte_reduction_ps, "CPU time to combine a byte, in ns");
    add("--copy", p.byte_copy_ps, "CPU time to copy a byte, in ns");
    command
        .add_option("-S,--eager-max", p.eager_bytes_max, "Larger messages wait for their receive")
        ->transform(size(0))
        ->capture_default_str();
}

}  // namespace weft::simulate

namespace weft {

void add_simulate(CLI::App& app) {
    auto options = std::make_shared<simulate::Options>();
    algorithm::GlobalArgs& agreed = options->agreed;
    agreed.ranks = 4;
    agreed.bytes = 64;
    std::vector<std::string> names;
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) names.push_back(spec.name);

    CLI::App* command =
        app.add_subcommand("simulate", "How long a collective of many ranks takes in a model");
    command->add_option("collective", options->collective, "Which collective")
        ->check(CLI::IsMember(names));
    command->add_option("-a,--algorithm", options->algorithm,
                        "Which algorithm; default: as the library would choose");
    CLI::Option* const ranks = command->add_option("-n,--ranks", agreed.ranks, "How many ranks")
                                   ->check(CLI::Range(1, simulate::simulated_ranks_max))
                                   ->capture_default_str();
    command->add_option("--root", agreed.root, "The root")->check(CLI::NonNegativeNumber);
    command->add_option("--bytes", agreed.bytes, "Size of one rank's contribution (64, 4K, 1M)")
        ->transform(simulate::size(0))
        ->capture_default_str();
    command->add_option("--segment", agreed.tuning.segment_bytes, "Bytes of a pipeline's segment")
        ->transform(simulate::size(1))
        ->capture_default_str();
    command
        ->add_option("--window", agreed.tuning.window,
                     "A pipeline's segments in flight (default: as suits the algorithm)")
        ->check(CLI::Range(1, 65536));
    command->add_option("--ports", agreed.tuning.ports, "Messages a rank sends at a time")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    command->add_flag("--throttle", agreed.tuning.throttle, "A rank's sends follow one another");
    command->add_flag("--in-place", options->in_place, "The contribution is in the receive buffer");
    command->add_option("--goal", options->goal,
                        "A program in GOAL instead: a file, or - to read it");
    command->add_option("--compat", options->compat, "By the rules of: lgs (LogGOPSim)")
        ->check(CLI::IsMember({"lgs"}));
    simulate::add_parameter_options(*command, options->parameters);
    std::vector<std::string> profile_names;
    for (const simulate::NetworkProfile& profile : simulate::profiles())
        profile_names.emplace_back(profile.name);
    command
        ->add_option("--profile", options->profile,
                     "The parameters of a known network; those given replace them")
        ->check(CLI::IsMember(profile_names));
    command
        ->add_option("--recv-overhead", options->recv_overhead_ps,
                     "The receiver's CPU time of a message; default: -o")
        ->transform(simulate::nanoseconds());
    command
        ->add_option("--recv-byte-overhead", options->recv_byte_overhead_ps,
                     "The receiver's CPU time of a byte; default: -O")
        ->transform(simulate::nanoseconds());
    command->add_option("--torus", options->torus_sizes,
                        "Sizes of a torus of all ranks (4x4) whose links go one way");
    command->add_option("--nodes", options->node_sizes,
                        "Nodes with several ranks that share a link: 4x2, four of two ranks");
    command->add_option("--link-gap", options->link_byte_ps, "A link's time of a byte; default: -G")
        ->transform(simulate::nanoseconds());
    command->add_option("--hop", options->hop_ps, "Latency of each link on the way, in ns")
        ->transform(simulate::nanoseconds())
        ->default_str("0");
    command
        ->add_option("--burst", options->burst_bytes,
                     "What a node's link lets through unshaped after a pause")
        ->transform(simulate::size(0))
        ->default_str("0");
    command->add_option("--inside", options->inside,
                        "Parameters of messages within a node: L:o:g:G[:O], in ns");
    command->add_option("--cores", options->cores, "Ranks of all nodes share so many cores")
        ->check(CLI::Range(1, simulate::simulated_ranks_max));
    command->add_flag("--card-inside", options->has_card_inside,
                      "A card handles messages within a node, too");
    command->add_option("--inner", options->inner,
                        "How leaders of nodes exchange, in algorithms that let choose");
    command
        ->add_option("--leaders", options->agreed.tuning.leaders,
                     "Leaders of each node, in algorithms with several")
        ->check(CLI::Range(1, 65536));
    command
        ->add_option("--compute", options->progress.compute_ps,
                     "What each rank computes beside the collective, in ns")
        ->transform(simulate::nanoseconds())
        ->default_str("0");
    command->add_option("--progress", options->progress_by,
                        "Who advances it meanwhile: host:POLL[:LOOK], thread:WAKE[:shared], "
                        "offload:TRIGGER[:LIST[:POLL[:LOOK]]]");
    command->add_option("--skew", options->skew,
                        "Late starts: normal:NS, exponential:NS or late:NS:RANK");
    command->add_option("--noise", options->noise,
                        "The CPU is taken away: PERIOD:NOISE[:JITTER], in ns");
    command->add_option("--noise-trace", options->noise_trace,
                        "The same as in a file with a line TIME DURATION for each, in ns");
    command->add_flag("--noise-together", options->disturbance.has_noise_together,
                      "All ranks' CPUs are taken away at the same times");
    command->add_option("--seed", options->disturbance.seed, "Of late starts and noise")
        ->capture_default_str();
    command->add_flag("--absorbed", options->compares,
                      "Simulate undisturbed as well, and say how much did no harm");
    command->add_flag("--speed", options->says_speed,
                      "Say on the standard error how many events a second were simulated");
    command
        ->add_option("--format", options->format,
                     "text, csv, json, or trace (for Perfetto, Chrome)")
        ->check(CLI::IsMember({"text", "csv", "json", "trace"}))
        ->capture_default_str();
    simulate::add_experiments(*command);
    command->callback([options, ranks, command] {
        if (!command->get_subcommands().empty()) return;  // an experiment
        if (!options->goal.empty()) simulate::read_program(*options, ranks->count() > 0);
        const bool has_ranks = ranks->count() > 0 || !options->goal.empty();
        if (!options->goal.empty() && command->count("--reduction") + command->count("--copy") > 0)
            simulate::refuse(
                "--reduction and --copy with --goal; its operations are in the program");
        simulate::follow_profile(*options, *command);
        if (!options->torus_sizes.empty()) simulate::declare_torus(*options, has_ranks);
        if (!options->node_sizes.empty()) simulate::declare_nodes(*options, has_ranks);
        if (!options->torus && options->hop_ps > 0) simulate::refuse("--hop without --torus");
        if (!options->torus && !options->nodes && options->link_byte_ps >= 0)
            simulate::refuse("--link-gap without --torus and --nodes");
        if (!options->nodes &&
            (options->burst_bytes > 0 || !options->inside.empty() || options->cores > 0))
            simulate::refuse("--burst, --inside and --cores without --nodes");
        if (options->has_card_inside &&
            (!options->nodes || !options->progress_by.starts_with("offload")))
            simulate::refuse("--card-inside without --nodes and --progress offload");
        if (!options->skew.empty())
            simulate::read_skew(options->skew, options->agreed.ranks, options->disturbance);
        if (!options->progress_by.empty())
            simulate::read_progress(options->progress_by, options->progress);
        const bool has_noise = !options->noise.empty() || !options->noise_trace.empty();
        if (!options->noise.empty() && !options->noise_trace.empty())
            simulate::refuse("--noise with --noise-trace; expected one of them");
        if (options->disturbance.has_noise_together && !has_noise)
            simulate::refuse("--noise-together without --noise and --noise-trace");
        if (!options->noise_trace.empty())
            simulate::read_noise_trace(options->noise_trace, options->disturbance);
        const simulate::Progress& progress = options->progress;
        if (options->cores > 0 && options->torus)
            simulate::refuse("--cores with --torus; expected one of them");
        if (options->cores > 0 && !progress.is_plain() && (!progress.shares_core || has_noise)) {
            simulate::refuse(
                "--cores with --compute or --progress; expected --progress thread:WAKE:shared, "
                "without noise");
        }
        if (!options->noise.empty()) simulate::read_noise(options->noise, options->disturbance);
        if (!options->goal.empty()) return simulate::simulate_goal(*options);
        if (options->collective.empty()) simulate::refuse("expected a collective, or --goal");
        simulate::simulate_collective(*options, *command);
    });
}

}  // namespace weft
