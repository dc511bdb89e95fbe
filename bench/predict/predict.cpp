#include "bench/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "base/cores.h"
#include "bench/circumstances.h"
#include "bench/join.h"
#include "bench/json_file.h"
#include "bench/launch.h"
#include "bench/predict/emulated.h"
#include "bench/predict/idle_share.h"
#include "bench/progress.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"
#include "bench/tune/measure.h"
#include "model/measured.h"
#include "select/table.h"
#include "simulate/loggp.h"

namespace weft::bench {
namespace {

struct Plan {
    std::vector<Subject> subjects;
    std::vector<std::int64_t> sizes;
    model::MeasuredParameters parameters;
    std::optional<model::MeasuredParameters> inside;
    std::optional<model::MeasuredParameters> shared;
};

// What a job's simulation needs besides the schedules.
struct Network {
    const model::MeasuredParameters& parameters;
    const model::MeasuredParameters* inside;
    std::optional<simulate::NodesParameters> nodes;
};

// Larger messages leave, over TCP, while the CPU still copies the rest.
constexpr std::int64_t packet_bytes_max = 65536;

// Cells of which two halves of the repetitions differ by more are marked.
constexpr double repeats_within = 0.2;

Result<model::MeasuredParameters> read_model(const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) return failure(WEFT_REFUSED_SETTING, "cannot read the model %s", path.c_str());
    Result<model::MeasuredParameters> parameters = model::read_measured(text);
    if (!parameters.is_ok()) append_detail(" (%s)", path.c_str());
    return parameters;
}

Result<Plan> make_plan(const PredictOptions& options) {
    Plan plan;
    Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    plan.sizes = *sizes;
    Result<model::MeasuredParameters> parameters = read_model(options.model);
    if (!parameters.is_ok()) return parameters.status();
    plan.parameters = *parameters;
    for (const auto& [path, into] :
         {std::pair{&options.inside, &plan.inside}, {&options.shared, &plan.shared}}) {
        if (path->empty()) continue;
        Result<model::MeasuredParameters> others = read_model(*path);
        if (!others.is_ok()) return others.status();
        *into = *others;
    }
    WEFT_RETURN_IF_NOT_OK(check_emulated(options.testbed));
    Result<std::vector<Subject>> subjects = find_subjects(options.collectives);
    if (!subjects.is_ok()) return subjects.status();
    for (const Subject& subject : *subjects) {
        if (subject.family->sizes == algorithm::Sizes::alike)
            plan.subjects.push_back(subject);
        else if (!options.collectives.empty())
            return failure(WEFT_REFUSED_ARGUMENT,
                           "collective = %s; expected one whose blocks have one size",
                           subject.collective->name);
    }
    return plan;
}

// By the simulator, with the parameters of messages as large as the largest. Nothing: the call does not meet the
// algorithm's needs.
std::optional<double> predicted_us(const algorithm::Family& family, const std::string& setting,
                                   algorithm::Agreed agreed, const Network& network) {
    const Result<Choice> choice = parse_choice(family, setting, family.name);
    if (!choice.is_ok()) return std::nullopt;
    agreed.tuning = (*choice).tuning;
    const algorithm::Algorithm& algorithm = *(*choice).algorithm;
    if (!algorithm.unmet_need(agreed).empty()) return std::nullopt;
    std::vector<Schedule> schedules;
    std::int64_t longest = 0;
    for (Rank r = 0; r < agreed.ranks; ++r) {
        Result<Schedule> schedule =
            build_rank(algorithm, family.problem(agreed, r, /*in_place=*/false));
        if (!schedule.is_ok()) return std::nullopt;
        for (const Op& op : (*schedule).ops()) {
            if (op.kind == OpKind::send) longest = std::max(longest, op.bytes);
        }
        schedules.push_back(std::move(*schedule));
    }
    const auto& messages = network.parameters.messages_of(longest);
    model::LogGpParameters parameters = messages.parameters;
    parameters.overhead_ps = messages.send_overhead_ps;
    parameters.byte_overhead_ps = messages.byte_send_overhead_ps;
    simulate::MessageEnds ends;
    ends.recv_overhead_ps = messages.recv_overhead_ps;
    ends.recv_byte_overhead_ps = messages.byte_recv_overhead_ps;
    ends.cpu_sends = ends.cpu_receives_along = network.nodes && longest > packet_bytes_max;
    simulate::LogGpMachine machine(parameters);
    machine.set_ends(ends);
    if (network.nodes) {
        simulate::NodesParameters nodes = *network.nodes;
        nodes.inside = (network.inside ? *network.inside : network.parameters).of(longest);
        machine.set_nodes(nodes);
    }
    for (const Schedule& schedule : schedules) machine.add(schedule);
    const Result<simulate::LogGpOutcome> outcome = machine.run();
    if (!outcome.is_ok()) return std::nullopt;
    return static_cast<double>(std::ranges::max((*outcome).end_ps)) / 1e6;
}

// Marks of the nodes, by rank.
std::vector<int> nodes_of(const Job& job) {
    weft_comm node = WEFT_COMM_NULL;
    must(weft_comm_split_node(job.comm, 0, &node), "weft_comm_split_node");
    std::int32_t first = job.rank;
    must(weft_allreduce(WEFT_IN_PLACE, &first, 1, WEFT_INT32, WEFT_MIN, node), "weft_allreduce");
    must(weft_comm_free(&node), "weft_comm_free");
    std::vector<int> marks(static_cast<std::size_t>(job.ranks));
    must(weft_allgather(&first, marks.data(), 1, WEFT_INT32, job.comm), "weft_allgather");
    return marks;
}

double error_of(double predicted, double measured) { return std::abs(predicted / measured - 1); }

struct Report {
    Table table{{"collective", "size", "algorithm", "measured us", "predicted us", "ratio", ""}};
    std::map<std::int64_t, std::vector<double>> errors;  // by size
    int unrepeated = 0;
    // By call: how much longer than the fastest the algorithm takes that was predicted to be the fastest.
    std::vector<double> losses;

    void add(const Subject& subject, std::int64_t bytes, const Timings& timings,
             const std::vector<std::optional<double>>& predicted, JsonFile& file) {
        double fastest_us = 0, chosen_us = 0, least_us = 0;
        for (std::size_t i = 0; i < timings.size(); ++i) {
            add(subject, bytes, timings[i], predicted[i], file);
            if (i == 0 || timings[i].us < fastest_us) fastest_us = timings[i].us;
            if (!predicted[i] || (chosen_us > 0 && *predicted[i] >= least_us)) continue;
            least_us = *predicted[i];
            chosen_us = timings[i].us;
        }
        if (chosen_us > 0) losses.push_back(chosen_us / fastest_us);
    }

    void add(const Subject& subject, std::int64_t bytes, const Timing& timing,
             std::optional<double> us, JsonFile& file) {
        const std::string size = subject.collective->has_size ? size_text(bytes) : "-";
        const bool repeats = timing.differs <= repeats_within;
        unrepeated += repeats ? 0 : 1;
        table.add({subject.family->name, size, timing.algorithm, fixed(timing.us, 1),
                   us ? fixed(*us, 1) : "-", us ? fixed(*us / timing.us, 2) : "-",
                   repeats ? "" : "differs by " + fixed(100 * timing.differs, 0) + " %"});
        JsonLine line;
        line.add("collective", subject.family->name)
            .add("bytes", bytes)
            .add("algorithm", timing.algorithm)
            .add("measured_us", timing.us)
            .add("differs", timing.differs);
        if (us) line.add("predicted_us", *us);
        file.write(line);
        if (us) errors[bytes].push_back(error_of(*us, timing.us));
    }

    void print() const {
        table.print(stdout);
        std::printf("\nMedian of |predicted / measured - 1|:\n");
        std::vector<double> all, small, large;
        for (const auto& [bytes, of_size] : errors) {
            print_median(size_text(bytes), of_size);
            all.insert(all.end(), of_size.begin(), of_size.end());
            std::vector<double>* const group = bytes <= small_bytes_max   ? &small
                                               : bytes >= large_bytes_min ? &large
                                                                          : nullptr;
            if (group) group->insert(group->end(), of_size.begin(), of_size.end());
        }
        print_median("<= 4K", small);
        print_median(">= 1M", large);
        print_median("all", all);
        std::printf("%d cells do not repeat within %.0f %%.\n", unrepeated, 100 * repeats_within);
        if (losses.empty()) return;
        std::printf(
            "The algorithm predicted to be the fastest takes %.2f times as long as the fastest "
            "(median of %zu calls; at most %.2f).\n",
            median(losses), losses.size(), std::ranges::max(losses));
    }

  private:
    static constexpr std::int64_t small_bytes_max = 4096;
    static constexpr std::int64_t large_bytes_min = 1 << 20;

    static void print_median(const std::string& name, const std::vector<double>& of) {
        if (!of.empty())
            std::printf("  %-6s %5.1f %% of %zu\n", name.c_str(), 100 * median(of), of.size());
    }
};

// What the cells are simulated with; ends the process if the simulator knows no such job. Collective.
Network network_of(const Job& job, const Plan& plan, const Testbed& testbed) {
    Network network{plan.parameters, plan.inside ? &*plan.inside : nullptr, std::nullopt};
    if (testbed.nodes == 0) return network;
    const std::vector<int> mine = own_cores();
    const std::optional<Rank> cores =
        shared_cores(gather(job, std::vector<int>{mine.size() == 1 ? mine.front() : -1}));
    if (!cores)
        fail("ranks share cores; expected rank r on the core of rank r modulo their number");
    if (*cores > 0 && !plan.shared)
        fail("%d ranks share %d cores; expected --shared, a file of weft bench loggp --cores 0,0",
             job.ranks, *cores);
    network.nodes = emulated(testbed, *cores);
    if (*cores > 0) network.nodes->switch_ps = switch_ps(*plan.shared, plan.parameters);
    return network;
}

int run_rank(const PredictOptions& options, const Plan& plan,
             const std::vector<std::string>& words) {
    const Job job = join_job(options.testbed.ranks);
    const std::vector<int> marks = nodes_of(job);
    const Topology topology(marks);
    const Network network = network_of(job, plan, options.testbed);
    const std::int64_t rest_ns = network.nodes ? link_rest_ns(options.testbed.rate) : 0;
    const std::string over = transports_in_use(job);
    const JsonLine about = circumstances(job, options.testbed, words);
    JsonFile file(job, options.json);
    file.write(about);
    Report report;
    Progress progress(job.rank == 0);
    std::size_t done = 0;
    const std::size_t points = plan.subjects.size() * plan.sizes.size();
    for (const Subject& subject : plan.subjects) {
        std::vector<Candidate> candidates = make_candidates(job, *subject.family);
        for (const std::int64_t bytes : subject.sizes(plan.sizes)) {
            progress.show(static_cast<double>(done++) / static_cast<double>(points),
                          std::string(subject.family->name) + " " + size_text(bytes));
            algorithm::Agreed agreed;
            agreed.collective = subject.family->collective;
            agreed.ranks = job.ranks;
            agreed.bytes = bytes;
            agreed.element_bytes = subject.collective->plain.reduces ? 8 : 1;
            agreed.topology = &topology;
            const Timings timings =
                measure_candidates(*subject.collective, agreed.bytes, candidates,
                                   options.repetitions, Endurance::all, rest_ns);
            if (job.rank != 0) continue;
            std::vector<std::optional<double>> predicted;
            for (const Timing& timing : timings)
                predicted.push_back(
                    predicted_us(*subject.family, timing.algorithm, agreed, network));
            report.add(subject, agreed.bytes, timings, predicted, file);
        }
        free_candidates(candidates);
    }
    progress.clear();
    if (job.rank == 0) {
        std::printf("Blocking, the slowest rank, medians of %d%s: %s, over %s.\n\n",
                    options.repetitions, rest_ns > 0 ? ", links rested" : "",
                    description(options.testbed).c_str(), over.c_str());
        report.print();
    }
    file.close();
    leave_job();
    return 0;
}

}  // namespace

int bench_predict(const PredictOptions& options) {
    const Result<Plan> plan = make_plan(options);
    if (!plan.is_ok()) {
        std::fprintf(stderr, "weft bench predict: %s\n", last_detail());
        return 2;
    }
    std::vector<std::string> words = {
        "bench",   "predict",     "--model",       options.model,
        "--sizes", options.sizes, "--repetitions", std::to_string(options.repetitions)};
    for (const std::string& name : options.collectives)
        words.insert(words.end(), {"--collective", name});
    if (!options.inside.empty()) words.insert(words.end(), {"--inside", options.inside});
    if (!options.shared.empty()) words.insert(words.end(), {"--shared", options.shared});
    if (!options.json.empty()) words.insert(words.end(), {"--json", options.json});
    if (options.idle_share) words.emplace_back("--idle-share");
    if (is_rank()) {
        return options.idle_share
                   ? measure_idle_shares(options, (*plan).parameters, (*plan).sizes, words)
                   : run_rank(options, *plan, words);
    }
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    return launch({options.testbed, words});
}

}  // namespace weft::bench
