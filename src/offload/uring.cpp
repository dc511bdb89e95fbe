#include "offload/uring.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/thread.h"
#include "offload/uring_list.h"

namespace weft::kernel {
namespace {

// REQUIRES: a thread that ends soon. Closing a ring, also by another number, interrupts the threads
// that made or used it once more, a little later. Returns an errno, or 0.
int set_up(unsigned depth, io_uring& ring, io_uring_params& params) {
    if (const int error = -io_uring_queue_init_params(depth, &ring, &params); error != 0)
        return error;
    if (Fd::is_free_of_streams(ring.ring_fd)) return 0;
    const int moved = fcntl(ring.ring_fd, F_DUPFD_CLOEXEC, Fd::first);
    if (moved < 0) {
        const int error = errno;
        io_uring_queue_exit(&ring);
        return error;
    }
    ::close(std::exchange(ring.ring_fd, moved));
    ring.enter_ring_fd = moved;
    return 0;
}

// The number of entries that may wait.
std::uint64_t cancellable(const List& list) {
    return std::uint64_t{list.id} << 2 | static_cast<std::uint64_t>(CqeKind::failure);
}

std::string try_chains() {
    const auto sentence = [](const char* what, int error) {
        return std::string(what) + ": " + std::strerror(error);
    };
    io_uring uring{};
    io_uring_params params{};
    if (const int error = set_up(8, uring, params); error != 0)
        return sentence("io_uring cannot be set up", error);
    struct Closer {
        io_uring& uring;
        ~Closer() { io_uring_queue_exit(&uring); }
    } closer{uring};
    if ((params.features & IORING_FEAT_CQE_SKIP) == 0)
        return "the operating system's io_uring is too old (needs Linux 5.19)";
    const Fd here(eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC));
    const Fd there(eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC));
    if (!here || !there) return sentence("no descriptor for an eventfd", errno);

    // A chain that waits for a token and passes it on, and one that is cancelled.
    std::uint64_t token = 1;
    std::uint64_t taken[2] = {};
    for (std::uint64_t chain = 0; chain < 2; ++chain) {
        io_uring_sqe* sqe = io_uring_get_sqe(&uring);
        io_uring_prep_read(sqe, here.get(), &taken[chain], sizeof token, 0);
        sqe->flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
        io_uring_sqe_set_data64(sqe, chain);
        sqe = io_uring_get_sqe(&uring);
        io_uring_prep_write(sqe, there.get(), &token, sizeof token, 0);
        sqe->flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
        io_uring_sqe_set_data64(sqe, chain);
        sqe = io_uring_get_sqe(&uring);
        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, chain);
    }
    int submitted = io_uring_submit(&uring);
    if (submitted != 6)
        return sentence("io_uring takes no chain", submitted < 0 ? -submitted : EIO);
    const auto outcome = [&]() -> int {
        __kernel_timespec second{1, 0};
        io_uring_cqe* cqe = nullptr;
        if (const int error = io_uring_wait_cqe_timeout(&uring, &cqe, &second); error != 0)
            return error;
        const int result = cqe->res;
        io_uring_cqe_seen(&uring, cqe);
        return result;
    };
    if (write(here.get(), &token, sizeof token) != sizeof token)
        return sentence("an eventfd cannot be written", errno);
    if (const int result = outcome(); result != 0)
        return sentence("a chain of io_uring does not run", -result);
    std::uint64_t passed = 0;
    if (read(there.get(), &passed, sizeof passed) != sizeof passed)
        return "a chain of io_uring does not run in order";
    io_uring_sqe* sqe = io_uring_get_sqe(&uring);
    const std::uint64_t left = taken[0] != 0 ? 1 : 0;
    io_uring_prep_cancel64(sqe, left, IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data64(sqe, 2);
    (void)io_uring_submit(&uring);
    const int first = outcome();
    const int second = outcome();
    if (first != -ECANCELED && second != -ECANCELED)
        return "io_uring cannot call a chain off (needs Linux 5.19)";
    return {};
}

}  // namespace

Ring::~Ring() { close(); }

void Ring::close() {
    if (std::exchange(is_open_, false)) io_uring_queue_exit(&ring_);
}

Status Ring::open(unsigned depth) {
    io_uring_params params{};
    int error = 0;
    if (run_in_thread([&] { error = set_up(depth, ring_, params); }) != 0)
        return failure(WEFT_REFUSED_MEMORY, "no thread to set io_uring up in");
    if (error != 0)
        return failure(WEFT_REFUSED_UNSUPPORTED, "io_uring_setup: %s", std::strerror(error));
    is_open_ = true;
    depth_ = params.sq_entries;
    // A forked child must not touch it.
    (void)io_uring_ring_dontfork(&ring_);
    return ok;
}

io_uring_sqe* Ring::next() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    WEFT_ASSERT(sqe != nullptr);
    return sqe;
}

void Ring::finish(io_uring_sqe* sqe, const List& list, CqeKind kind, bool is_last) {
    io_uring_sqe_set_data64(sqe, std::uint64_t{list.id} << 2 | static_cast<std::uint64_t>(kind));
    unsigned flags = 0;
    if (!is_last) flags |= IOSQE_IO_LINK;
    if (kind == CqeKind::failure) flags |= IOSQE_CQE_SKIP_SUCCESS;
    sqe->flags = static_cast<std::uint8_t>(flags);
}

void Ring::add(List& list, std::uint32_t from, std::uint32_t to, int takes, int gives) {
    const int socket = list.hold.socket;
    if (takes >= 0) {
        io_uring_sqe* sqe = next();
        io_uring_prep_read(sqe, takes, &taken_, token_bytes, 0);
        finish(sqe, list, CqeKind::failure, false);
    }
    for (std::uint32_t i = from; i < to; ++i) {
        const Entry& entry = list.entries[i];
        io_uring_sqe* sqe = next();
        CqeKind kind = CqeKind::failure;
        switch (entry.kind) {
            case Entry::Kind::first: {
                msghdr* vector = &list.messages[entry.number].vector;
                if (list.tasks.sends)
                    io_uring_prep_sendmsg(sqe, socket, vector, MSG_WAITALL | MSG_NOSIGNAL);
                else
                    io_uring_prep_recvmsg(sqe, socket, vector, MSG_WAITALL);
                break;
            }
            case Entry::Kind::more: {
                std::byte* data = list.base(entry.buffer) + entry.offset;
                if (list.tasks.sends)
                    io_uring_prep_send(sqe, socket, data, entry.bytes, MSG_WAITALL | MSG_NOSIGNAL);
                else
                    io_uring_prep_recv(sqe, socket, data, entry.bytes, MSG_WAITALL);
                break;
            }
            case Entry::Kind::take:
                io_uring_prep_read(sqe, list.home.semaphore(entry.number), &taken_, token_bytes, 0);
                break;
            case Entry::Kind::give:
                io_uring_prep_write(sqe, list.home.semaphore(entry.number), &one_, token_bytes, 0);
                break;
            case Entry::Kind::go:
                io_uring_prep_read(sqe, list.go.get(), &taken_, token_bytes, 0);
                break;
            case Entry::Kind::report:
                io_uring_prep_nop(sqe);
                kind = CqeKind::report;
                break;
        }
        finish(sqe, list, kind, false);
    }
    io_uring_sqe* sqe = next();
    io_uring_prep_write(sqe, gives, &one_, token_bytes, 0);
    finish(sqe, list, CqeKind::end, true);
}

bool Ring::cancel(const List& list) {
    io_uring_sync_cancel_reg wanted{};
    wanted.addr = cancellable(list);
    wanted.fd = -1;
    wanted.flags = IORING_ASYNC_CANCEL_ALL;
    // (With a timeout of 0: does not wait for what a thread of the kernel has at hand.)
    const int error = -cancel_in_kernel(&ring_, &wanted);
    return error <= 0 || error == ENOENT || error == EALREADY || error == ETIME || error == EINTR;
}

void Ring::add_cancel(const List& list) {
    io_uring_sqe* sqe = next();
    io_uring_prep_cancel64(sqe, cancellable(list), IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data64(sqe, of_nobody);
    sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
}

// Within a chain silent, at its end a report of no token.
void Ring::disarm(io_uring_sqe& entry) {
    const bool is_last = (entry.flags & IOSQE_IO_LINK) == 0;
    const std::uint64_t list = entry.user_data & ~std::uint64_t{3};
    io_uring_prep_nop(&entry);
    entry.user_data = list | static_cast<std::uint64_t>(is_last ? CqeKind::end : CqeKind::failure);
    entry.flags = is_last ? 0 : IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
}

std::uint32_t Ring::withdraw(const List& list) {
    std::uint32_t chains = 0;
    for (unsigned left = io_uring_sq_ready(&ring_); left > 0; --left) {
        io_uring_sqe& entry = entry_from_end(left);
        if (entry.user_data == of_nobody || entry.user_data >> 2 != list.id) continue;
        chains += (entry.flags & IOSQE_IO_LINK) == 0;
        io_uring_prep_nop(&entry);
        entry.user_data = of_nobody;
        entry.flags = IOSQE_CQE_SKIP_SUCCESS;
    }
    return chains;
}

Ring::Submitted Ring::submit() {
    while (has_left()) {
        const unsigned before = io_uring_sq_ready(&ring_);
        const int submitted = submit_to_kernel(&ring_);
        WEFT_ASSERT(submitted >= 0 || submitted == -EAGAIN || submitted == -EBUSY ||
                    submitted == -EINTR || submitted == -ENOMEM);
        unsigned left = io_uring_sq_ready(&ring_);
        if (left == before) return Submitted::later;
        if (left == 0 || (entry_from_end(left + 1).flags & IOSQE_IO_LINK) == 0) continue;
        cut_list_ = static_cast<std::uint32_t>(entry_from_end(left).user_data >> 2);
        bool is_linked = true;
        for (; is_linked; --left) {
            is_linked = (entry_from_end(left).flags & IOSQE_IO_LINK) != 0;
            disarm(entry_from_end(left));
        }
        return Submitted::cut;
    }
    return Submitted::all;
}

void Ring::wait(std::int64_t timeout_ns) {
    __kernel_timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    io_uring_cqe* cqe = nullptr;
    (void)io_uring_wait_cqe_timeout(&ring_, &cqe, &timeout);
}

bool Ring::is_empty() {
    return io_uring_cq_ready(&ring_) == 0 && !io_uring_cq_has_overflow(&ring_);
}

std::string why_not() {
    std::string why;
    if (run_in_thread([&] { why = try_chains(); }) != 0) return "no thread to try io_uring in";
    return why;
}

}  // namespace weft::kernel
