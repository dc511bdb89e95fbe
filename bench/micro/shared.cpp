// Shares a memfd between two ranks by its name under /proc.
#include "bench/micro/shared.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weft::bench {
namespace {

struct Descriptor {
    pid_t process;
    int fd;
};

int create(std::size_t bytes) {
    const int fd = memfd_create("weft-bench", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
        fail("memfd_create: %s", std::strerror(errno));
    }
    return fd;
}

int open_peers(const Descriptor& peer) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", peer.process, peer.fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) fail("%s: %s", path, std::strerror(errno));
    return fd;
}

}  // namespace

SharedMemory::SharedMemory(const Job& job, std::size_t bytes) : bytes_(bytes) {
    Descriptor owner{getpid(), job.rank == 0 ? create(bytes) : -1};
    must(weft_bcast(&owner, sizeof owner, WEFT_BYTE, 0, job.comm), "weft_bcast");
    const int fd = job.rank == 0 ? owner.fd : open_peers(owner);
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (data_ == MAP_FAILED) fail("mmap: %s", std::strerror(errno));
    must(weft_barrier(job.comm), "weft_barrier");  // rank 0 keeps its descriptor until then
    close(fd);
}

SharedMemory::~SharedMemory() { munmap(data_, bytes_); }

}  // namespace weft::bench
