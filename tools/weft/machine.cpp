#include "weft/machine.h"

#include <sys/utsname.h>

#include <fstream>

namespace weft {

cpu_set_t own_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) CPU_ZERO(&cores);
    return cores;
}

std::vector<int> own_core_list() {
    const cpu_set_t mine = own_cores();
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &mine)) cores.push_back(core);
    }
    return cores;
}

bool bind_to(const std::vector<int>& cores) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int core : cores) {
        if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &mask);
    }
    return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

std::string comma_list(const std::vector<int>& numbers) {
    std::string text;
    for (int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
}

std::string core_list(const cpu_set_t& cores) {
    std::string text;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &cores)) continue;
        int last = core;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cores)) ++last;
        text += (text.empty() ? "" : ",") + std::to_string(core);
        if (last > core) text += "-" + std::to_string(last);
        core = last;
    }
    return text;
}

std::string kernel() {
    utsname system{};
    uname(&system);
    return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
    }
    return "unknown";
}

}  // namespace weft
