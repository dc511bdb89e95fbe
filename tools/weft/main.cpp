// The program weft: the list of its subcommands.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "weft/commands.h"
#include "weft/program_main.h"

namespace {

// Names the words of which one is missing; empty: nothing is wrong. (Commands without a group are not shown.)
std::string missing_command(const CLI::App& app, const char* given) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
        if (given && command->get_name() == given) return "";
        if (command->get_group().empty()) continue;
        names += (names.empty() ? "" : ", ") + command->get_name();
    }
    if (given && app.get_option_no_throw(given)) return "";
    return (given ? std::string(given) + " is not a command" : "no command") + "; expected " +
           names + ", or --help";
}

// Standard streams that are closed stay unusable, also for the programs that this one starts; but
// no socket gets their numbers, where output would reach it.
void reserve_closed_streams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) >= 0) continue;
        // The lowest free number: this one.
        const int unusable = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        [[maybe_unused]] const int made = ::open("/dev/null", unusable | O_CLOEXEC);
    }
}

int run(int argc, char** argv) {
    CLI::App app{"Weft: collective operations that run in the background"};
    app.set_version_flag("--version", "weft " WEFT_VERSION);
    app.require_subcommand(1);
    weft::add_run(app);
    weft::add_bench(app);
    weft::add_tune(app);
    weft::add_schedule(app);
    weft::add_simulate(app);
    weft::add_info(app);
    weft::add_preload(app);
    weft::add_enter_node(app);
    if (const std::string missing = missing_command(app, argc > 1 ? argv[1] : nullptr);
        !missing.empty()) {
        std::fprintf(stderr, "weft: %s\n", missing.c_str());
        return 2;
    }
    weft::mark_end_of_options(app, argc, argv);
    CLI11_PARSE(app, argc, argv);
    return 0;
}

}  // namespace

int weft_program_main(int argc, char** argv) {
    reserve_closed_streams();
    // Only the last flush says why it fails. (`weft info` prints more than a usual buffer.)
    static char buffer[1 << 16];
    if (::isatty(STDOUT_FILENO) == 0) std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    const int status = run(argc, argv);
    const int error = std::fflush(stdout) != 0 ? errno : std::ferror(stdout) != 0 ? EIO : 0;
    if (error == 0) return status;
    std::fprintf(stderr, "weft: output is lost: %s\n", std::strerror(error));
    return status != 0 ? status : 1;
}
