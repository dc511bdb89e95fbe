// The MPIs that the bench knows: each one's settings, and how its launcher is called.
#include "bench/rivals/launch.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/cores.h"
#include "bench/rivals/rival.h"
#include "bench/shell_word.h"
#include "bench/temporary_folder.h"

namespace weft::bench {
namespace {

// %s: the MPI's folder. docs/cluster.md explains $WEFT_CLUSTER_... .
struct Mpi {
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
    Mpi{.name = "mpich",
        .settings = "",
        .loopback = {"MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp", ""},
        .cluster = {"UCX_TLS=tcp,self UCX_NET_DEVICES=eth0",
                    "-launcher ssh -launcher-exec $WEFT_CLUSTER_AGENT -localhost "
                    "$WEFT_CLUSTER_ADDRESS -hosts $WEFT_CLUSTER_NODES -ppn 1"},
        .async_shm = {"MPIR_CVAR_ASYNC_PROGRESS=1", ""},
        .async_tcp = {"MPIR_CVAR_ASYNC_PROGRESS=1", ""}},
    Mpi{.name = "openmpi",
        .settings = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
                    "PRTE_MCA_hwloc_default_binding_policy=none",
        .loopback = {"", "--mca pml ob1 --mca btl tcp,self"},
        .cluster = {"",
                    "--prtemca plm_ssh_agent $WEFT_CLUSTER_AGENT --prtemca plm_ssh_no_tree_spawn 1 "
                    "--host $WEFT_CLUSTER_NODES --map-by node --mca pml ob1 --mca btl tcp,self "
                    "--mca btl_tcp_if_include eth0"},
        .async_shm = {none, none},
        // The closest it has: a thread that moves TCP messages, but not a collective's steps.
        .async_tcp = {"", "--mca btl_tcp_progress_thread 1"}},
    Mpi{.name = "impi",
        .settings = "I_MPI_ROOT=%s LD_LIBRARY_PATH=%s/lib FI_PROVIDER_PATH=%s/lib I_MPI_PIN=0",
        .loopback = {"I_MPI_FABRICS=ofi FI_PROVIDER=tcp I_MPI_COLL_INTRANODE=pt2pt", ""},
        .cluster = {"I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC=$WEFT_CLUSTER_AGENT "
                    "I_MPI_HYDRA_IFACE=$WEFT_CLUSTER_INTERFACE I_MPI_FABRICS=ofi FI_PROVIDER=tcp "
                    "FI_TCP_IFACE=eth0",
                    "-hosts $WEFT_CLUSTER_NODES -ppn 1"},
        // Without yielding, its thread would take most of a shared core.
        .async_shm = {"I_MPI_ASYNC_PROGRESS=1 I_MPI_THREAD_YIELD=3", ""},
        .async_tcp = {"I_MPI_ASYNC_PROGRESS=1 I_MPI_THREAD_YIELD=3", ""}},
};

// The MPIs of a name or "all"; none if the name is not known.
std::vector<const Mpi*> find_mpis(const std::string& name) {
    std::vector<const Mpi*> found;
    for (const Mpi& mpi : mpis) {
        if (name == "all" || name == mpi.name) found.push_back(&mpi);
    }
    return found;
}

// "WEFT_BENCH_MPI_MPICH"
std::string folder_setting(const Mpi& mpi) {
    std::string text = "WEFT_BENCH_MPI_";
    for (const char* c = mpi.name; *c != '\0'; ++c) {
        text += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
    }
    return text;
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += by.size()) {
        text.replace(at, part.size(), by);
    }
    return text;
}

// Shell commands that let a shell find this MPI.
std::string around(const Mpi& mpi, const std::string& folder) {
    const std::string word = shell_word(folder);
    return "export PATH=" + word + "/bin:$PATH " + replaced(mpi.settings, "%s", word) + "; ";
}

// Where an MPI is, and the part of the bench for it.
struct Found {
    const Mpi* mpi;
    std::string folder;
    std::string part;
};

// Why it cannot be measured; "": `found` is complete. Its mpicc compiles bench/`source` with these options.
std::string find(Found& found, const std::string& temporary, const std::string& file,
                 const std::string& options) {
    const std::string setting = folder_setting(*found.mpi);
    const char* const folder = std::getenv(setting.c_str());
    if (folder == nullptr) {
        return setting +
               " is not set; it names the folder with bin/mpicc and bin/mpiexec (./dev "
               "bench --against " +
               found.mpi->name + " installs one and sets it)";
    }
    found.folder = folder;
    for (const char* program : {"/bin/mpicc", "/bin/mpiexec"}) {
        if (!std::filesystem::exists(found.folder + program)) {
            return setting + " = '" + found.folder + "' has no " + (program + 1);
        }
    }
    const std::string source = WEFT_BENCH_SOURCE_DIR "/bench/" + file;
    if (!std::filesystem::exists(source)) {
        return "its part of the bench is compiled from " + source + ", which does not exist";
    }
    found.part = temporary + "/" + found.mpi->name + ".so";
    if (run_shell(around(*found.mpi, found.folder) + "exec mpicc -std=c99 -O2 " + options + " " +
                  shell_word(source) + " -o " + shell_word(found.part) + " -ldl") != 0) {
        return "its mpicc cannot compile " + source + " (see above)";
    }
    return "";
}

// The beginning of the shell script that starts all ranks, up to their settings; on a cluster it runs beside the
// nodes. "": asynchronous progress is wanted, and the MPI has none here.
std::string start_of_ranks(const Found& found, bool async, const Testbed& testbed) {
    const Mpi& mpi = *found.mpi;
    std::vector<Mpi::Place> places;
    if (testbed.nodes > 0) places.push_back(mpi.cluster);
    if (testbed.nodes == 0 && testbed.transport == "tcp") places.push_back(mpi.loopback);
    const bool is_tcp = !places.empty();
    if (async) places.push_back(is_tcp ? mpi.async_tcp : mpi.async_shm);
    std::string settings, options;
    for (const Mpi::Place& place : places) {
        if (place.settings == none) return "";
        settings += std::string(" ") + place.settings;
        options += std::string(place.options) + " ";
    }
    std::string text = around(mpi, found.folder);
    if (settings.find('=') != settings.npos) text += "export" + settings + "; ";
    return text + "exec mpiexec " + options + "-n " + std::to_string(testbed.ranks) + " env ";
}

int run_ranks(const Testbed& testbed, const std::string& script) {
    return testbed.nodes > 0 ? run_beside_nodes(testbed, script) : run_shell(script);
}

// The script of a job whose ranks are this program.
std::string script(const Found& found, const Against& against, const Launch& job) {
    std::string text = start_of_ranks(found, against.async, job.testbed);
    if (text.empty()) return "";
    const auto set = [&](const char* name, const std::string& value) {
        text.append(name).append("=").append(value).append(" ");
    };
    set(rival_name_setting, std::string(found.mpi->name) + (against.async ? ":async" : ""));
    set(rival_part_setting, shell_word(found.part));
    for (const std::string& setting : settings_of(job)) text += shell_word(setting) + " ";
    text += shell_word(this_program());
    for (const std::string& word : job.arguments) text += " " + shell_word(word);
    return text + " < /dev/null";
}

// Leaves out MPIs that cannot be used, and prints why. Returns the first status that is not 0; 1 if there was no MPI.
int for_each_found(const Against& against, const std::string& source, const std::string& options,
                   const std::function<int(const Found& found)>& measure) {
    const TemporaryFolder temporary;
    int status = 0;
    bool any = false;
    std::vector<const Mpi*> chosen;
    for (const std::string& name : against.mpis) {
        for (const Mpi* mpi : find_mpis(name)) chosen.push_back(mpi);
    }
    for (const Mpi* mpi : chosen) {
        Found found{mpi, "", ""};
        const std::string absence = find(found, temporary.path(), source, options);
        if (!absence.empty()) {
            std::printf("Left out: %s: %s.\n", mpi->name, absence.c_str());
            continue;
        }
        any = true;
        const int ended = measure(found);
        if (status == 0) status = ended;
    }
    return any ? status : 1;
}

}  // namespace

std::vector<std::string> arguments(const Against& against) {
    std::vector<std::string> words;
    for (const std::string& name : against.mpis) words.insert(words.end(), {"--against", name});
    if (against.async) words.emplace_back("--async");
    return words;
}

Status check(const Against& against, const Testbed& testbed) {
    for (const std::string& name : against.mpis) {
        if (find_mpis(name).empty()) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "against = \"%s\"; expected some of mpich, openmpi, impi, or all",
                           name.c_str());
        }
    }
    if (!against.is_wanted() && against.async) {
        return failure(WEFT_REFUSED_ARGUMENT, "--async without --against");
    }
    if (against.is_wanted() && testbed.nodes > 0 && testbed.nodes != testbed.ranks) {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "%d ranks on %d nodes; expected one rank on each node beside an MPI",
                       testbed.ranks, testbed.nodes);
    }
    return ok;
}

int launch_against(const Against& against, const Launch& job) {
    return for_each_found(
        against, "rivals/part.c",
        "-shared -fPIC -pthread -I" + shell_word(WEFT_BENCH_SOURCE_DIR "/include"),
        [&](const Found& found) {
            const std::string command = script(found, against, job);
            if (command.empty()) {
                std::printf("Left out: %s has no asynchronous progress over shared memory.\n",
                            found.mpi->name);
                return 0;
            }
            const int ended = run_ranks(job.testbed, command);
            if (ended != 0) {
                std::printf("The job beside %s failed: status %d.\n", found.mpi->name, ended);
            }
            return ended;
        });
}

int run_program_of_each(const Against& against, const Testbed& testbed, const std::string& source,
                        const std::function<int(const MpiProgram& program)>& measure) {
    return for_each_found(against, source, "", [&](const Found& found) {
        const auto run = [&](const std::vector<std::string>& words, bool async) {
            std::string text = start_of_ranks(found, async, testbed);
            for (const std::string& word : words) text += shell_word(word) + " ";
            return run_ranks(testbed, text + "< /dev/null");
        };
        const bool has_async = !start_of_ranks(found, true, testbed).empty();
        return measure({found.mpi->name, found.part, has_async, run});
    });
}

std::vector<int> cores_of_ranks(const Testbed& testbed) {
    return testbed.nodes > 0 ? std::vector<int>() : testbed.cores_of_ranks();
}

void bind_rank(const Testbed& testbed) {
    if (std::getenv(rival_name_setting) == nullptr) return;  // `weft run` has done it
    const std::vector<int> cores = cores_of_ranks(testbed);
    if (cores.empty()) return;
    const int rank = launched_rank();
    if (rank < 0) fail("the launcher does not say which rank this is");
    const int core = cores[static_cast<std::size_t>(rank) % cores.size()];
    if (!bind_to({core})) fail("rank %d cannot be bound to core %d", rank, core);
}

}  // namespace weft::bench
