#include "startup/ancestors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "base/read_all.h"

namespace weft {
namespace {

constexpr int ancestors_max = 64;

// Empty: it cannot be read.
std::string content_of(pid_t pid, const char* file) {
    const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
    const Fd in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string content;
    if (!in || !read_all(in.get(), content)) return "";
    return content;
}

// Of a process that cannot be seen: 0.
pid_t parent_of(pid_t pid) {
    // "12 (a name) S 11 ..."
    const std::string stat = content_of(pid, "stat");
    const std::size_t name_end = stat.rfind(") ");
    if (name_end == stat.npos || stat.size() < name_end + 5) return 0;
    return static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10));
}

// In the variables with which a process was started, each behind a zero byte.
bool has_as_here(const std::string& variables, VariableNames names) {
    return std::ranges::all_of(names, [&](const char* name) {
        const char* const value = std::getenv(name);
        if (value == nullptr) return false;
        const std::string entry = '\0' + std::string(name) + "=" + value + '\0';
        return variables.find(entry) != variables.npos;
    });
}

}  // namespace

bool were_set_below(VariableNames later, VariableNames earlier) {
    pid_t pid = ::getppid();
    for (int i = 0; i < ancestors_max && pid > 0; ++i, pid = parent_of(pid)) {
        const std::string environment = content_of(pid, "environ");
        if (environment.empty()) return false;
        const std::string variables = '\0' + environment;
        if (!has_as_here(variables, later)) return has_as_here(variables, earlier);
    }
    return false;
}

}  // namespace weft
