// Startup from the environment: the socket of `weft run`, a shared directory, or PMIx or PMI of a
// launcher for MPI; any other process is alone. Not thread safe; used once, while the process
// joins.
//
// WEFT_* comes first: it was set for Weft, perhaps under an MPI launcher, whose variables are
// inherited.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/setting.h"
#include "startup/key_value.h"
#include "startup/kinds.h"

namespace weft {
namespace {

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

// Of a variable that a launcher sets, Weft's or another.
Setting whole_number(const char* name, std::int64_t min, std::int64_t max) {
    return number_setting(SettingInfo{name, nullptr, SettingForm::whole_number(min, max)});
}

// WEFT_RANK, WEFT_RANKS and WEFT_STARTUP_TIMEOUT.
Result<JobRank> place_from_environment() {
    for (const char* name : {"WEFT_RANK", "WEFT_RANKS"}) {
        if (std::getenv(name) != nullptr) continue;
        return failure(WEFT_REFUSED_SETTING,
                       "%s is not set; expected WEFT_RANK, WEFT_RANKS and either WEFT_STARTUP_FD "
                       "(from weft run) or WEFT_STARTUP_DIR together",
                       name);
    }
    const Setting ranks = whole_number("WEFT_RANKS", 1, wire_ranks_max);
    if (!ranks.is_ok()) return ranks.status();
    const Setting rank = whole_number("WEFT_RANK", 0, **ranks - 1);
    if (!rank.is_ok()) return rank.status();
    JobRank place{static_cast<Rank>(**rank), static_cast<Rank>(**ranks)};
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_STARTUP_TIMEOUT", place.timeout_ns));
    return place;
}

bool is_unix_stream(int fd) {
    int domain = 0;
    int type = 0;
    socklen_t bytes = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
           ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

// Programs that this one starts must not inherit the socket: they would be the same rank.
bool take_socket(int fd) { return is_unix_stream(fd) && ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0; }

Result<std::unique_ptr<Startup>> launched(const JobRank& place, const char* text) {
    const Setting startup_fd = whole_number("WEFT_STARTUP_FD", 0, std::numeric_limits<int>::max());
    if (!startup_fd.is_ok()) return startup_fd.status();
    const auto fd = static_cast<int>(**startup_fd);
    if (!take_socket(fd)) {
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_STARTUP_FD = '%s' is not the launcher's socket; only the program that "
                       "weft run starts can join the job, not programs that it starts in turn",
                       text);
    }
    return startup_by_weft_run(place, fd);
}

Result<std::unique_ptr<Startup>> in_directory(const JobRank& place, const std::string& path) {
    if (!path.starts_with('/')) {
        return failure(WEFT_REFUSED_SETTING, "WEFT_STARTUP_DIR = '%s'; expected an absolute path",
                       path.c_str());
    }
    return startup_in_directory(place, path);
}

// PMI_RANK, PMI_SIZE and PMI_FD.
Result<std::unique_ptr<Startup>> by_pmi(std::int64_t timeout_ns) {
    for (const char* name : {"PMI_SIZE", "PMI_RANK", "PMI_FD"}) {
        if (is_set(name)) continue;
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "%s is not set; a launcher that speaks PMI must set PMI_RANK, PMI_SIZE and "
                       "PMI_FD (Hydra: without -pmi-port)",
                       name);
    }
    const Setting ranks = whole_number("PMI_SIZE", 1, wire_ranks_max);
    if (!ranks.is_ok()) return ranks.status();
    const Setting rank = whole_number("PMI_RANK", 0, **ranks - 1);
    if (!rank.is_ok()) return rank.status();
    const Setting fd = whole_number("PMI_FD", 0, std::numeric_limits<int>::max());
    if (!fd.is_ok()) return fd.status();
    if (!take_socket(static_cast<int>(**fd))) {
        return failure(WEFT_REFUSED_SETTING,
                       "PMI_FD = '%s' is not the launcher's socket; only the program that mpiexec "
                       "starts can join the job, not programs that it starts in turn",
                       std::getenv("PMI_FD"));
    }
    return startup_by_pmi({static_cast<Rank>(**rank), static_cast<Rank>(**ranks), timeout_ns},
                          static_cast<int>(**fd));
}

// Without --mpi, srun's tasks cannot find each other, which is rarely intended.
void warn_of_lone_tasks() {
    const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
    const char* task = std::getenv("SLURM_PROCID");
    if (tasks == nullptr || task == nullptr || std::string_view(tasks) == "1" ||
        std::string_view(task) != "0")
        return;
    std::fprintf(
        stderr,
        "weft: srun has started %s tasks that cannot find each other: each is a job of one "
        "rank; with srun --mpi=pmix or --mpi=pmi2 they are one job\n",
        tasks);
}

// Launchers tell a rank its place by these, but not how to find the others.
struct PlaceVariables {
    const char* rank;
    const char* ranks;
    bool shows_launcher;  // the rank alone says that there is a launcher
};

constexpr PlaceVariables place_variables[] = {
    {"RANK", "WORLD_SIZE", false},  // torchrun
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
    {"PMI_RANK", "PMI_SIZE", true},
    {"SLURM_PROCID", "SLURM_NTASKS", false},  // a batch script is task 0, perhaps the only one
};

bool is_place_of_several(const PlaceVariables& place) {
    if (const char* ranks = std::getenv(place.ranks))
        return parse_whole_number(ranks).value_or(1) > 1;
    return place.shows_launcher && is_set(place.rank);
}

void warn_of_lone_rank() {
    for (const PlaceVariables& place : place_variables) {
        if (!is_place_of_several(place)) continue;
        // srun's own variable is about this step, and warn_of_lone_tasks() has read it.
        if (place.ranks == std::string_view("SLURM_NTASKS") && is_set("SLURM_STEP_NUM_TASKS"))
            continue;
        const char* ranks = std::getenv(place.ranks);
        const char* rank = std::getenv(place.rank);
        std::fprintf(stderr,
                     "weft: %s=%s, but Weft does not start by %s and %s alone: rank %s is a job of "
                     "one rank; with WEFT_RANK=$%s, WEFT_RANKS=$%s and "
                     "WEFT_STARTUP_DIR=/shared/folder, or started by weft run, they are one job\n",
                     ranks ? place.ranks : place.rank, ranks ? ranks : rank, place.rank,
                     place.ranks, rank ? rank : "(not set)", place.rank, place.ranks);
        return;
    }
}

bool speaks_pmix() { return is_set("PMIX_NAMESPACE") && is_set("PMIX_RANK"); }
bool speaks_pmi() { return is_set("PMI_FD") || is_set("PMI_PORT"); }

// Startup from the variables of an MPI launcher, if there is one.
Result<std::unique_ptr<Startup>> launched_as_mpi() {
    std::int64_t timeout_ns = JobRank().timeout_ns;
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_STARTUP_TIMEOUT", timeout_ns));
    if (speaks_pmix()) return startup_by_pmix(timeout_ns);
    if (speaks_pmi()) return by_pmi(timeout_ns);
    warn_of_lone_tasks();
    warn_of_lone_rank();
    return std::unique_ptr<Startup>(std::make_unique<Alone>());
}

bool is_told_by_weft() {
    constexpr const char* names[] = {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD",
                                     "WEFT_STARTUP_DIR"};
    return std::ranges::any_of(names, is_set);
}

}  // namespace

bool is_rank_of_a_job() { return is_told_by_weft() || speaks_pmix() || speaks_pmi(); }

Result<std::unique_ptr<Startup>> startup_from_environment() {
    if (!is_told_by_weft()) return launched_as_mpi();
    Result<JobRank> place = place_from_environment();
    if (!place.is_ok()) return place.status();
    const char* fd = std::getenv("WEFT_STARTUP_FD");
    const char* directory = std::getenv("WEFT_STARTUP_DIR");
    if ((fd == nullptr) == (directory == nullptr)) {
        return failure(WEFT_REFUSED_SETTING,
                       "%s WEFT_STARTUP_FD and WEFT_STARTUP_DIR are set; expected one of them",
                       fd == nullptr ? "none of" : "both");
    }
    return fd != nullptr ? launched(*place, fd) : in_directory(*place, directory);
}

}  // namespace weft
