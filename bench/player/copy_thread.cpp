#include "bench/player/copy_thread.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/cores.h"
#include "bench/player/players.h"

namespace weft::bench {
namespace {

constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::size_t line = 64;

void must_not_fail(bool failed, const char* call) {
    if (failed) fail("copy thread: %s: %s", call, std::strerror(errno));
}

std::size_t second_level_cache() {
    constexpr long least = 1 << 20;
    return static_cast<std::size_t>(std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), least));
}

// The same memory in both processes.
std::byte* shared_memory(const Job& job, std::size_t bytes) {
    struct Place {
        pid_t process;
        int fd;
    };
    Place place = {getpid(), -1};
    if (job.rank == 0) {
        place.fd = memfd_create("weft bench", MFD_CLOEXEC);
        must_not_fail(place.fd < 0 || ftruncate(place.fd, static_cast<off_t>(bytes)) != 0,
                      "memfd_create");
    }
    const Place first = gather(job, std::vector{place})[0];
    if (job.rank != 0) {
        const std::string path =
            "/proc/" + std::to_string(first.process) + "/fd/" + std::to_string(first.fd);
        place.fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
        must_not_fail(place.fd < 0, path.c_str());
    }
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, place.fd, 0);
    must_not_fail(memory == MAP_FAILED, "mmap");
    must(weft_barrier(job.comm), "weft_barrier");
    close(place.fd);
    return static_cast<std::byte*>(memory);
}

// Cuts up to `bytes` off its beginning.
template <class Bytes>
Bytes take(Bytes& from, std::size_t bytes) {
    const Bytes taken = from.first(bytes);
    from = from.subspan(bytes);
    return taken;
}

}  // namespace

// What comes for one rank. All zero at first.
struct CopyThread::Inbox {
    alignas(line) std::atomic<std::uint32_t> bell;  // counts what may let the rank's thread go on
    std::atomic<std::uint32_t> sleeps;
    alignas(line) std::atomic<std::uint64_t> written;
    alignas(line) std::atomic<std::uint64_t> read;

    // The ring's bytes from this position on, up to its end.
    std::span<std::byte> from(std::uint64_t position, std::size_t ring_bytes) {
        std::byte* const ring = reinterpret_cast<std::byte*>(this + 1);
        const std::size_t at = position % ring_bytes;
        return {ring + at, ring_bytes - at};
    }
};

void CopyThread::begin() {
    ring_bytes_ = second_level_cache();
    inbox_bytes_ = sizeof(Inbox) + ring_bytes_;
    std::byte* const memory = shared_memory(job_, 2 * inbox_bytes_);
    for (std::size_t i : {0, 1}) {
        const std::size_t owner =
            i == 0 ? static_cast<std::size_t>(job_.rank) : 1 - static_cast<std::size_t>(job_.rank);
        inboxes_[i] = reinterpret_cast<Inbox*>(memory + owner * inbox_bytes_);
    }
    thread_ = std::thread([this] { run(); });
}

CopyThread::~CopyThread() {
    if (!thread_.joinable()) return;
    stops_ = true;
    ++started_;
    started_.notify_one();
    thread_.join();
    munmap(std::min(inboxes_[0], inboxes_[1]), 2 * inbox_bytes_);
}

void CopyThread::start(const Collective& collective, Case& c) {
    if (!thread_.joinable()) begin();
    left_ = PlainBlocks(collective, c);
    ++started_;
    started_.notify_one();
}

void CopyThread::wait() {
    for (;;) {
        const std::uint32_t ended = ended_.load(std::memory_order_acquire);
        if (ended == started_.load()) return;
        ended_.wait(ended, std::memory_order_acquire);
    }
}

void CopyThread::run() {
    must_not_fail(!bind_to({core_}), ("core " + std::to_string(core_)).c_str());
    for (std::uint32_t done = 0;; ++done) {
        started_.wait(done);
        if (stops_) return;
        move();
        ended_.store(done + 1, std::memory_order_release);
        ended_.notify_one();
    }
}

void CopyThread::move() {
    if (!left_.own.empty()) std::memcpy(left_.own_place, left_.own.data(), left_.own.size());
    Inbox& mine = *inboxes_[0];
    for (;;) {
        const std::uint32_t bell = mine.bell.load();
        const bool has_sent = push();
        const bool has_received = pull();
        if (left_.outgoing.empty() && left_.incoming.empty()) return;
        if (has_sent || has_received) continue;
        mine.sleeps = 1;
        syscall(SYS_futex, &mine.bell, FUTEX_WAIT, bell, nullptr, nullptr, 0);
        mine.sleeps = 0;
    }
}

bool CopyThread::push() {
    Inbox& theirs = *inboxes_[1];
    const std::uint64_t written = theirs.written.load(std::memory_order_relaxed);
    const std::size_t room = ring_bytes_ - (written - theirs.read.load(std::memory_order_acquire));
    const std::span<std::byte> place = theirs.from(written, ring_bytes_);
    const std::size_t bytes = std::min({left_.outgoing.size(), room, place.size(), piece_bytes});
    if (bytes == 0) return false;
    std::memcpy(place.data(), take(left_.outgoing, bytes).data(), bytes);
    theirs.written.store(written + bytes, std::memory_order_release);
    ring_bell(theirs);
    return true;
}

bool CopyThread::pull() {
    Inbox& mine = *inboxes_[0];
    const std::uint64_t read = mine.read.load(std::memory_order_relaxed);
    const std::size_t there = mine.written.load(std::memory_order_acquire) - read;
    const std::span<std::byte> place = mine.from(read, ring_bytes_);
    const std::size_t bytes = std::min({left_.incoming.size(), there, place.size(), piece_bytes});
    if (bytes == 0) return false;
    std::memcpy(take(left_.incoming, bytes).data(), place.data(), bytes);
    mine.read.store(read + bytes, std::memory_order_release);
    ring_bell(*inboxes_[1]);
    return true;
}

void CopyThread::ring_bell(Inbox& inbox) {
    ++inbox.bell;
    if (inbox.sleeps != 0) syscall(SYS_futex, &inbox.bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

std::unique_ptr<Player> make_copy_thread(const Cell& cell, const Job& world, std::string& why) {
    const std::string core = cell.implementation.substr(cell.implementation.find(':') + 1);
    if (core.empty() || core.find_first_not_of("0123456789") != core.npos)
        why = "implementation = \"" + cell.implementation + "\"; expected a core, such as 1";
    else if (world.ranks != 2 || cell.nodes > 0)
        why = "it copies between 2 ranks of one machine";
    return why.empty() ? std::make_unique<CopyThread>(world, std::atoi(core.c_str())) : nullptr;
}

}  // namespace weft::bench
