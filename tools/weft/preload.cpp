// `weft preload`: runs an MPI program with the drop-in library, or prints the settings for that.
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "weft/commands.h"
#include "weft/dropin_library.h"

namespace weft {

std::filesystem::path dropin_folder() {
    std::error_code error;
    const std::filesystem::path here =
        std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    for (const std::filesystem::path& folder : {here, here / WEFT_LIBRARY_FOLDER}) {
        if (std::filesystem::exists(folder / "libweft_mpi.so", error)) {
            return std::filesystem::weakly_canonical(folder, error);
        }
    }
    return {};
}

namespace {

struct PreloadOptions {
    std::string mpi;
    bool prints = false;
    bool checks = false;
    std::vector<std::string> command;
};

[[noreturn]] void refuse_preload(const std::string& why) {
    std::fprintf(stderr, "weft preload: %s\n", why.c_str());
    throw CLI::RuntimeError(2);
}

// What the dynamic linker loads first: ours last, because some libraries must be the first, as AddressSanitizer's runtime.
std::string preloaded_with(const std::string& library) {
    const char* given = std::getenv("LD_PRELOAD");
    std::string libraries = given ? given : "";
    std::ranges::replace(libraries, ' ', ':');
    if ((":" + libraries + ":").find(":" + library + ":") != libraries.npos) return libraries;
    return libraries.empty() ? library : libraries + ":" + library;
}

// Its runtime refuses to come behind another library, unless it is told to: a program has it as a library of its own.
// (This one replaces nothing of the C library.) What the user has set comes later, and counts.
void let_sanitizer_come_later() {
    const char* given = std::getenv("ASAN_OPTIONS");
    const std::string options = "verify_asan_link_order=0" + std::string(given ? ":" : "");
    setenv("ASAN_OPTIONS", (options + (given ? given : "")).c_str(), 1);
}

// A launcher starts many of these: one of them speaks.
bool is_first_rank() {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "WEFT_RANK"}) {
        if (const char* rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
    }
    return true;
}

// The file that execvp() would run; empty: there is none.
std::filesystem::path program_file(const std::string& name) {
    if (name.find('/') != name.npos) return name;
    const char* folders = std::getenv("PATH");
    std::istringstream list(folders ? folders : "");
    for (std::string folder; std::getline(list, folder, ':');) {
        const std::filesystem::path file = std::filesystem::path(folder) / name;
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

// Whether the dynamic linker, which LD_PRELOAD speaks to, starts the program.
bool is_static(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    ElfW(Ehdr) header{};
    if (!stream.read(reinterpret_cast<char*>(&header), sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(ElfW(Phdr)))
        return false;
    stream.seekg(static_cast<std::streamoff>(header.e_phoff));
    for (int i = 0; i < header.e_phnum; ++i) {
        ElfW(Phdr) part{};
        if (!stream.read(reinterpret_cast<char*>(&part), sizeof part) || part.p_type == PT_INTERP)
            return false;
    }
    return true;
}

// Why the program would not get the library; empty: it will.
std::string obstacle_of(const std::filesystem::path& file) {
    struct stat about {};
    if (is_static(file)) return "is linked statically";
    if (stat(file.c_str(), &about) == 0 && (about.st_mode & (S_ISUID | S_ISGID)) != 0)
        return "runs with the rights of its owner";
    return "";
}

// The library itself says what else may be missing: which libraries a program loads shows only there.
// (A shell's script may contain anything.)
void expect_an_mpi(const std::string& program) {
    const std::string name = std::filesystem::path(program).filename();
    const bool is_shell = name == "sh" || name == "bash" || name == "dash" || name == "zsh";
    if (is_shell || !is_first_rank()) {
        unsetenv("WEFT_PRELOAD_PID");
        return;
    }
    setenv("WEFT_PRELOAD_PID", std::to_string(getpid()).c_str(), 1);
    const std::string obstacle = obstacle_of(program_file(program));
    if (obstacle.empty()) return;
    std::fprintf(stderr, "weft preload: %s %s: LD_PRELOAD has no effect, and nothing is taken\n",
                 program.c_str(), obstacle.c_str());
}

void preload(const PreloadOptions& options) {
    const std::filesystem::path folder = dropin_folder();
    if (folder.empty())
        refuse_preload(
            "this build has no libweft_mpi.so; it needs an MPI's mpicc when Weft is configured");
    std::string parts;
    for (const char* part : dropin_parts) {
        if (!std::filesystem::exists(folder / ("weft_mpi_" + std::string(part) + ".so"))) continue;
        parts += (parts.empty() ? "" : ", ") + std::string(part);
    }
    if (!options.mpi.empty() &&
        (", " + parts + ",").find(", " + options.mpi + ",") == std::string::npos) {
        refuse_preload("no part for the binary interface of " + options.mpi +
                       " was built; there is: " + (parts.empty() ? "none" : parts));
    }
    const std::string libraries = preloaded_with((folder / "libweft_mpi.so").string());
    if (options.prints) {
        std::printf("LD_PRELOAD=%s\n", libraries.c_str());
        return;
    }
    if (options.command.empty()) refuse_preload("no program given");
    setenv("LD_PRELOAD", libraries.c_str(), 1);
    let_sanitizer_come_later();
    if (options.checks) setenv("WEFT_PRELOAD_CHECK", "1", 1);
    expect_an_mpi(options.command[0]);
    std::vector<char*> arguments;
    for (const std::string& word : options.command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    refuse_preload("cannot run " + options.command[0] + ": " + std::strerror(errno));
}

}  // namespace

void add_preload(CLI::App& app) {
    auto options = std::make_shared<PreloadOptions>();
    CLI::App* command = app.add_subcommand(
        "preload",
        "Run an MPI program whose collectives Weft takes: mpiexec -n 4 weft preload PROGRAM");
    command->prefix_command();
    command
        ->add_option(
            "--mpi", options->mpi,
            "Refuse if this build has no part for it: mpich (also Intel MPI), openmpi, abi")
        ->check(CLI::IsMember({"mpich", "openmpi", "abi"}));
    command->add_flag("--print", options->prints,
                      "Print the environment variable instead, for a job script");
    command->add_flag("--check", options->checks,
                      "MPI_Init lets every rank talk to every other, and says so");
    command->callback([command, options] {
        options->command = command->remaining();
        if (!options->command.empty() && options->command[0].starts_with('-')) {
            throw CLI::ExtrasError(std::vector<std::string>{options->command[0]});
        }
        preload(*options);
    });
}

}  // namespace weft
