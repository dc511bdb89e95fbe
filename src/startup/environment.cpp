// Startup from the environment. Not thread safe; used once, while the process joins. In this order:
//
//   1  what is set for Weft: WEFT_STARTUP=tcp://HOST:PORT, with WEFT_RANK and WEFT_RANKS;
//   2  the socket of `weft run`, or a shared directory, which is also set for Weft;
//   3  PMIx or PMI, of a launcher for MPI, the inner one of two, unless torchrun was started
//      below it;
//   4  RANK (or the index of a Kubernetes job), WORLD_SIZE and MASTER_ADDR;
//   5  a step of Slurm;
//   6  none: a job of one rank. If a variable says that there are more, it says so.
//
// Variables are inherited, so those of several launchers may be there: a launcher of MPIs is
// started in a step of Slurm, not the other way, and what is set for Weft was set last. Their sizes
// may differ.
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/setting.h"
#include "startup/ancestors.h"
#include "startup/key_value.h"
#include "startup/kinds.h"
#include "startup/numbered.h"
#include "startup/variables.h"

namespace weft {
namespace {

// WEFT_RANK, WEFT_RANKS and WEFT_STARTUP_TIMEOUT.
Result<JobRank> place_from_environment() {
    for (const char* name : {"WEFT_RANK", "WEFT_RANKS"}) {
        if (std::getenv(name) != nullptr) continue;
        return failure(WEFT_REFUSED_SETTING,
                       "%s is not set; expected WEFT_RANK, WEFT_RANKS and either WEFT_STARTUP_FD "
                       "(from weft run) or WEFT_STARTUP together",
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

// The setting that says where the ranks meet, and what it says.
struct Meet {
    const char* setting = nullptr;  // null: none does
    std::string at{};
};

Meet meeting_place() {
    for (const char* setting : {"WEFT_STARTUP", "WEFT_STARTUP_DIR"}) {
        if (!variable(setting).empty()) return {setting, std::string(variable(setting))};
    }
    return {};
}

constexpr std::string_view over_tcp = "tcp://";

bool is_over_tcp(const Meet& meet) {
    return meet.at.starts_with(over_tcp) && meet.setting == std::string_view("WEFT_STARTUP");
}

// A job of one rank meets nobody.
Result<std::unique_ptr<Startup>> by_network([[maybe_unused]] const JobRank& place,
                                            [[maybe_unused]] const MeetingPoint& point) {
    if (place.ranks == 1) return std::unique_ptr<Startup>(std::make_unique<Alone>());
#if WEFT_HAS_TCP
    return startup_at(place, point);
#else
    return failure(WEFT_REFUSED_UNSUPPORTED, "%s, but tcp is not in this build: %s",
                   point.said_by.c_str(), WEFT_TCP_ABSENCE);
#endif
}

// "7000", "7000-7007": rank 0 takes the first that is free. Empty: neither.
std::vector<std::uint16_t> ports_of(const std::string& text) {
    constexpr std::int64_t ports_max = 64;
    const std::size_t dash = std::min(text.find('-'), text.size());
    const std::int64_t first = parse_whole_number(text.substr(0, dash)).value_or(0);
    const std::int64_t last =
        dash == text.size() ? first : parse_whole_number(text.substr(dash + 1)).value_or(0);
    std::vector<std::uint16_t> ports;
    if (first < 1 || last > std::numeric_limits<std::uint16_t>::max() || last - first >= ports_max)
        return ports;
    for (std::int64_t port = first; port <= last; ++port)
        ports.push_back(static_cast<std::uint16_t>(port));
    return ports;
}

// "node1", "10.0.0.1,[fd00::1]": without the brackets. Empty: one of them is malformed.
std::vector<std::string> hosts_of(std::string_view list) {
    std::vector<std::string> hosts;
    for (bool is_last = false; !is_last;) {
        is_last = list.find(',') == list.npos;
        std::string host(take_until(list, ","));
        if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
            host = host.substr(1, host.size() - 2);
        else if (host.find(':') != host.npos)
            return {};  // an address of IPv6, of which the port may be a part
        if (host.empty()) return {};
        hosts.push_back(host);
    }
    return hosts;
}

// "tcp://node1:7000", "tcp://node1,[fd00::1]:7000-7007"
Result<std::unique_ptr<Startup>> at_address(const JobRank& place, const Meet& meet) {
    const std::string_view where = std::string_view(meet.at).substr(over_tcp.size());
    const std::size_t colon = where.rfind(':');
    MeetingPoint point;
    if (colon != where.npos) point.ports = ports_of(std::string(where.substr(colon + 1)));
    point.hosts = hosts_of(where.substr(0, colon));
    if (point.hosts.empty() || point.ports.empty()) {
        return failure(WEFT_REFUSED_SETTING, "WEFT_STARTUP = '%s'; expected tcp://HOST:PORT",
                       meet.at.c_str());
    }
    // (The host may be called otherwise on itself.)
    point.job = "tcp\n" + point.ports_text() + "\n" + std::to_string(place.ranks);
    point.said_by = "WEFT_STARTUP = '" + meet.at + "'";
    return by_network(place, point);
}

Result<std::unique_ptr<Startup>> in_directory(const JobRank& place, const Meet& meet) {
    if (!meet.at.starts_with('/')) {
        const bool is_former = meet.setting == std::string_view("WEFT_STARTUP_DIR");
        return failure(WEFT_REFUSED_SETTING, "%s = '%s'; expected %san absolute path", meet.setting,
                       meet.at.c_str(), is_former ? "" : "tcp://HOST:PORT or ");
    }
    return startup_in_directory(place, meet.at, meet.setting);
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

// torchrun starts several ranks below a process that a launcher of MPIs has started, mostly one for
// each node: they inherit its variables.
bool is_above_torchrun(VariableNames of_launcher) {
    return is_set("TORCHELASTIC_RUN_ID") &&
           were_set_below({"RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"}, of_launcher);
}

// mpiexec of MPICH or Intel MPI is started in a step of srun --mpi=pmix: its ranks inherit that
// step's variables. Ancestors do not always tell, as mpiexec starts its own processes by srun; then
// the socket does: a launcher of PMIx would not have left it open.
bool is_above_pmi(VariableNames of_pmix) {
    const VariableNames of_pmi = {"PMI_RANK", "PMI_SIZE", "PMI_FD"};
    const std::int64_t fd = parse_whole_number(variable("PMI_FD")).value_or(-1);
    if (fd < 0 || fd > std::numeric_limits<int>::max()) return false;
    return were_set_below(of_pmi, of_pmix) ||
           (is_unix_stream(static_cast<int>(fd)) && !were_set_below(of_pmix, of_pmi));
}

bool speaks_pmix() {
    const VariableNames names = {"PMIX_NAMESPACE", "PMIX_RANK"};
    return std::ranges::all_of(names, is_set) && !is_above_torchrun(names) && !is_above_pmi(names);
}

bool speaks_pmi() {
    return (is_set("PMI_FD") || is_set("PMI_PORT")) && !is_above_torchrun({"PMI_RANK", "PMI_SIZE"});
}

bool is_told_by_weft() {
    constexpr const char* names[] = {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD"};
    return meeting_place().setting != nullptr || std::ranges::any_of(names, is_set);
}

Result<std::unique_ptr<Startup>> told_by_weft() {
    Result<JobRank> place = place_from_environment();
    if (!place.is_ok()) return place.status();
    const Meet meet = meeting_place();
    if (is_over_tcp(meet)) return at_address(*place, meet);
    const char* fd = std::getenv("WEFT_STARTUP_FD");
    if ((fd == nullptr) == (meet.setting == nullptr)) {
        return failure(WEFT_REFUSED_SETTING,
                       "%s WEFT_STARTUP_FD and %s are set; expected one of them",
                       fd == nullptr ? "none of" : "both",
                       meet.setting != nullptr ? meet.setting : "WEFT_STARTUP");
    }
    return fd != nullptr ? launched(*place, fd) : in_directory(*place, meet);
}

// Startup from the variables of another launcher, if there is one.
Result<std::unique_ptr<Startup>> told_by_others() {
    std::int64_t timeout_ns = JobRank().timeout_ns;
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_STARTUP_TIMEOUT", timeout_ns));
    if (speaks_pmix()) return startup_by_pmix(timeout_ns);
    if (speaks_pmi()) return by_pmi(timeout_ns);
    const Result<std::optional<Numbered>> numbered = numbered_by_launcher();
    if (!numbered.is_ok()) return numbered.status();
    if (*numbered) return by_network((*numbered)->place, (*numbered)->point);
    warn_of_lone_rank();
    return std::unique_ptr<Startup>(std::make_unique<Alone>());
}

}  // namespace

bool is_rank_of_a_job() {
    if (is_told_by_weft() || speaks_pmix() || speaks_pmi()) return true;
    const Result<std::optional<Numbered>> numbered = numbered_by_launcher();
    return !numbered.is_ok() || *numbered;
}

std::string startup_source() {
    const Meet meet = meeting_place();
    if (is_over_tcp(meet)) return "WEFT_STARTUP, " + meet.at;
    if (is_set("WEFT_STARTUP_FD")) return "weft run";
    if (meet.setting != nullptr) return std::string(meet.setting) + ", the directory " + meet.at;
    if (speaks_pmix()) return "PMIx";
    if (speaks_pmi()) return "PMI";
    const Result<std::optional<Numbered>> numbered = numbered_by_launcher();
    if (!numbered.is_ok()) return std::string("refused: ") + last_detail();
    if (*numbered) return (*numbered)->source + ": " + (*numbered)->point.said_by;
    return "none, a job of one rank";
}

Result<std::unique_ptr<Startup>> startup_from_environment() {
    Result<std::unique_ptr<Startup>> startup =
        is_told_by_weft() ? told_by_weft() : told_by_others();
    if (!startup.is_ok()) return startup;
    const std::string source = startup_source();
    (*startup)->set_source(source);
    const bool has_launcher = is_told_by_weft() || speaks_pmix() || speaks_pmi();
    if (has_launcher && (*startup)->ranks() == 1) warn_of_world_size(source);
    return startup;
}

}  // namespace weft
