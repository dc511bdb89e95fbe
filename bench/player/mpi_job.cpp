// The MPIs that the bench knows: each one's settings, and how its launcher is called.
#include "bench/player/mpi_job.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/cores.h"
#include "bench/launch.h"
#include "bench/player/mpi.h"
#include "bench/player/weft.h"
#include "bench/run/launch_job.h"
#include "bench/shell_word.h"
#include "weft/dropin_library.h"

namespace weft::bench {
namespace {

// %s: the MPI's folder; %d: ranks of a node. docs/cluster.md explains $WEFT_CLUSTER_... .
struct MpiTraits {
    const char* name;
    const char* settings;  // environment
    struct Place {
        const char* settings;
        const char* options;  // of mpiexec
    };
    Place loopback;  // ranks on this machine that must use TCP
    Place cluster;
    // Asynchronous progress in shared memory, and over TCP; null: it has none.
    Place async_shm;
    Place async_tcp;
};

constexpr const char* none = nullptr;

constexpr std::array mpis = {
    MpiTraits{.name = "mpich",
              .settings = "",
              .loopback = {"MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp", ""},
              .cluster = {"UCX_TLS=tcp,self UCX_NET_DEVICES=eth0",
                          "-launcher ssh -launcher-exec $WEFT_CLUSTER_AGENT -localhost "
                          "$WEFT_CLUSTER_ADDRESS -hosts $WEFT_CLUSTER_NODES -ppn %d"},
              .async_shm = {"MPIR_CVAR_ASYNC_PROGRESS=1", ""},
              .async_tcp = {"MPIR_CVAR_ASYNC_PROGRESS=1", ""}},
    MpiTraits{
        .name = "openmpi",
        .settings = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
                    "PRTE_MCA_hwloc_default_binding_policy=none",
        .loopback = {"", "--mca pml ob1 --mca btl tcp,self"},
        .cluster =
            {"",
             "--prtemca plm_ssh_agent $WEFT_CLUSTER_AGENT --prtemca plm_ssh_no_tree_spawn 1 "
             "--host $WEFT_CLUSTER_NODES --map-by ppr:%d:node --mca pml ob1 --mca btl tcp,sm,self "
             "--mca btl_tcp_if_include eth0"},
        .async_shm = {none, none},
        // The closest it has: a thread that moves TCP messages, but not a collective's steps.
        .async_tcp = {"", "--mca btl_tcp_progress_thread 1"}},
    MpiTraits{
        .name = "impi",
        .settings = "I_MPI_ROOT=%s LD_LIBRARY_PATH=%s/lib FI_PROVIDER_PATH=%s/lib I_MPI_PIN=0",
        .loopback = {"I_MPI_FABRICS=ofi FI_PROVIDER=tcp I_MPI_COLL_INTRANODE=pt2pt", ""},
        .cluster = {"I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC=$WEFT_CLUSTER_AGENT "
                    "I_MPI_HYDRA_IFACE=$WEFT_CLUSTER_INTERFACE I_MPI_FABRICS=ofi FI_PROVIDER=tcp "
                    "FI_TCP_IFACE=eth0",
                    "-hosts $WEFT_CLUSTER_NODES -ppn %d"},
        // Without yielding, its thread would take most of a shared core.
        .async_shm = {"I_MPI_ASYNC_PROGRESS=1 I_MPI_THREAD_YIELD=3", ""},
        .async_tcp = {"I_MPI_ASYNC_PROGRESS=1 I_MPI_THREAD_YIELD=3", ""}},
};

std::string replaced(std::string text, const std::string& part, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += by.size()) {
        text.replace(at, part.size(), by);
    }
    return text;
}

// An MPI, and where it is.
struct Found {
    const MpiTraits* mpi;
    std::string folder;

    // Shell commands that let a shell find it.
    std::string around() const {
        const std::string word = shell_word(folder);
        return "export PATH=" + word + "/bin:$PATH " + replaced(mpi->settings, "%s", word) + "; ";
    }
};

// Why it cannot be used; "": `found` is complete.
std::string find(Found& found) {
    std::string setting = "WEFT_BENCH_MPI_";
    for (const char* c = found.mpi->name; *c != '\0'; ++c)
        setting += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
    const char* const folder = std::getenv(setting.c_str());
    if (folder == nullptr) {
        return setting +
               " is not set; it names the folder with bin/mpicc and bin/mpiexec (./dev "
               "bench --against " +
               found.mpi->name + " installs one and sets it)";
    }
    found.folder = folder;
    for (const char* program : {"/bin/mpicc", "/bin/mpiexec"}) {
        if (!std::filesystem::exists(found.folder + program))
            return setting + " = '" + found.folder + "' has no " + (program + 1);
    }
    return "";
}

// Why a part cannot be compiled from this source of bench/player; "": it is in this file.
std::string compile(const Found& found, const std::string& name, const std::string& part,
                    const std::string& flags = "") {
    const std::string source = WEFT_BENCH_SOURCE_DIR "/bench/player/" + name;
    if (std::filesystem::exists(part)) return "";
    if (!std::filesystem::exists(source))
        return "its part of the bench is compiled from " + source + ", which does not exist";
    if (run_shell(found.around() + "exec mpicc -std=c99 -O2 -shared -fPIC -pthread -I" +
                  shell_word(WEFT_BENCH_SOURCE_DIR "/include") + " " + shell_word(source) + " -o " +
                  shell_word(part) + " " + flags + " -ldl") != 0)
        return "its mpicc cannot compile " + source + " (see above)";
    return "";
}

// The part for LibNBC's interface, by LibNBC or by Weft: its path, or why there is none.
std::string nbc_part(const Found& found, const std::string& way, const std::string& folder) {
    std::string headers = WEFT_BENCH_SOURCE_DIR "/compat/nbc", libraries = own_library_folder();
    if (way == "libnbc") {
        const std::string set = std::getenv("WEFT_BENCH_LIBNBC");  // or nobody would want it
        const std::string installed = set + "/" + found.mpi->name;
        headers = installed + "/include";
        libraries = installed + "/lib";
        if (!std::filesystem::exists(headers + "/nbc.h"))
            return "WEFT_BENCH_LIBNBC = '" + set + "' has no " + found.mpi->name + "/include/nbc.h";
    }
    const std::string part = folder + "/" + found.mpi->name + "-" + way + ".so";
    const std::string why =
        compile(found, "nbc_part.c", part,
                "-I" + shell_word(headers) + " -L" + shell_word(libraries) + " -Wl,-rpath," +
                    shell_word(libraries) + (way == "libnbc" ? " -lnbc" : " -lweft"));
    return why.empty() ? part : why;
}

// A copy of the library that hands every call on to the MPI: its parts are without what a part has. Returns its path.
std::string make_stub(const std::string& folder) {
    const std::string library = folder + "/libweft_mpi.so";
    std::error_code error;
    std::filesystem::create_symlink(dropin_folder() / "libweft_mpi.so", library, error);
    for (const char* part : dropin_parts) {
        std::filesystem::create_symlink(library, folder + "/weft_mpi_" + std::string(part) + ".so",
                                        error);
    }
    return library;
}

}  // namespace

Result<std::vector<std::string>> find_mpis(const std::vector<std::string>& names) {
    std::vector<std::string> found;
    for (const std::string& name : names) {
        const std::size_t before = found.size();
        for (const MpiTraits& mpi : mpis) {
            if (name == "all" || name == mpi.name) found.emplace_back(mpi.name);
        }
        if (found.size() > before) continue;
        return failure(WEFT_REFUSED_ARGUMENT,
                       "against = \"%s\"; expected some of mpich, openmpi, impi, or all",
                       name.c_str());
    }
    return found;
}

int launch_by_mpi(const JobPlan& job, const std::string& plan, std::string& why) {
    const Cell& place = job.place();
    bool has_threads = false, takes_blocking = false;
    std::set<std::string> ways;
    for (const Contest& contest : job.contests) {
        for (const Cell& cell : contest.cells) {
            ways.insert(cell.implementation);
            has_threads |=
                cell.implementation == "mpi:thread" || cell.implementation == "thread:mpi";
            takes_blocking |= cell.is_preloaded() && cell.call == CallForm::blocking;
        }
    }
    const bool is_on_nodes = place.nodes > 0;
    if (!job.preload.empty() && dropin_folder().empty())
        why = "this build has no libweft_mpi.so; it needs an MPI's mpicc when Weft is configured";
    const std::string folder = std::filesystem::path(plan).parent_path();
    const std::string part = folder + "/" + job.launcher + ".so";
    Found found{&*std::ranges::find(mpis, job.launcher, &MpiTraits::name), ""};
    if (why.empty()) why = find(found);
    if (why.empty()) why = compile(found, "mpi_part.c", part);
    if (!why.empty()) return 0;

    std::vector<MpiTraits::Place> places;
    if (is_on_nodes) places.push_back(found.mpi->cluster);
    if (!is_on_nodes && place.transport == "tcp") places.push_back(found.mpi->loopback);
    if (job.async) places.push_back(places.empty() ? found.mpi->async_shm : found.mpi->async_tcp);
    std::string exported, options;
    for (const MpiTraits::Place& one : places) {
        if (one.settings == none) {
            why = job.launcher + " has no asynchronous progress over shared memory";
            return 0;
        }
        exported += std::string(" ") + one.settings;
        options += std::string(one.options) + " ";
    }
    std::string text = found.around();
    if (exported.find('=') != exported.npos) text += "export" + exported + "; ";
    text += "exec mpiexec " + options + "-n " + std::to_string(place.ranks) + " env ";
    const auto set = [&](const std::string& name, const std::string& value) {
        text += name + "=" + shell_word(value) + " ";
    };
    if (is_on_nodes) text = replaced(text, "%d", std::to_string(place.ranks / place.nodes));
    set(mpi_name_setting, job.launcher + (job.async ? ":async" : ""));
    set(mpi_part_setting, part);
    for (const auto& [way, name] :
         {std::pair("libnbc", libnbc_part_setting), std::pair("nbc:weft", nbc_part_setting)})
        if (ways.contains(way)) set(name, nbc_part(found, way, folder));
    if (has_threads) set(mpi_threads_setting, "1");
    if (place.transport != "auto") set("WEFT_TRANSPORT", place.transport);
    if (takes_blocking) set("WEFT_BLOCKING", "1");
    for (const auto& [name, value] : place.settings) set(name, value);
    const std::string program = shell_word(this_program());
    if (job.preload == "stub") set("LD_PRELOAD", make_stub(folder));
    if (job.preload == "preload") text += program + " preload ";
    text += program + " bench-rank " + shell_word(plan) + " < /dev/null";
    if (!is_on_nodes) return run_shell(text);
    std::vector<std::string> words = {this_program(), "run", "--exec-per-node"};
    for (const std::string& word : node_words(place)) words.push_back(word);
    words.insert(words.end(), {"sh", "-c", text});
    return run_program(words, {});
}

void bind_launched_rank(const Cell& place) {
    // (`weft run` has done that for the only rank of an emulated node.)
    if (launched_rank() < 0 || place.nodes == place.ranks || place.cores == "none") return;
    std::vector<int> cores;
    std::istringstream list(place.cores);
    for (std::string core; std::getline(list, core, ',');) cores.push_back(std::atoi(core.c_str()));
    if (cores.empty()) cores = place.nodes > 0 ? reachable_cores() : own_cores();
    const int rank = launched_rank();
    const int core = cores[static_cast<std::size_t>(rank) % cores.size()];
    if (!bind_to({core})) fail("rank %d cannot be bound to core %d", rank, core);
}

}  // namespace weft::bench
