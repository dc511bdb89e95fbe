// An io_uring, and chains of linked entries for it.
//
// Rules for every entry, each found by experiment (docs/decisions/0004-kernel-engine.md):
//   - IOSQE_IO_LINK: an entry that fails ends its chain
//   - transfers with MSG_WAITALL: complete, or failed
//   - IOSQE_CQE_SKIP_SUCCESS, except for reports and the last of a chain: one completion per chain
//     gives its outcome
//   - the ring is set up without flags: with some, steps wait until the program enters the kernel
//
// Thread safety: none; the progress engine's lock covers it.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <string>

#include "base/status.h"
#include "engine/kernel/list.h"

namespace weft::kernel {

// What an entry's completion stands for.
enum class CqeKind : std::uint8_t {
    failure = 0,  // of an entry within a chain
    report = 1,
    end = 2,  // of a chain
};

class Ring {
  public:
    Ring() = default;
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    // `depth`: entries submitted at a time.
    Status open(unsigned depth);
    void close();
    bool is_open() const { return is_open_; }
    unsigned depth() const { return depth_; }
    int fd() const { return ring_.ring_fd; }

    // Adds entries [from, to) of the list as a chain that first takes a token from `takes` (-1:
    // none), and gives one to `gives` at its end.
    void add(List& list, std::uint32_t from, std::uint32_t to, int takes, int gives);
    // Adds a cancellation of all chains of the list.
    void add_cancel(const List& list);
    // Submits what was added. The calling thread owns it from now on.
    void submit();
    // As submit(), and waits for a completion for at most so long.
    void wait(std::int64_t timeout_ns);

    bool is_empty();
    // Calls visit(list id, CqeKind, result) for each completion.
    template <class Visit>
    void reap(Visit visit) {
        io_uring_cqe* cqe = nullptr;
        while (io_uring_peek_cqe(&ring_, &cqe) == 0 && cqe != nullptr) {
            const std::uint64_t data = cqe->user_data;
            const int result = cqe->res;
            io_uring_cqe_seen(&ring_, cqe);
            if (data == of_nobody) continue;
            visit(static_cast<std::uint32_t>(data >> 2), static_cast<CqeKind>(data & 3), result);
        }
    }

    static constexpr std::int64_t token_bytes = 8;

  private:
    static constexpr std::uint64_t of_nobody = ~std::uint64_t{0};

    io_uring_sqe* next();
    void finish(io_uring_sqe* sqe, const List& list, CqeKind kind, bool is_last);

    io_uring ring_{};
    unsigned depth_ = 0;
    bool is_open_ = false;
    std::uint64_t taken_ = 0;  // what tokens are read into
    const std::uint64_t one_ = 1;
};

// Why this process cannot use io_uring; empty: it can. Tries real chains.
std::string why_not();

}  // namespace weft::kernel
