#include "weft/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>

namespace weft {
namespace {

constexpr int own_network = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS;

bool write_file(const char* path, const std::string& text) {
    int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    int error = errno;
    ::close(fd);
    errno = error;
    return is_written;
}

// Makes this user root of a new user namespace.
bool become_root() {
    const std::string user = std::to_string(::geteuid());
    const std::string group = std::to_string(::getegid());
    return ::unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/uid_map", "0 " + user + " 1") &&
           write_file("/proc/self/gid_map", "0 " + group + " 1");
}

// The descriptor that `open` returns. It may move this process into another network, which this leaves again.
template <class Open>
int open_and_return(Open open) {
    const int here = this_network();
    if (here < 0) return -1;
    int made = open();
    int error = errno;
    if (::setns(here, CLONE_NEWNET) != 0) {
        error = errno;
        if (made >= 0) ::close(made);
        made = -1;
    }
    ::close(here);
    errno = error;
    return made;
}

// Later mounts are visible to this process only.
bool keep_mounts_private() {
    return ::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
}

}  // namespace

Status leave_for_own_network() {
    const bool is_alone = ::unshare(own_network) == 0 ||
                          (errno == EPERM && become_root() && ::unshare(own_network) == 0);
    if (is_alone && keep_mounts_private()) return ok;
    const char* reason = errno == ENOSPC ? "the limit of namespaces is reached (/proc/sys/user)"
                                         : std::strerror(errno);
    return failure(WEFT_REFUSED_UNSUPPORTED,
                   "--nodes needs network namespaces, as root or through a user namespace, and "
                   "this system allows neither: %s",
                   reason);
}

int this_network() { return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); }

int new_network() {
    return open_and_return([] { return ::unshare(CLONE_NEWNET) == 0 ? this_network() : -1; });
}

int socket_in(int network, int type) {
    return open_and_return([network, type] {
        if (::setns(network, CLONE_NEWNET) != 0) return -1;
        return ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
    });
}

int open_in(int network, const char* path) {
    return open_and_return([network, path] {
        if (::setns(network, CLONE_NEWNET) != 0) return -1;
        return ::open(path, O_RDWR | O_CLOEXEC);
    });
}

bool enter_network(int network, const std::string& host_name, bool has_sysfs) {
    return ::setns(network, CLONE_NEWNET) == 0 && ::unshare(CLONE_NEWUTS | CLONE_NEWNS) == 0 &&
           ::sethostname(host_name.data(), host_name.size()) == 0 && keep_mounts_private() &&
           (!has_sysfs || mount_own_sysfs());
}

bool mount_own_sysfs() {
    struct statvfs old {};
    if (::statvfs("/sys", &old) != 0) return false;
    // A user namespace must not loosen what the old mount forbids.
    const unsigned long read_only = (old.f_flag & ST_RDONLY) != 0 ? MS_RDONLY : 0;
    return ::mount("weft", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | read_only,
                   nullptr) == 0;
}

}  // namespace weft
