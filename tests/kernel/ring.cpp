// The parts of the tests of io_uring.
#include "tests/kernel/ring.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace weft::test {
namespace {

// What semaphores' entries read and write. What is read is of no interest.
const std::uint64_t one_token = 1;
std::uint64_t taken_token = 0;

std::string sentence(const char* what, int result) {
    return std::string(what) + ": " + std::strerror(-result);
}

Fd listener(sockaddr_in& address) {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd.get(), any, length), 0) << std::strerror(errno);
    EXPECT_EQ(listen(fd.get(), 1), 0) << std::strerror(errno);
    EXPECT_EQ(getsockname(fd.get(), any, &length), 0) << std::strerror(errno);
    return fd;
}

void be_bounded(const Fd& fd) {
    const timeval patience{patience_ms / 1000, 0};
    const int on = 1;
    EXPECT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    EXPECT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
    EXPECT_EQ(setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
}

// In the calling thread.
std::string try_chain() {
    io_uring ring;
    if (const int result = io_uring_queue_init(8, &ring, 0); result < 0) {
        return sentence("io_uring_queue_init", result);
    }
    const Fd tokens = semaphore(1);
    // The second entry waits until it is let go on below.
    for (const bool is_last : {false, false, true}) {
        io_uring_sqe* const entry = io_uring_get_sqe(&ring);
        if (is_last) {
            io_uring_prep_write(entry, tokens.get(), &one_token, sizeof one_token, 0);
        } else {
            io_uring_prep_read(entry, tokens.get(), &taken_token, sizeof taken_token, 0);
            entry->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
        }
    }
    const int submitted = io_uring_submit(&ring);
    const std::uint64_t token = 1;
    std::string why;
    if (submitted < 0) {
        why = sentence("io_uring_submit", submitted);
    } else if (write(tokens.get(), &token, sizeof token) != sizeof token) {
        why = sentence("eventfd", -errno);
    } else {
        io_uring_cqe* done = nullptr;
        __kernel_timespec patience{patience_ms / 1000, 0};
        const int waited = io_uring_wait_cqe_timeout(&ring, &done, &patience);
        if (waited < 0) why = sentence("a chain of three", waited);
        if (waited == 0 && done->res != sizeof token) why = sentence("a chain of three", done->res);
    }
    io_uring_queue_exit(&ring);
    return why;
}

}  // namespace

std::string io_uring_absence() {
    std::string why;
    // Closing a ring interrupts the thread that made it once more (progress_test.cpp).
    std::thread([&] { why = try_chain(); }).join();
    return why;
}

Ring::Ring(unsigned entries) {
    const int result = io_uring_queue_init(entries, &ring_, 0);
    EXPECT_EQ(result, 0) << std::strerror(-result);
}

Ring::~Ring() { io_uring_queue_exit(&ring_); }

io_uring_sqe& Ring::entry() {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) throw std::runtime_error("the ring has no entry left");
    return *entry;
}

void Ring::submit() {
    const int result = io_uring_submit(&ring_);
    EXPECT_GT(result, 0) << std::strerror(-result);
}

void Ring::cancel(std::uint64_t list, std::uint64_t canceler) {
    io_uring_sqe& cancel = entry();
    io_uring_prep_cancel64(&cancel, list, IORING_ASYNC_CANCEL_ALL);
    cancel.user_data = canceler;
    submit();
}

std::optional<RingCompletion> Ring::next(int timeout_ms) {
    io_uring_cqe* done = nullptr;
    __kernel_timespec patience{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000};
    int result = -EINTR;
    while (result == -EINTR) result = io_uring_wait_cqe_timeout(&ring_, &done, &patience);
    if (result < 0) return std::nullopt;
    const RingCompletion completion{done->user_data, done->res};
    io_uring_cqe_seen(&ring_, done);
    return completion;
}

std::vector<RingCompletion> Ring::take(std::size_t count) {
    std::vector<RingCompletion> all;
    while (const auto one = next(all.size() < count ? patience_ms : silence_ms)) {
        all.push_back(*one);
    }
    std::sort(all.begin(), all.end());
    return all;
}

List& List::add(io_uring_sqe& entry) {
    if (last_ != nullptr) last_->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    entry.user_data = name_;
    last_ = &entry;
    return *this;
}

List& List::recv(int fd, std::span<std::byte> bytes) {
    io_uring_sqe& entry = ring_.entry();
    io_uring_prep_recv(&entry, fd, bytes.data(), bytes.size(), MSG_WAITALL);
    return add(entry);
}

List& List::send(int fd, std::span<const std::byte> bytes) {
    io_uring_sqe& entry = ring_.entry();
    io_uring_prep_send(&entry, fd, bytes.data(), bytes.size(), MSG_WAITALL | MSG_NOSIGNAL);
    return add(entry);
}

List& List::take(int semaphore) {
    io_uring_sqe& entry = ring_.entry();
    io_uring_prep_read(&entry, semaphore, &taken_token, sizeof taken_token, 0);
    return add(entry);
}

List& List::give(int semaphore) {
    io_uring_sqe& entry = ring_.entry();
    io_uring_prep_write(&entry, semaphore, &one_token, sizeof one_token, 0);
    return add(entry);
}

void List::start() { ring_.submit(); }

Fd semaphore(unsigned tokens) {
    Fd fd(eventfd(tokens, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC));
    EXPECT_TRUE(fd) << std::strerror(errno);
    return fd;
}

Connection::Connection() {
    sockaddr_in address{};
    const Fd listening = listener(address);
    near = Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(near.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
        << std::strerror(errno);
    far = Fd(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    be_bounded(near);
    be_bounded(far);
}

void write_all(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t moved = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (moved < 0 && errno == EINTR) continue;
        ASSERT_GT(moved, 0) << std::strerror(errno);
        bytes = bytes.subspan(static_cast<std::size_t>(moved));
    }
}

void read_all(int fd, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t moved = ::recv(fd, bytes.data(), bytes.size(), 0);
        if (moved < 0 && errno == EINTR) continue;
        ASSERT_GT(moved, 0) << (moved == 0 ? "closed" : std::strerror(errno));
        bytes = bytes.subspan(static_cast<std::size_t>(moved));
    }
}

ByteVector pattern(std::size_t size, unsigned seed) {
    ByteVector bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>((i + seed * 31) % 251);
    }
    return bytes;
}

int worker_threads() {
    int count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        count += name.starts_with("iou-wrk") ? 1 : 0;
    }
    return count;
}

}  // namespace weft::test
