#include "transport/ucx/connections.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <memory>
#include <new>

namespace weft::ucx {

namespace {

constexpr int depth_max = 4;  // of epolls in epolls, as the kernel's

}  // namespace

void Connections::end_silent(std::span<const int> worker_descriptors, std::int64_t now_ns) {
    try {
        for (const int descriptor : worker_descriptors) look_into(descriptor, 0, now_ns);
    } catch (const std::bad_alloc&) {
        return;  // there may be memory the next time
    }
    std::erase_if(known_, [&](const auto& entry) { return entry.second.seen_ns != now_ns; });
}

// Its entries: "tfd: 12 events: 19 data: 559da5cb4e30 pos:0 ino:494f02f sdev:9". A descriptor that
// is not an epoll has none.
void Connections::look_into(int epoll, int depth, std::int64_t now_ns) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
    const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path, "re"), fclose);
    if (!file) return;
    for (char line[256]; fgets(line, sizeof line, file.get()) != nullptr;) {
        int descriptor = -1;
        unsigned long inode = 0;
        const char* const where = strstr(line, " ino:");
        if (where == nullptr || sscanf(line, "tfd: %d", &descriptor) != 1 ||
            sscanf(where, " ino:%lx", &inode) != 1)
            continue;
        struct stat status {};
        // (The number may stand for another file by now.)
        if (fstat(descriptor, &status) != 0 || status.st_ino != inode) continue;
        if (S_ISSOCK(status.st_mode))
            look_at(descriptor, inode, now_ns);
        else if (depth < depth_max)
            look_into(descriptor, depth + 1, now_ns);
    }
}

void Connections::look_at(int socket, ino_t inode, std::int64_t now_ns) {
    const auto [place, is_new] = known_.try_emplace(inode);
    Connection& connection = place->second;
    connection.seen_ns = now_ns;
    if (is_new && keeps_alive_) keep_alive(socket, timeout_ns_);
    if (connection.silence.is_too_long(socket, now_ns, timeout_ns_)) shutdown(socket, SHUT_RDWR);
}

}  // namespace weft::ucx
