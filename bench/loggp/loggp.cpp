// Trains of messages between two ranks, and the parameters that follow (fit.h).
#include "bench/loggp/loggp.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "bench/engines.h"
#include "bench/join.h"
#include "bench/loggp/fit.h"
#include "bench/loggp/real_pair.h"
#include "bench/loggp/simulated_pair.h"
#include "bench/player/mpi.h"
#include "bench/player/mpi_job.h"
#include "bench/player/player.h"
#include "bench/run/rows.h"
#include "bench/run/task.h"
#include "bench/sizes.h"
#include "bench/table.h"

namespace weft::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LogGpOptions, small, eager, large, repetitions, json)

namespace {

constexpr const char* not_observable = "not observable";

Status check(const LogGpOptions& options) {
    Result<std::vector<std::string>> mpis = find_mpis(options.mpis);
    if (!mpis.is_ok()) return mpis.status();
    if (mpis->size() > 1)
        return failure(WEFT_REFUSED_ARGUMENT, "--against names several MPIs; expected one");
    if (options.place.transport == "mpi" && mpis->empty())
        return failure(WEFT_REFUSED_ARGUMENT,
                       "transport = mpi; expected --against with it, which starts an MPI's ranks");
    if (options.place.ranks != 2) return failure(WEFT_REFUSED_ARGUMENT, "expected --ranks 2");
    return find_engine(options.place.engine).status();
}

Result<std::vector<LogGpSizes>> classes_of(const LogGpOptions& options, const Cell& place) {
    const bool is_shm = (place.transport == "shm" || place.transport == "auto") && place.nodes == 0;
    const std::pair<const char*, std::string> chosen[] = {
        {"small", options.small.empty() ? "1,8,64,256,1K" : options.small},
        {"eager", !options.eager.empty() ? options.eager
                  : is_shm               ? "2K,4K,6K,8K"
                                         : "2K,8K,32K,64K"},
        {"rendezvous", !options.large.empty() ? options.large : "256K,512K,1M"}};
    std::vector<LogGpSizes> classes;
    for (const auto& [name, text] : chosen) {
        Result<std::vector<std::int64_t>> sizes = parse_sizes(text);
        if (!sizes.is_ok()) return sizes.status();
        std::ranges::sort(*sizes);
        const auto repeated = std::ranges::unique(*sizes);
        sizes->erase(repeated.begin(), repeated.end());
        if (sizes->size() < 2)
            return failure(WEFT_REFUSED_ARGUMENT, "%s sizes = %s; expected two or more", name,
                           text.c_str());
        classes.push_back({name, *sizes, std::string_view(name) == "rendezvous"});
    }
    return classes;
}

std::string text_of(const LogGpValue& value, int digits) {
    if (std::isnan(value.value)) return "-";
    return fixed(value.value, digits) + " (" + fixed(value.interval.low, digits) + " .. " +
           fixed(value.interval.high, digits) + ")";
}

Row json_of(const LogGpValue& value) {
    return {{"value", value.value}, {"low", value.interval.low}, {"high", value.interval.high}};
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

// What model::read_measured() reads: its lines keep this order.
std::vector<Row> rows_of(const LogGpEstimate& estimate) {
    std::vector<Row> rows;
    for (const LogGpClass& one : estimate.classes) {
        Row row = {{"messages", one.name},
                   {"bytes_min", one.sizes.front()},
                   {"bytes_max", one.sizes.back()}};
        if (one.is_start_observable) {
            row["L_ns"] = json_of(one.latency);
            row["o_s_ns"] = json_of(one.send_overhead);
            row["o_r_ns"] = json_of(one.recv_overhead);
        } else {
            row["not_observable"] = "L_ns, o_s_ns, o_r_ns: the times vary by more";
        }
        if (one.is_gap_observable)
            row["g_ns"] = json_of(one.gap);
        else
            row["g"] = not_observable;
        if (one.are_ends_along) row["ends"] = "along";
        row["G_ns_per_byte"] = json_of(one.byte_gap);
        row["O_ns_per_byte"] = json_of(one.byte_overhead);
        row["O_s_ns_per_byte"] = json_of(one.byte_send_overhead);
        row["O_r_ns_per_byte"] = json_of(one.byte_recv_overhead);
        row["residual"] = one.residual;
        rows.push_back(std::move(row));
    }
    Row others = Row::object();
    for (const auto& [name, value] : {std::pair{"gamma_ns_per_byte", estimate.byte_reduction},
                                      {"copy_ns_per_byte", estimate.byte_copy},
                                      {"o_post_ns", estimate.start},
                                      {"o_test_ns", estimate.test},
                                      {"t_wake_ns", estimate.wake}}) {
        if (!std::isnan(value.value)) others[name] = json_of(value);
    }
    rows.push_back(std::move(others));
    return rows;
}

void report(const LogGpEstimate& estimate, const std::string& file, const Json& about) {
    print(estimate);
    Rows rows(file);
    rows.write(about);
    for (const Row& row : rows_of(estimate)) rows.write(row);
}

}  // namespace

int run_loggp_rank(const Json& json, const Cell& place, const Json& about) {
    const auto options = json.get<LogGpOptions>();
    Result<std::vector<LogGpSizes>> classes = classes_of(options, place);
    const Job world = join_job(2);
    std::string why;
    const std::unique_ptr<Player> player = make_player(place, world, why);
    if (!player) fail("engine %s cannot be used: %s", place.engine.c_str(), why.c_str());
    player->enter();
    const std::string over = transports_in_use(world);
    RealPair pair(player->job(world));
    const LogGpEstimate estimate = estimate_loggp(pair, *classes, options.repetitions);
    player->leave();
    if (world.rank == 0) {
        std::printf(
            "LogGP between 2 ranks over %s, engine %s: %s, median of %d (95 %% interval).\n\n",
            over.c_str(), place.engine.c_str(), description(place).c_str(), options.repetitions);
        report(estimate, options.json, about);
    }
    leave_job();
    return 0;
}

int bench_loggp(const LogGpOptions& options) {
    Result<std::vector<LogGpSizes>> classes = classes_of(options, options.place);
    if (!classes.is_ok() || !check(options).is_ok()) {
        std::fprintf(stderr, "weft bench loggp: %s\n", last_detail());
        return 2;
    }
    if (options.is_simulated) {
        SimulatedPair pair(options.parameters);
        std::printf("LogGP between 2 ranks in the simulator.\n\n");
        report(estimate_loggp(pair, *classes, 1), options.json, {{"transport", "simulated"}});
        return 0;
    }
    return launch_task(
        {"loggp", options, options.place, options.mpis.empty() ? "" : options.mpis.front()});
}

}  // namespace weft::bench
