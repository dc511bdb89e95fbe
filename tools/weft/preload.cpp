// `weft preload`: runs an MPI program with the drop-in library, or prints the settings for that.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
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
    std::string libraries = (folder / "libweft_mpi.so").string();
    if (options.prints) {
        std::printf("LD_PRELOAD=%s\n", libraries.c_str());
        return;
    }
    if (options.command.empty()) refuse_preload("no program given");
    if (const char* others = std::getenv("LD_PRELOAD"); others && *others) {
        libraries += ":" + std::string(others);
    }
    setenv("LD_PRELOAD", libraries.c_str(), 1);
    if (options.checks) setenv("WEFT_PRELOAD_CHECK", "1", 1);
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
