#include "base/node.h"

#include <limits.h>
#include <unistd.h>

#include <fstream>

namespace weft {
namespace {

std::string namespace_name(const char* link) {
    char name[64];
    const ssize_t length = readlink(link, name, sizeof name);
    return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : "?";
}

}  // namespace

std::string this_node() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    std::string node = boot + "," + host + "," + namespace_name("/proc/self/ns/net") + "," +
                       namespace_name("/proc/self/ns/pid");
    for (char& c : node)
        if (c <= ' ' || c == '/') c = '_';
    return node;
}

}  // namespace weft
