// `weft enter-node`, for the agent of an emulated cluster only: runs a shell command in a node.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "base/cores.h"
#include "weft/commands.h"
#include "weft/namespaces.h"

namespace weft {
namespace {

struct Entrance {
    std::string network;  // a path
    std::string host_name;
    std::string command;
    std::vector<int> cores;
    bool has_sysfs = false;
};

// Exits as ssh does when it cannot connect.
[[noreturn]] void enter(const Entrance& to) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // ends with the launcher's process that started it
    const int network = ::open(to.network.c_str(), O_RDONLY | O_CLOEXEC);
    if (network < 0 || !enter_network(network, to.host_name, to.has_sysfs) ||
        (!to.cores.empty() && !bind_to(to.cores))) {
        std::fprintf(stderr, "weft: cannot enter %s: %s\n", to.host_name.c_str(),
                     std::strerror(errno));
        ::_exit(255);
    }
    ::execl("/bin/sh", "sh", "-c", to.command.c_str(), nullptr);
    std::fprintf(stderr, "weft: cannot start /bin/sh: %s\n", std::strerror(errno));
    ::_exit(255);
}

}  // namespace

void add_enter_node(CLI::App& app) {
    auto to = std::make_shared<Entrance>();
    CLI::App* command = app.add_subcommand("enter-node")->group("");
    command->add_option("network", to->network)->required();
    command->add_option("host_name", to->host_name)->required();
    command->add_option("command", to->command)->required();
    command->add_option("--cores", to->cores)->delimiter(',')->allow_extra_args(false);
    command->add_flag("--sysfs", to->has_sysfs);
    command->callback([to] { enter(*to); });
}

}  // namespace weft
