// `weft info`: what this build contains and what of the machine matters to it.
#include <cstdio>
#include <fstream>
#include <string>

#include "algorithm/catalogue.h"
#include "bench/engines.h"
#include "weft/build.h"
#include "weft/commands.h"
#include "weft/machine.h"

namespace weft {
namespace {

void print(const char* what, const std::string& value) {
    std::printf("%-14s%s\n", what, value.c_str());
}

std::string cores() {
    const cpu_set_t mine = own_cores();
    return std::to_string(CPU_COUNT(&mine)) + " (" + core_list(mine) + ")";
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

void print_info() {
    const Build build = this_build();
    print("version", build.version);
    print("commit", build.commit);
    print("compiler", build.compiler);
    print("build", std::string(build.build_type) + ": " + build.flags);
    print("engines", names(bench::engines(), [](const bench::Engine& e) { return e.name; }));
    print("transports", names(transports(), [](const char* name) { return name; }));
    if (const char* absence = tcp_absence()) {
        print("tcp", std::string("not in this build: ") + absence);
    }
    for (const algorithm::Family& family : algorithm::catalogue()) {
        print(family.name,
              names(family.algorithms, [](const algorithm::Algorithm* a) { return a->name; }));
    }
    print("kernel", kernel());
    print("processor", cpu_model());
    print("cores", cores());
    print("ptrace_scope", first_line("/proc/sys/kernel/yama/ptrace_scope"));
    print("hugepages", first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
}

}  // namespace

void add_info(CLI::App& app) {
    app.add_subcommand("info", "Show this build and what of the machine matters to it")
        ->callback(print_info);
}

}  // namespace weft
