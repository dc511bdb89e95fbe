// Creating and mapping segments.
#include "transport/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <bit>
#include <new>

#include "base/cancellation.h"
#include "base/error_text.h"
#include "base/file_limit_signal.h"

namespace weft::shm {

// Doorbells on eventfds.

Result<Doorbells> Doorbells::create() {
    Doorbells bells;
    for (Fd& fd : bells.fds_) {
        fd = Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        if (!fd)
            return failure(WEFT_REFUSED_MEMORY, "cannot create an eventfd: %s",
                           error_text(errno).c_str());
    }
    return bells;
}

Result<Doorbells> Doorbells::duplicate() const {
    Doorbells bells;
    for (std::size_t i = 0; i < count; ++i) {
        bells.fds_[i] = Fd(fcntl(fds_[i].get(), F_DUPFD_CLOEXEC, Fd::first));
        if (!bells.fds_[i])
            return failure(WEFT_REFUSED_MEMORY, "cannot duplicate an eventfd: %s",
                           error_text(errno).c_str());
    }
    return bells;
}

// A write fails only when the counter is full, a read only when it is empty: the intended state
// in both cases.
void Doorbells::ring(Sleeper sleeper) const {
    const Uncancelled uncancelled;
    (void)eventfd_write(fd(sleeper), 1);
}

void Doorbells::silence(Sleeper sleeper) const {
    const Uncancelled uncancelled;
    eventfd_t count_of_rings;
    (void)eventfd_read(fd(sleeper), &count_of_rings);
}

namespace {

constexpr std::uint64_t segment_magic = 0x3230'6d68'7374'6677;  // its last digits: the version
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t page_bytes = 4096;

std::size_t round_to_page(std::size_t bytes) {
    return (bytes + page_bytes - 1) & ~(page_bytes - 1);
}

constexpr std::size_t demands_offset = sizeof(SegmentHeader);
static_assert(demands_offset % slot_bytes == 0);

std::size_t controls_offset(SegmentShape shape) {
    return round_to_page(demands_offset + shape.rings * sizeof(std::atomic<std::uint64_t>));
}

std::size_t data_offset(SegmentShape shape) {
    return round_to_page(controls_offset(shape) + shape.rings * sizeof(RingControl));
}

std::size_t segment_bytes(SegmentShape shape) {
    return data_offset(shape) + shape.rings * shape.ring_bytes;
}

Result<std::byte*> map(int fd, std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return failure(WEFT_REFUSED_MEMORY, "cannot map %zu bytes of shared memory: %s", bytes,
                       strerror(errno));
    return static_cast<std::byte*>(memory);
}

bool resize(int fd, std::size_t bytes) {
    const FileLimitSignalHeld held;
    return ftruncate(fd, static_cast<off_t>(bytes)) == 0;
}

Status cannot_create(const char* call, std::size_t bytes) {
    const int error = errno;
    rlimit limit{};
    if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)
        return failure(WEFT_REFUSED_MEMORY,
                       "cannot create %zu bytes of shared memory: no file may be larger than %llu "
                       "bytes (ulimit -f, RLIMIT_FSIZE)",
                       bytes, static_cast<unsigned long long>(limit.rlim_cur));
    return failure(WEFT_REFUSED_MEMORY, "cannot create %zu bytes of shared memory: %s: %s", bytes,
                   call, error_text(error).c_str());
}

Fd new_file() { return Fd(memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING)); }

}  // namespace

Status Segment::check_support() {
    // (Exhausted resources are refused by create().)
    if (new_file() || (errno != ENOSYS && errno != EPERM && errno != EACCES)) return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED, "cannot create shared memory: memfd_create: %s",
                   error_text(errno).c_str());
}

Segment::Segment(Fd fd, std::byte* memory, SegmentShape shape)
    : fd_(std::move(fd)), memory_(memory), shape_(shape) {}

Segment::~Segment() { munmap(memory_, segment_bytes(shape_)); }

Result<std::shared_ptr<Segment>> Segment::create(SegmentShape shape) {
    const std::size_t bytes = segment_bytes(shape);
    Fd fd = new_file();
    if (!fd) return cannot_create("memfd_create", bytes);
    if (!resize(fd.get(), bytes)) return cannot_create("ftruncate", bytes);
    if (fcntl(fd.get(), F_ADD_SEALS, size_seals) != 0)
        return cannot_create("fcntl(F_ADD_SEALS)", bytes);
    Result<std::byte*> memory = map(fd.get(), bytes);
    if (!memory.is_ok()) return memory.status();

    auto* header = new (*memory) SegmentHeader;
    header->rings = shape.rings;
    header->ring_bytes = shape.ring_bytes;
    header->magic = segment_magic;
    for (std::size_t i = 0; i < shape.rings; ++i) {
        new (*memory + demands_offset + i * sizeof(std::uint64_t)) std::atomic<std::uint64_t>(0);
        new (*memory + controls_offset(shape) + i * sizeof(RingControl)) RingControl;
    }
    return std::make_shared<Segment>(std::move(fd), *memory, shape);
}

Result<std::shared_ptr<Segment>> Segment::open(int received_fd, std::size_t rings) {
    Fd fd(fcntl(received_fd, F_DUPFD_CLOEXEC, Fd::first));
    struct stat info {};
    if (!fd || fstat(fd.get(), &info) != 0)
        return failure(WEFT_REFUSED_MEMORY, "cannot use a peer's shared memory: %s",
                       error_text(errno).c_str());
    const int seals = fcntl(fd.get(), F_GET_SEALS);
    if (seals < 0 || (seals & size_seals) != size_seals ||
        static_cast<std::size_t>(info.st_size) < sizeof(SegmentHeader))
        return failure(WEFT_BROKEN_MESSAGE, "what a peer sent is not Weft's shared memory");
    const auto bytes = static_cast<std::size_t>(info.st_size);
    Result<std::byte*> memory = map(fd.get(), bytes);
    if (!memory.is_ok()) return memory.status();

    const auto* header = reinterpret_cast<SegmentHeader*>(*memory);
    const SegmentShape shape{header->rings, header->ring_bytes};
    const bool understood = header->magic == segment_magic && shape.rings == rings &&
                            std::has_single_bit(shape.ring_bytes) && shape.ring_bytes <= bytes &&
                            segment_bytes(shape) == bytes;
    if (!understood) {
        munmap(*memory, bytes);
        return failure(WEFT_BROKEN_MESSAGE,
                       "a peer's shared memory has another layout: another version of Weft?");
    }
    return std::make_shared<Segment>(std::move(fd), *memory, shape);
}

std::atomic<std::uint64_t>* Segment::demands() const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + demands_offset);
}

RingMemory Segment::ring(std::size_t index) const {
    WEFT_ASSERT(index < shape_.rings);
    auto* controls = reinterpret_cast<RingControl*>(memory_ + controls_offset(shape_));
    return {controls + index, memory_ + data_offset(shape_) + index * shape_.ring_bytes,
            shape_.ring_bytes};
}

}  // namespace weft::shm
