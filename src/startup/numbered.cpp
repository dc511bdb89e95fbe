#include "startup/numbered.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/hash.h"
#include "startup/key_value.h"
#include "startup/variables.h"

namespace weft {
namespace {

// Rank 0 takes the first port that is free, so that a stranger at one does no harm.
constexpr std::uint16_t ports_tried = 8;
constexpr std::int64_t port_max = 65'535;

// Behind MASTER_PORT. (On one host jobs often have MASTER_PORTs that follow one another, at which
// their programs' stores listen.)
constexpr std::int64_t ports_for_stores = 10;

std::vector<std::uint16_t> ports_from(std::int64_t first) {
    std::vector<std::uint16_t> ports;
    for (std::int64_t port = std::min(first, port_max - ports_tried + 1);
         ports.size() < ports_tried; ++port)
        ports.push_back(static_cast<std::uint16_t>(port));
    return ports;
}

Result<JobRank> place_of(const char* rank_name, const char* ranks_name) {
    const Setting ranks = whole_number(ranks_name, 1, wire_ranks_max);
    if (!ranks.is_ok()) return ranks.status();
    if (**ranks == 1) return JobRank();
    const Setting rank = whole_number(rank_name, 0, **ranks - 1);
    if (!rank.is_ok()) return rank.status();
    return JobRank{static_cast<Rank>(**rank), static_cast<Rank>(**ranks)};
}

// What PyTorch reads: WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and RANK or, in an indexed job of
// Kubernetes, JOB_COMPLETION_INDEX. At MASTER_PORT the program has mostly a store of its own: rank
// 0 listens at a port further on.
Result<std::optional<Numbered>> numbered_for_torch() {
    constexpr std::int64_t usual_port = 29'500;
    const std::optional<Numbered> none;
    const std::string host(variable("MASTER_ADDR"));
    const std::string ranks(variable("WORLD_SIZE"));
    const bool has_rank = !variable("RANK").empty();
    const char* const rank_name = has_rank ? "RANK" : "JOB_COMPLETION_INDEX";
    if (host.empty() || ranks.empty() || variable(rank_name).empty()) return none;
    const Result<JobRank> place = place_of(rank_name, "WORLD_SIZE");
    if (!place.is_ok()) return place.status();
    std::int64_t port = usual_port;
    if (!variable("MASTER_PORT").empty()) {
        const Setting given = whole_number("MASTER_PORT", 1, port_max);
        if (!given.is_ok()) return given.status();
        port = **given;
    }
    const std::string port_text = std::to_string(port);
    // The host may be called otherwise on itself ("localhost"), so it does not name the job.
    Numbered found{.place = *place, .point = {}, .source = {}};
    found.point = {.hosts = {host},
                   .ports = ports_from(port + ports_for_stores),
                   .job = "torch\n" + port_text + "\n" + ranks + "\n" +
                          std::string(variable("TORCHELASTIC_RUN_ID")),
                   .said_by = "MASTER_ADDR = '" + host + "', MASTER_PORT = " + port_text};
    found.source = std::string(rank_name) + " and WORLD_SIZE, " +
                   (has_rank ? "as torchrun sets them" : "an indexed job of Kubernetes");
    return std::optional(std::move(found));
}

// A task of srun: in a step, and not only in a script around it, which has inherited the variables
// of an allocation. Task 0 runs on the step's first node.
Result<std::optional<Numbered>> numbered_by_srun() {
    constexpr std::int64_t first_port = 20'000;  // below the ports that kernels give to callers
    constexpr std::uint64_t ports = 10'000;
    const std::optional<Numbered> none;
    const std::string step(variable("SLURM_STEP_ID"));
    const std::optional<std::int64_t> tasks = parse_whole_number(variable("SLURM_STEP_NUM_TASKS"));
    const std::optional<std::int64_t> task = parse_whole_number(variable("SLURM_PROCID"));
    if (step.empty() || !tasks || !task || *tasks <= 1 || *tasks > wire_ranks_max || *task < 0 ||
        *task >= *tasks)
        return none;
    const std::string host = first_host(variable("SLURM_STEP_NODELIST"));
    if (host.empty()) return none;
    const std::string job(variable("SLURM_JOB_ID"));
    Numbered found;
    found.place.rank = static_cast<Rank>(*task);
    found.place.ranks = static_cast<Rank>(*tasks);
    found.point = {.hosts = {host},
                   .ports = {},
                   .job = "slurm\n" + job + "\n" + step + "\n" + std::to_string(*tasks),
                   .said_by = "the first of SLURM_STEP_NODELIST, '" + host + "'"};
    found.point.ports = ports_from(
        first_port + static_cast<std::int64_t>(Hash().add(found.point.job).value() % ports));
    found.source = "SLURM_PROCID and SLURM_STEP_NUM_TASKS, a step of srun";
    return std::optional(std::move(found));
}

// Launchers tell a rank its place by these, but not always how to find the others.
struct PlaceVariables {
    const char* rank;
    const char* ranks;
    bool shows_launcher;  // the rank alone says that there is a launcher
    const char* missing;  // what would suffice
};

constexpr PlaceVariables place_variables[] = {
    {"RANK", "WORLD_SIZE", false, "RANK, WORLD_SIZE and MASTER_ADDR, as torchrun sets them, or "},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true, ""},
    {"PMI_RANK", "PMI_SIZE", true, ""},
    // (A batch script is task 0, perhaps the only one.)
    {"SLURM_PROCID", "SLURM_NTASKS", false, "srun, or "},
};

bool is_place_of_several(const PlaceVariables& place) {
    if (const char* ranks = std::getenv(place.ranks))
        return parse_whole_number(ranks).value_or(1) > 1;
    return place.shows_launcher && is_set(place.rank);
}

// Where the list of nodes is missing.
void warn_of_lone_tasks() {
    const std::string tasks(variable("SLURM_STEP_NUM_TASKS"));
    if (parse_whole_number(tasks).value_or(1) <= 1 || variable("SLURM_PROCID") != "0") return;
    std::fprintf(
        stderr,
        "weft: srun has started %s tasks that cannot find each other: each is a job of one "
        "rank; with srun --mpi=pmix or --mpi=pmi2 they are one job\n",
        tasks.c_str());
}

}  // namespace

Result<std::optional<Numbered>> numbered_by_launcher() {
    Result<std::optional<Numbered>> found = numbered_for_torch();
    if (found.is_ok() && !*found) found = numbered_by_srun();
    if (found.is_ok() && *found && (**found).place.ranks == 1) return std::optional<Numbered>();
    if (found.is_ok() && *found)
        WEFT_RETURN_IF_NOT_OK(read_number("WEFT_STARTUP_TIMEOUT", (**found).place.timeout_ns));
    return found;
}

void warn_of_lone_rank() {
    // torchrun has started it alone.
    if (is_set("RANK") && is_set("MASTER_ADDR") && variable("WORLD_SIZE") == "1") return;
    warn_of_lone_tasks();
    for (const PlaceVariables& place : place_variables) {
        if (!is_place_of_several(place)) continue;
        // srun's own variable is about this step.
        if (place.ranks == std::string_view("SLURM_NTASKS") && is_set("SLURM_STEP_NUM_TASKS"))
            continue;
        const char* ranks = std::getenv(place.ranks);
        const char* rank = std::getenv(place.rank);
        std::fprintf(stderr,
                     "weft: %s=%s, but Weft does not start by %s and %s alone: rank %s is a job of "
                     "one rank; with %sWEFT_RANK=$%s, WEFT_RANKS=$%s and "
                     "WEFT_STARTUP=tcp://HOST_OF_RANK_0:PORT, or started by weft run, they are one "
                     "job\n",
                     ranks ? place.ranks : place.rank, ranks ? ranks : rank, place.rank,
                     place.ranks, rank ? rank : "(not set)", place.missing, place.rank,
                     place.ranks);
        return;
    }
}

void warn_of_world_size(const std::string& source) {
    const std::string ranks(variable("WORLD_SIZE"));
    if (parse_whole_number(ranks).value_or(1) <= 1) return;
    std::fprintf(stderr,
                 "weft: WORLD_SIZE=%s, but this process is a job of one rank: what counts is %s\n",
                 ranks.c_str(), source.c_str());
}

std::string first_host(std::string_view list) {
    std::string host;
    while (!list.empty() && list.front() != ',') {
        if (list.front() != '[') {
            host += list.front();
            list.remove_prefix(1);
            continue;
        }
        list.remove_prefix(1);
        host += list.substr(0, list.find_first_of(",-]"));
        const std::size_t end = list.find(']');
        if (end == list.npos) return "";
        list.remove_prefix(end + 1);
    }
    return host;
}

}  // namespace weft
