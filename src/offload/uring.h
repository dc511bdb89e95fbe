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
#include "offload/uring_list.h"

namespace weft::kernel {

// What an entry's completion stands for.
enum class CqeKind : std::uint8_t {
    failure = 0,  // of an entry within a chain
    report = 1,
    end = 2,  // of a chain
};

// Hands what was added to the kernel; returns how many entries it took, or -errno. Tests replace
// it.
inline int (*submit_to_kernel)(io_uring*) = io_uring_submit;
// Cancels in the kernel, without an entry; returns -errno, -EINVAL before Linux 6.0. Tests replace
// it.
inline int (*cancel_in_kernel)(io_uring*,
                               io_uring_sync_cancel_reg*) = io_uring_register_sync_cancel;

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

    bool has_room(std::uint32_t entries) const { return io_uring_sq_space_left(&ring_) >= entries; }
    // Adds entries [from, to) of the list as a chain that first takes a token from `takes` (-1:
    // none), and gives one to `gives` at its end. REQUIRES: has_room for them and two more.
    void add(List& list, std::uint32_t from, std::uint32_t to, int takes, int gives);
    // Cancels all chains of the list that the kernel has taken; they report. Any thread may call
    // it. False: the kernel cannot do that without an entry.
    bool cancel(const List& list);
    // Adds an entry that does the same. REQUIRES: has_room(1).
    void add_cancel(const List& list);
    // Entries of the list that the kernel has not taken will do nothing, and not report. Returns
    // how many chains end with them.
    std::uint32_t withdraw(const List& list);

    enum class Submitted : std::uint8_t {
        all,
        later,  // the kernel is short of memory, or has completions to get rid of: submit again
        cut,    // the kernel took a part of a chain of cut_list(): submit again for the rest
    };
    // Submits what was added. The calling thread owns it from now on.
    //
    // The kernel runs what it took of a chain, and would run the rest beside it: so the rest will
    // do nothing, but report. The part reports only if it fails.
    Submitted submit();
    // Entries were added that the kernel has not taken.
    bool has_left() const { return is_open_ && io_uring_sq_ready(&ring_) > 0; }
    // Calls visit(list id) for each of these.
    template <class Visit>
    void for_each_left(Visit visit) const {
        for (unsigned left = io_uring_sq_ready(&ring_); left > 0; --left) {
            const std::uint64_t data = entry_from_end(left).user_data;
            if (data != of_nobody) visit(static_cast<std::uint32_t>(data >> 2));
        }
    }
    std::uint32_t cut_list() const { return cut_list_; }

    // Waits for a completion for at most so long.
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

    // 1: the last one that was added.
    io_uring_sqe& entry_from_end(unsigned number) const {
        return ring_.sq.sqes[(ring_.sq.sqe_tail - number) & ring_.sq.ring_mask];
    }
    static void disarm(io_uring_sqe& entry);
    io_uring_sqe* next();
    void finish(io_uring_sqe* sqe, const List& list, CqeKind kind, bool is_last);

    io_uring ring_{};
    unsigned depth_ = 0;
    bool is_open_ = false;
    std::uint32_t cut_list_ = 0;
    std::uint64_t taken_ = 0;  // what tokens are read into
    const std::uint64_t one_ = 1;
};

// Why this process cannot use io_uring; empty: it can. Tries real chains.
std::string why_not();

}  // namespace weft::kernel
