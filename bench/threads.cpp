// Reads /proc/self/task.
#include "bench/threads.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace weft::bench {

std::vector<pid_t> threads_named(std::string_view beginning) {
    std::vector<pid_t> found;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name.starts_with(beginning)) found.push_back(std::atoi(task.path().filename().c_str()));
    }
    return found;
}

}  // namespace weft::bench
