// `weft info`: what this build contains and what of the machine matters to it.
#include <sched.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "weft/commands.h"

namespace weft {
namespace {

void print(const char* what, const std::string& value) {
    std::printf("%-14s%s\n", what, value.c_str());
}

// "0-3,8": the cores this process may use.
std::string cores_of_mask() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return "unknown";
    std::string text;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &cores)) continue;
        int last = core;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cores)) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(core);
        if (last > core) text += "-" + std::to_string(last);
        core = last;
    }
    return std::to_string(CPU_COUNT(&cores)) + " (" + text + ")";
}

std::string first_line(const char* path) {
    std::string line;
    std::ifstream file(path);
    return std::getline(file, line) ? line : "absent";
}

void print_info() {
    utsname system{};
    uname(&system);
    print("version", WEFT_VERSION);
    print("kernel", std::string(system.sysname) + " " + system.release + " " + system.machine);
    print("cores", cores_of_mask());
    print("engines", "manual thread thread:poll");
    print("transports", "shm");
    print("ptrace_scope", first_line("/proc/sys/kernel/yama/ptrace_scope"));
    print("hugepages", first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
}

}  // namespace

void add_info(CLI::App& app) {
    app.add_subcommand("info", "Show this build and what of the machine matters to it")
        ->callback(print_info);
}

}  // namespace weft
