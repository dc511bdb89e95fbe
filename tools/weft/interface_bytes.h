// The traffic of the network interfaces of this process's node.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace weft {

struct InterfaceBytes {
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
};

// Bytes since the interface was made, including headers; 0 if this network namespace has none of
// this name.
inline InterfaceBytes interface_bytes(const std::string& name) {
    // (Unlike /sys/class/net it belongs to this namespace, wherever /sys was mounted.)
    std::ifstream table("/proc/self/net/dev");
    for (std::string line; std::getline(table, line);) {
        const std::size_t colon = line.find(':');
        if (colon == line.npos) continue;
        line[colon] = ' ';
        // name: bytes packets errs drop fifo frame compressed multicast, and again of what was sent
        std::istringstream columns(line);
        std::string word;
        InterfaceBytes bytes;
        columns >> word >> bytes.received;
        if (word != name) continue;
        for (int i = 0; i < 7; ++i) columns >> word;
        columns >> bytes.sent;
        return bytes;
    }
    return {};
}

}  // namespace weft
