#include "weft/machine.h"

#include <sys/utsname.h>

#include <fstream>

namespace weft {

std::string comma_list(const std::vector<int>& numbers) {
    std::string text;
    for (int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
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
