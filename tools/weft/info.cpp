// `weft info`: this build, the machine, and the resources that the ranks of a job hold.
#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "algorithm/catalogue.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/engine_kind.h"
#include "base/setting.h"
#include "c_api/guard.h"
#include "offload/offload.h"
#include "select/select.h"
#include "startup/startup.h"
#if WEFT_HAS_TCP
#include "transport/tcp/tcp.h"
#endif
#if WEFT_HAS_UCX
#include "transport/ucx/worker.h"
#endif
#include "weft/build.h"
#include "weft/commands.h"
#include "weft/machine.h"
#include "weft/weft.h"

namespace weft {
namespace {

void print(const char* what, const std::string& value) {
    std::printf("%-22s%s\n", what, value.c_str());
}

std::string cores() {
    const std::vector<int> mine = own_cores();
    return std::to_string(mine.size()) + " (" + cores_text(mine) + ")";
}

std::string first_line(const char* path) {
    std::string line;
    std::ifstream file(path);
    return std::getline(file, line) ? line : "absent";
}

// "a b c"
template <class List, class Name>
std::string names(const List& list, Name name) {
    std::string text;
    for (const auto& item : list) text += std::string(text.empty() ? "" : " ") + name(item);
    return text;
}

// Which UCX there is, and what it would use.
std::string ucx_text() {
#if WEFT_HAS_UCX
    const Result<const ucx::Library*> library = ucx::library();
    if (!library.is_ok()) return std::string("cannot be used: ") + last_detail();
    const Result<std::vector<ucx::Device>> devices = ucx::list_devices();
    if (!devices.is_ok()) return std::string("cannot be used: ") + last_detail();
    return (*library)->version() + ": " + ucx::names_of(*devices);
#else
    return std::string("not in this build: ") + ucx_absence();
#endif
}

// Only if algorithms are to be chosen by the model, or that is refused.
void print_selection() {
    const std::string by(text_setting("WEFT_SELECT"));
    if (by.empty() || by == "table") return;
    const Result<Selector> selector = Selector::from_environment();
    if (!selector.is_ok()) return print("selection", std::string("refused: ") + last_detail());
    print("selection", "WEFT_SELECT=" + by + ": between nodes by the model, with " +
                           (*selector).model() +
                           " (WEFT_MODEL=" + std::string(text_setting("WEFT_MODEL")) + ")");
}

// The settings, with their values or defaults.
void print_settings() {
    for (const SettingInfo& setting : setting_table) {
        if (!setting.is_for_users()) continue;
        std::string text(text_setting(setting));
        if (setting.is_secret && !text.empty()) text = "set";
        print(setting.name,
              (text.empty() ? std::string("not set (") + setting.if_unset + ")" : text) + ": " +
                  setting.purpose);
    }
    if (!check_settings().is_ok()) print("settings", std::string("refused: ") + last_detail());
}

void print_info() {
    const Build build = this_build();
    print("version", build.version);
    print("commit", build.commit);
    print("compiler", build.compiler);
    print("build", std::string(build.build_type) + ": " + build.flags);
    std::vector<EngineTraits> engines;
    std::ranges::copy_if(engine_list, std::back_inserter(engines),
                         [](const EngineTraits& e) { return !e.is_hidden; });
    print("engines", names(engines, [](const EngineTraits& e) { return e.name; }));
    print("transports", names(transports(), [](const char* name) { return name; }));
    if (const char* absence = tcp_absence()) {
        print("tcp", std::string("not in this build: ") + absence);
    }
    print("ucx", ucx_text());
    const char* const no_fibers = fiber_absence();
    print("fibers", no_fibers ? std::string("not in this build: ") + no_fibers
                              : "libweft_fiber, for weft/fiber.hpp");
    const std::string& no_io_uring = kernel_engine_absence();
    print("io_uring",
          no_io_uring.empty()
              ? "works: engines kernel, kernel:own and auto can use it"
              : "cannot be used, thread replaces kernel and kernel:own, auto goes without: " +
                    no_io_uring);
    print("kernel:own",
          "interrupts the thread that called weft_init: its epoll_wait, semtimedop, sigtimedwait "
          "and timed recv return EINTR, recv with MSG_WAITALL may return short");
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        print(spec.name,
              names(spec.algorithms, [](const algorithm::Algorithm* a) { return a->name; }));
    }
    print_selection();
    print("kernel", kernel());
    print("processor", cpu_model());
    print("cores", cores());
    print("startup", startup_source());
    print("ptrace_scope", first_line("/proc/sys/kernel/yama/ptrace_scope"));
    print("hugepages", first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
    print_settings();
}

// --- What a rank holds -----------------------------------------------------------------------------

std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
    return count > 3 ? count - 3 : 0;  // ".", ".." and the folder
}

// "1.2 MiB"
std::string bytes_text(std::size_t bytes) {
    char text[32];
    if (bytes < 1 << 20)
        std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
    else
        std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
    return text;
}

std::string usage_text(const Usage& usage) {
    return std::to_string(usage.connections) + " connections, " +
           std::to_string(usage.descriptors) + " descriptors, " + bytes_text(usage.bytes);
}

// Where the progress thread runs.
std::string place_text(const ProgressPlace& place) {
    if (place.cores.empty()) return "on the same cores";
    std::string text = "on cores " + cores_text(place.cores);
    if (place.is_set_aside()) return text + ", set aside";
    return text + ", of which ranks may use " + cores_text(place.shared);
}

void must(weft_status status) {
    if (status == WEFT_OK) return;
    std::fprintf(stderr, "weft info: %s\n", weft_last_detail());
    throw CLI::RuntimeError(1);
}

// An operation that a kernel engine hands to the operating system, if it can.
void try_engine(weft_comm world, int ranks) {
    const std::vector<char> mine(64 * 1024);
    std::vector<char> all(mine.size() * static_cast<std::size_t>(ranks));
    weft_request request;
    must(weft_iallgather(mine.data(), all.data(), mine.size(), WEFT_BYTE, world, &request));
    const std::int64_t later_ns = now_ns() + 1'000'000;
    while (now_ns() < later_ns) cpu_relax();  // computes
    must(weft_wait(&request));
}

// All ranks' texts, by rank, on every rank.
std::vector<std::string> texts_of_all(weft_comm world, int ranks, const std::string& mine) {
    const std::size_t size = mine.size();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks));
    must(weft_allgather(&size, sizes.data(), sizeof size, WEFT_BYTE, world));
    const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
    std::string own = mine;
    own.resize(most, ' ');
    std::vector<char> all(most * sizes.size());
    must(weft_allgather(own.data(), all.data(), most, WEFT_BYTE, world));
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
        texts.emplace_back(all.data() + r * most, sizes[r]);
    }
    return texts;
}

// By the algorithm in which each rank meets every other.
void choose_flat_alltoall() {
    const auto chosen = parse_choices(text_setting("WEFT_ALGORITHM"), "");
    if (!chosen.is_ok()) return;  // joining refuses it
    std::string list = "alltoall=flat";
    for (const NamedChoice& one : *chosen) {
        if (one.collective != Collective::alltoall)
            list += "," + choice_name("", one.collective) + "=" + one.text;
    }
    unsetenv("WEFT_ALGORITHM_ALLTOALL");
    setenv("WEFT_ALGORITHM", list.c_str(), 1);
}

// Joins the job and lets every rank exchange data with every other. Rank 0 prints the build, the
// machine and what each rank holds.
void print_job() {
    choose_flat_alltoall();
    must(weft_init());
    weft_comm world = weft_comm_world();
    int rank = 0;
    int ranks = 0;
    must(weft_comm_rank(world, &rank));
    must(weft_comm_size(world, &ranks));
    std::vector<int> own(static_cast<std::size_t>(ranks), rank);
    std::vector<int> all(own.size());
    const std::int64_t begin_ns = now_ns();
    must(weft_alltoall(own.data(), all.data(), 1, WEFT_INT32, world));
    const std::int64_t met_ns = now_ns() - begin_ns;
    try_engine(world, ranks);
    must(weft_barrier(world));
    Process& process = *c_api::current_process();
    std::string text = "rank " + std::to_string(rank) + " on node " +
                       std::to_string(process.world().topology().node_of(rank)) +
                       ": met all others in " + std::to_string(met_ns / 1000) + " us, " +
                       std::to_string(open_descriptors()) + " descriptors in all";
    process.engine().call([&] {
        for (const Transport* transport : process.executor().transports()) {
            const Usage usage = transport->usage();
            text += std::string("; ") + transport->name() + ": " + usage_text(usage);
            for (const auto& [why, callers] : usage.turned_away) {
                if (callers > 0) text += ", " + std::to_string(callers) + " callers " + why;
            }
        }
        const ScheduleCache::Contents cached = process.world().schedules().contents();
        text += "; cached schedules: " + std::to_string(cached.schedules) + ", " +
                bytes_text(static_cast<std::size_t>(cached.memory_bytes)) + " of at most " +
                bytes_text(static_cast<std::size_t>(ScheduleCache::memory_bytes_max));
        text += "; on cores " + cores_text(own_cores());
        const EngineTraits& engine = traits(process.engine().kind());
        text += std::string("; engine ") + engine.name;
        if (engine.has_thread())
            text += ", its thread " + place_text(process.engine().progress_place());
        if (const std::string offloaded = process.offload_account(); !offloaded.empty())
            text += ": " + offloaded;
    });
    const std::vector<std::string> texts = texts_of_all(world, ranks, text);
    if (rank == 0) {
        print_info();
        for (const std::string& one : texts) std::printf("%s\n", one.c_str());
    }
    must(weft_barrier(world));
    must(weft_finalize());
}

struct JobSize {
    std::size_t ranks = 0;
    std::size_t communicators = 1;
    std::size_t connections = 1;
    std::size_t dedicated = 16;
};

// The most that a rank of such a job holds.
void print_bound([[maybe_unused]] const JobSize& job) {
#if WEFT_HAS_TCP
    const std::size_t dedicated =
        std::min(job.dedicated, job.communicators * DedicatedConnections::streams_max);
    print("tcp", "at most " + usage_text(TcpTransport::usage_max({.ranks = job.ranks,
                                                                  .connections = job.connections,
                                                                  .dedicated = dedicated,
                                                                  .streams = job.communicators})));
#else
    print("tcp", std::string("not in this build: ") + tcp_absence());
#endif
}

}  // namespace

void add_info(CLI::App& app) {
    CLI::App* info =
        app.add_subcommand("info",
                           "Show build and machine information and, in a job, what each rank "
                           "holds");
    auto job = std::make_shared<JobSize>();
    auto* ranks = info->add_option("--ranks", job->ranks,
                                   "What a rank holds at most in a job of this many over tcp")
                      ->check(CLI::Range(2, 1'000'000));
    info->add_option("--communicators", job->communicators,
                     "... with an operation on this many of them at once")
        ->check(CLI::Range(1, 1'000'000))
        ->needs(ranks);
    info->add_option("--connections", job->connections,
                     "... with this many connections (WEFT_RESOURCES)")
        ->check(CLI::Range(1, 64))
        ->needs(ranks);
    info->add_option("--dedicated", job->dedicated,
                     "... and this many more for auto and the kernel engines")
        ->check(CLI::Range(0, 64))
        ->needs(ranks);
    info->callback([job] {
        if (job->ranks > 0)
            print_bound(*job);
        else if (is_rank_of_a_job())
            print_job();
        else
            print_info();
    });
}

}  // namespace weft
