// Trains of messages between two ranks, and the parameters that follow (fit.h).
#include "bench/loggp/loggp.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "bench/circumstances.h"
#include "bench/contestants.h"
#include "bench/join.h"
#include "bench/json_file.h"
#include "bench/launch.h"
#include "bench/loggp/fit.h"
#include "bench/loggp/real_pair.h"
#include "bench/loggp/simulated_pair.h"
#include "bench/sizes.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

constexpr const char* not_observable = "not observable";

struct Plan {
    Engine engine;
    std::vector<LogGpSizes> classes;
};

Status check_mpi(const LogGpOptions& options) {
    WEFT_RETURN_IF_NOT_OK(check(options.against, options.testbed));
    const std::vector<std::string>& mpis = options.against.mpis;
    if (mpis.size() > 1 || (mpis.size() == 1 && mpis.front() == "all"))
        return failure(WEFT_REFUSED_ARGUMENT, "--against names several MPIs; expected one");
    if (options.testbed.transport == "mpi" && mpis.empty())
        return failure(WEFT_REFUSED_ARGUMENT,
                       "transport = mpi; expected --against with it, which starts an MPI's ranks");
    return ok;
}

Result<Plan> make_plan(const LogGpOptions& options) {
    WEFT_RETURN_IF_NOT_OK(check_mpi(options));
    Result<Engine> engine = find_engine(options.engine);
    if (!engine.is_ok()) return engine.status();
    Plan plan{*engine, {}};
    const bool is_shm =
        (options.testbed.transport == "shm" || options.testbed.transport == "auto") &&
        options.testbed.nodes == 0;
    const std::pair<const char*, std::string> chosen[] = {
        {"small", options.small.empty() ? "1,8,64,256,1K" : options.small},
        {"eager", !options.eager.empty() ? options.eager
                  : is_shm               ? "2K,4K,6K,8K"
                                         : "2K,8K,32K,64K"},
        {"rendezvous", !options.large.empty() ? options.large : "256K,512K,1M"}};
    for (const auto& [name, text] : chosen) {
        Result<std::vector<std::int64_t>> sizes = parse_sizes(text);
        if (!sizes.is_ok()) return sizes.status();
        std::ranges::sort(*sizes);
        const auto repeated = std::ranges::unique(*sizes);
        sizes->erase(repeated.begin(), repeated.end());
        if (sizes->size() < 2)
            return failure(WEFT_REFUSED_ARGUMENT, "%s sizes = %s; expected two or more", name,
                           text.c_str());
        plan.classes.push_back({name, *sizes, std::string_view(name) == "rendezvous"});
    }
    return plan;
}

std::string text_of(const LogGpValue& value, int digits) {
    if (std::isnan(value.value)) return "-";
    return fixed(value.value, digits) + " (" + fixed(value.interval.low, digits) + " .. " +
           fixed(value.interval.high, digits) + ")";
}

JsonLine json_of(const LogGpValue& value) {
    return JsonLine()
        .add("value", value.value)
        .add("low", value.interval.low)
        .add("high", value.interval.high);
}

void print(const LogGpEstimate& estimate) {
    Table table({"messages", "L ns", "o_s ns", "o_r ns", "g ns", "G ns/B", "O_s ns/B", "O_r ns/B",
                 "residual"});
    const std::string no = not_observable;
    bool are_all_observable = true;
    std::string along;
    for (const LogGpClass& one : estimate.classes) {
        const bool is_start = one.is_start_observable;
        are_all_observable &= is_start;
        if (one.are_ends_along) along += (along.empty() ? "" : ", ") + one.name;
        table.add({one.name, is_start ? text_of(one.latency, 0) : no,
                   is_start ? text_of(one.send_overhead, 0) : no,
                   is_start ? text_of(one.recv_overhead, 0) : no,
                   one.is_gap_observable ? text_of(one.gap, 0) : no, text_of(one.byte_gap, 3),
                   text_of(one.byte_send_overhead, 3), text_of(one.byte_recv_overhead, 3),
                   fixed(100 * one.residual, 0) + " %"});
    }
    table.print(stdout);
    if (!are_all_observable)
        std::printf("L and o of messages are not observable where their times vary by more.\n");
    if (!along.empty())
        std::printf(
            "From end to end a byte takes G, not O_s + G + O_r: the ends work along (%s).\n",
            along.c_str());
    Table others({"besides", "ns"});
    others.add({"reduction of a byte", text_of(estimate.byte_reduction, 4)});
    others.add({"copy of a byte", text_of(estimate.byte_copy, 4)});
    others.add({"start of an operation", text_of(estimate.start, 0)});
    others.add({"test that finds nothing", text_of(estimate.test, 0)});
    others.add({"to wake a rank that sleeps", text_of(estimate.wake, 0)});
    std::printf("\n");
    others.print(stdout);
}

void write(const LogGpEstimate& estimate, JsonFile& file) {
    for (const LogGpClass& one : estimate.classes) {
        JsonLine line;
        line.add("messages", one.name)
            .add("bytes_min", one.sizes.front())
            .add("bytes_max", one.sizes.back());
        if (one.is_start_observable) {
            line.add("L_ns", json_of(one.latency))
                .add("o_s_ns", json_of(one.send_overhead))
                .add("o_r_ns", json_of(one.recv_overhead));
        } else {
            line.add("not_observable", "L_ns, o_s_ns, o_r_ns: the times vary by more");
        }
        if (one.is_gap_observable)
            line.add("g_ns", json_of(one.gap));
        else
            line.add("g", not_observable);
        if (one.are_ends_along) line.add("ends", "along");
        file.write(line.add("G_ns_per_byte", json_of(one.byte_gap))
                       .add("O_ns_per_byte", json_of(one.byte_overhead))
                       .add("O_s_ns_per_byte", json_of(one.byte_send_overhead))
                       .add("O_r_ns_per_byte", json_of(one.byte_recv_overhead))
                       .add("residual", one.residual));
    }
    JsonLine line;
    for (const auto& [name, value] : {std::pair{"gamma_ns_per_byte", estimate.byte_reduction},
                                      {"copy_ns_per_byte", estimate.byte_copy},
                                      {"o_post_ns", estimate.start},
                                      {"o_test_ns", estimate.test},
                                      {"t_wake_ns", estimate.wake}}) {
        if (!std::isnan(value.value)) line.add(name, json_of(value));
    }
    file.write(line);
}

void report(const LogGpEstimate& estimate, const LogGpOptions& options, const Job& job,
            const JsonLine& about) {
    if (job.rank != 0) return;
    print(estimate);
    JsonFile file(job, options.json);
    file.write(about);
    write(estimate, file);
    file.close();
}

int run_rank(const LogGpOptions& options, const Plan& plan, const std::vector<std::string>& words) {
    bind_rank(options.testbed);
    const Job job = join_job(options.testbed.ranks);
    const std::optional<Contestant> chosen = contestant(job, plan.engine);
    if (!chosen) fail("engine %s cannot be used", plan.engine.name);
    switch_engine(job, plan.engine.value);
    const std::string over = transports_in_use(job);
    RealPair pair(chosen->job);
    const LogGpEstimate estimate = estimate_loggp(pair, plan.classes, options.repetitions);
    const JsonLine about = circumstances(job, options.testbed, words);
    if (job.rank == 0)
        std::printf(
            "LogGP between 2 ranks over %s, engine %s: %s, median of %d (95 %% interval).\n\n",
            over.c_str(), plan.engine.name, description(options.testbed).c_str(),
            options.repetitions);
    report(estimate, options, job, about);
    leave_job();
    return 0;
}

}  // namespace

int bench_loggp(const LogGpOptions& options) {
    Result<Plan> plan = make_plan(options);
    if (!plan.is_ok() || options.testbed.ranks != 2) {
        std::fprintf(stderr, "weft bench loggp: %s\n",
                     plan.is_ok() ? "expected --ranks 2" : last_detail());
        return 2;
    }
    std::vector<std::string> words = {"bench",         "loggp",
                                      "--engine",      options.engine,
                                      "--repetitions", std::to_string(options.repetitions)};
    for (const auto& [name, sizes] : {std::pair{"--small", options.small},
                                      {"--eager", options.eager},
                                      {"--large", options.large}}) {
        if (!sizes.empty()) words.insert(words.end(), {name, sizes});
    }
    if (!options.json.empty()) words.insert(words.end(), {"--json", options.json});
    if (options.is_simulated) {
        SimulatedPair pair(options.parameters);
        std::printf("LogGP between 2 ranks in the simulator.\n\n");
        report(estimate_loggp(pair, plan->classes, 1), options, Job{.rank = 0, .ranks = 2},
               JsonLine().add("transport", "simulated"));
        return 0;
    }
    if (is_rank()) return run_rank(options, *plan, words);
    for (const std::string& word : arguments(options.testbed)) words.push_back(word);
    for (const std::string& word : arguments(options.against)) words.push_back(word);
    const Launch job{options.testbed, words};
    return options.against.is_wanted() ? launch_against(options.against, job) : launch(job);
}

}  // namespace weft::bench
