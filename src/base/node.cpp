#include "base/node.h"

#include <limits.h>
#include <unistd.h>

#include "base/first_line.h"

namespace weft {
namespace {

std::string namespace_name(const char* link) {
    char name[64];
    const ssize_t length = readlink(link, name, sizeof name);
    return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : "?";
}

}  // namespace

std::string this_node() {
    const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    std::string node = boot + "," + host + "," + namespace_name("/proc/self/ns/net") + "," +
                       namespace_name("/proc/self/ns/pid");
    for (char& c : node)
        if (c <= ' ' || c == '/') c = '_';
    return node;
}

}  // namespace weft
