#include "bench/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "base/cores.h"
#include "bench/join.h"
#include "bench/predict/emulated.h"
#include "bench/predict/idle_share.h"
#include "bench/progress.h"
#include "bench/run/rows.h"
#include "bench/run/task.h"
#include "bench/sizes.h"
#include "bench/statistics.h"
#include "bench/table.h"
#include "bench/tune/measure.h"
#include "c_api/guard.h"
#include "model/measured.h"
#include "select/by_model.h"
#include "sim/loggp.h"

namespace weft::bench {
namespace {

struct Inputs {
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

Result<Inputs> read_inputs(const PredictOptions& options, const Cell& place) {
    Inputs inputs;
    Result<std::vector<std::int64_t>> sizes = parse_sizes(options.sizes);
    if (!sizes.is_ok()) return sizes.status();
    inputs.sizes = *sizes;
    Result<model::MeasuredParameters> parameters = read_model(options.model);
    if (!parameters.is_ok()) return parameters.status();
    inputs.parameters = *parameters;
    for (const auto& [path, into] :
         {std::pair{&options.inside, &inputs.inside}, {&options.shared, &inputs.shared}}) {
        if (path->empty()) continue;
        Result<model::MeasuredParameters> others = read_model(*path);
        if (!others.is_ok()) return others.status();
        *into = *others;
    }
    WEFT_RETURN_IF_NOT_OK(check_emulated(place));
    Result<std::vector<Subject>> subjects = find_subjects(options.collectives);
    if (!subjects.is_ok()) return subjects.status();
    for (const Subject& subject : *subjects) {
        if (subject.spec->sizes == algorithm::Sizes::uniform)
            inputs.subjects.push_back(subject);
        else if (!options.collectives.empty())
            return failure(WEFT_REFUSED_ARGUMENT,
                           "collective = %s; expected one whose blocks have one size",
                           subject.collective->name);
    }
    return inputs;
}

// By the simulator, with the parameters of messages as large as the largest. Nothing: the call does not meet the
// algorithm's needs.
std::optional<double> predicted_us(const algorithm::CollectiveSpec& spec,
                                   const std::string& setting, const algorithm::GlobalArgs& agreed,
                                   const Network& network) {
    std::vector<Schedule> schedules;
    std::int64_t longest = 0;
    for (Rank r = 0; r < agreed.ranks; ++r) {
        std::optional<Schedule> schedule = schedule_of(spec, setting, agreed, r);
        if (!schedule) return std::nullopt;
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
    ends.cpu_sends = ends.cpu_receives_along =
        messages.are_ends_along || (network.nodes && longest > packet_bytes_max);
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

double error_of(double predicted, double measured) { return std::abs(predicted / measured - 1); }

struct Report {
    Table table{{"collective", "size", "algorithm", "measured us", "predicted us", "ratio", "",
                 "the same schedules"},
                Table::Last::words};
    std::map<std::int64_t, std::vector<double>> errors;  // by size
    int cells = 0;
    int unrepeated = 0;
    // By call: how much longer than the fastest the chosen algorithm takes.
    std::vector<double> losses_of_simulator, losses_of_model;

    // `by_model`: what WEFT_SELECT=model would use, if anything.
    void add(const Subject& subject, std::int64_t bytes, const Timings& timings,
             const std::vector<std::optional<double>>& predicted,
             const std::optional<std::string>& by_model, Rows& file) {
        if (timings.empty()) return;
        const double fastest_us = std::ranges::min_element(timings, {}, &Timing::us)->us;
        std::optional<std::size_t> by_simulator;
        for (std::size_t i = 0; i < timings.size(); ++i) {
            if (predicted[i] && (!by_simulator || *predicted[i] < *predicted[*by_simulator]))
                by_simulator = i;
        }
        if (by_simulator) losses_of_simulator.push_back(timings[*by_simulator].us / fastest_us);
        for (std::size_t i = 0; i < timings.size(); ++i) {
            std::vector<std::string> chosen_by;
            if (by_simulator == i) chosen_by.emplace_back("simulator");
            if (by_model && timings[i].is_of(*by_model)) {
                chosen_by.emplace_back("model");
                losses_of_model.push_back(timings[i].us / fastest_us);
            }
            add(subject, bytes, timings[i], predicted[i], chosen_by, file);
        }
    }

    void add(const Subject& subject, std::int64_t bytes, const Timing& timing,
             std::optional<double> us, const std::vector<std::string>& chosen_by, Rows& file) {
        const std::string size = subject.collective->has_size ? size_text(bytes) : "-";
        const bool repeats = timing.differs <= repeats_within;
        unrepeated += repeats ? 0 : 1;
        ++cells;
        table.add({subject.spec->name, size, timing.algorithm, fixed(timing.us, 1),
                   us ? fixed(*us, 1) : "-", us ? fixed(*us / timing.us, 2) : "-",
                   repeats ? "" : "differs by " + fixed(100 * timing.differs, 0) + " %",
                   timing.others()});
        Row row = {{"collective", subject.spec->name},
                   {"bytes", bytes},
                   {"algorithm", timing.algorithm},
                   {"same_schedules", timing.alike},
                   {"measured_us", timing.us},
                   {"differs", timing.differs},
                   {"chosen_by", chosen_by}};
        if (us) row["predicted_us"] = *us;
        file.write(row);
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
        std::printf("%d of %d cells do not repeat within %.0f %%; they count.\n", unrepeated, cells,
                    100 * repeats_within);
        std::printf("Times of the chosen algorithm, as multiples of the fastest's:\n");
        print_losses("predicted to be the fastest", losses_of_simulator);
        print_losses("by WEFT_SELECT=model", losses_of_model);
    }

  private:
    static constexpr std::int64_t small_bytes_max = 4096;
    static constexpr std::int64_t large_bytes_min = 1 << 20;

    static void print_median(const std::string& name, const std::vector<double>& of) {
        if (!of.empty())
            std::printf("  %-6s %5.1f %% of %zu\n", name.c_str(), 100 * median(of), of.size());
    }
    static void print_losses(const char* chosen, const std::vector<double>& losses) {
        if (losses.empty())
            std::printf("  %-27s  none was chosen\n", chosen);
        else
            std::printf("  %-27s  %.2f (median of %zu calls; at most %.2f)\n", chosen,
                        median(losses), losses.size(), std::ranges::max(losses));
    }
};

// What the cells are simulated with; ends the process if the simulator knows no such job. Collective.
Network network_of(const Job& job, const Inputs& inputs, const Cell& place) {
    Network network{inputs.parameters, inputs.inside ? &*inputs.inside : nullptr, std::nullopt};
    if (place.nodes == 0) return network;
    const std::vector<int> mine = own_cores();
    const std::optional<Rank> cores =
        shared_cores(gather(job, std::vector<int>{mine.size() == 1 ? mine.front() : -1}));
    if (!cores)
        fail("ranks share cores; expected rank r on the core of rank r modulo their number");
    if (*cores > 0 && !inputs.shared)
        fail("%d ranks share %d cores; expected --shared, a file of weft bench loggp --cores 0,0",
             job.ranks, *cores);
    network.nodes = emulated(place, *cores);
    if (*cores > 0) network.nodes->switch_ps = switch_ps(*inputs.shared, inputs.parameters);
    return network;
}

// The closed forms know no links: where these are slower than the interface, a byte takes their time.
ModelSelection selection_of(const Inputs& inputs, const Cell& place) {
    ModelSelection selection{.parameters = inputs.parameters};
    if (place.nodes == 0) return selection;
    for (auto& messages : selection.parameters.messages) {
        std::int64_t& byte_ps = messages.parameters.byte_gap_ps;
        byte_ps = std::max(byte_ps, link_byte_ps(place.link.rate));
    }
    return selection;
}

// As make_candidates() names it. Nothing: the model does not choose.
std::optional<std::string> chosen_by(const ModelSelection& selection,
                                     const algorithm::GlobalArgs& agreed) {
    const std::optional<Choice> choice = selection.choose(agreed);
    if (!choice) return std::nullopt;
    const std::int64_t segment_bytes = choice->tuning.segment_bytes;
    std::string setting = choice->algorithm->name;
    if (segment_bytes != algorithm::Tuning{}.segment_bytes)
        setting += ":segment=" + size_text(segment_bytes);
    return setting;
}

}  // namespace

int run_predict_rank(const Json& json, const Cell& place, const Json& about) {
    const auto options = json.get<PredictOptions>();
    const Result<Inputs> made = read_inputs(options, place);
    if (!made.is_ok()) fail("%s", last_detail());
    const Inputs& inputs = *made;
    const Job job = join_job(place.ranks);
    Rows file(job.rank == 0 ? options.json : "");
    file.write(about);
    ProgressBar progress(job.rank == 0);
    const Topology& topology = c_api::current_process()->world().topology();
    const Network network = network_of(job, inputs, place);
    const ModelSelection selection = selection_of(inputs, place);
    const std::int64_t rest_ns = network.nodes ? link_rest_ns(place.link.rate) : 0;
    const std::string over = transports_in_use(job);
    Report report;
    std::size_t done = 0;
    const std::size_t points = inputs.subjects.size() * inputs.sizes.size();
    for (const Subject& subject : inputs.subjects) {
        std::vector<Candidate> candidates = make_candidates(job, *subject.spec);
        for (const std::int64_t bytes : subject.sizes(inputs.sizes)) {
            progress.show(static_cast<double>(done++) / static_cast<double>(points),
                          std::string(subject.spec->name) + " " + size_text(bytes));
            const algorithm::GlobalArgs agreed = subject.agreed(bytes, topology);
            const std::optional<std::string> by_model = chosen_by(selection, agreed);
            std::vector<Candidate> all = candidates;
            if (by_model && std::ranges::find(all, *by_model, &Candidate::setting) == all.end())
                all.push_back(make_candidate(job, *subject.spec, *by_model));
            const Timings timings = measure_candidates(
                subject, topology, bytes, all, {options.repetitions, Endurance::all, rest_ns});
            all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(candidates.size()));
            free_candidates(all);
            if (job.rank != 0) continue;
            std::vector<std::optional<double>> predicted;
            for (const Timing& timing : timings)
                predicted.push_back(predicted_us(*subject.spec, timing.algorithm, agreed, network));
            report.add(subject, bytes, timings, predicted, by_model, file);
        }
        free_candidates(candidates);
    }
    progress.clear();
    if (job.rank == 0) {
        std::printf("Blocking, the slowest rank, medians of %d%s: %s, over %s.\n\n",
                    options.repetitions, rest_ns > 0 ? ", links rested" : "",
                    description(place).c_str(), over.c_str());
        report.print();
    }
    leave_job();
    return 0;
}

int bench_predict(const PredictOptions& options) {
    const Result<Inputs> inputs = read_inputs(options, options.place);
    if (!inputs.is_ok()) {
        std::fprintf(stderr, "weft bench predict: %s\n", last_detail());
        return 2;
    }
    if (options.idle_share)
        return measure_idle_shares(options, (*inputs).parameters, (*inputs).sizes);
    return launch_task({"predict", options, options.place});
}

}  // namespace weft::bench
