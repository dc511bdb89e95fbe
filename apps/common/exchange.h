// Collectives of an application, through the back end that its user chose at run time: Weft or an
// MPI, nonblocking or blocking. The names and arguments are those of weft/weft.hpp; the time spent
// in the calls is added up.
#pragma once

#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/backend.h"
#include "weft/weft.hpp"

namespace apps {

// Ends the process with status 1 after "<app>: rank R: <sentence>". The launcher ends the others.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

double now_s();

// Seconds of this rank in calls that start a nonblocking operation, test it, or wait for one. The
// time of a blocking call is a wait.
struct CallTimes {
    double start = 0, test = 0, wait = 0;
};

// What all groups of a process share: the seconds spent in calls, and which result to spoil.
struct Account {
    CallTimes times;
    int spoil = 0;
};

// An operation that was started. Its buffers are lent until it is complete; the destructor waits.
class [[nodiscard]] Request {
  public:
    Request() = default;
    // `spoiled`: bytes of the result that are to be wrong.
    Request(const apps_backend* backend, Account* account, void* handle,
            std::span<std::byte> spoiled)
        : backend_(backend), account_(account), handle_(handle), spoiled_(spoiled) {
        if (handle == nullptr) complete();
    }
    Request(Request&& other) noexcept { *this = std::move(other); }
    Request& operator=(Request&& other) noexcept {
        wait();
        backend_ = other.backend_;
        account_ = other.account_;
        handle_ = std::exchange(other.handle_, nullptr);
        spoiled_ = std::exchange(other.spoiled_, {});
        return *this;
    }
    ~Request() { wait(); }

    bool test();  // true: complete
    void wait();

  private:
    void complete();

    const apps_backend* backend_ = nullptr;
    Account* account_ = nullptr;
    void* handle_ = nullptr;  // null: complete
    std::span<std::byte> spoiled_;
};

inline void wait_all(std::span<Request> requests) {
    for (Request& request : requests) request.wait();
}
inline bool test_all(std::span<Request> requests) {
    bool all = true;
    for (Request& request : requests) all = request.test() && all;
    return all;
}

// Whether one of `tests` calls of test() is due after this of `steps` steps of a computation: evenly,
// at most one a step.
inline bool test_is_due(int tests, std::size_t step, std::size_t steps) {
    const auto all = static_cast<std::size_t>(tests);
    return (step + 1) * all / steps > step * all / steps;
}

// Blocks of different sizes, one for each rank (or neighbor), in elements. Without displacements
// they are contiguous.
template <class T>
struct Blocks {
    T* data;
    std::span<const std::size_t> counts;
    std::span<const std::ptrdiff_t> displacements = {};
};

// A group of ranks that communicate. A copy is the same group.
class Exchange {
  public:
    // All ranks; joins the job. `backend`: weft, weft-blocking, mpi, mpi-blocking. `mpi`: whose part
    // to load, a name (mpi-NAME.so beside the program) or a path.
    Exchange(const std::string& backend, const std::string& mpi);
    // Leaves the job: when all requests are complete, before the process ends.
    void close();

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    bool is_blocking() const { return is_blocking_; }

    // The ranks of this group that give the same color, in their order. Collective.
    Exchange split(int color) const;
    // The same ranks as a grid, row-major. Its neighbor collectives have a block for each neighbor:
    // in each dimension the one below, then the one above. A block beyond a border is empty.
    // Collective.
    Exchange grid(std::span<const int> dims, std::span<const int> periods) const;

    Request ibarrier() { return start({WEFT_COLLECTIVE_BARRIER, WEFT_OP_NULL, 0, {}, {}}); }
    // `data` has the same size on every rank.
    template <class B>
    Request ibcast(B&& data, int root) {
        return start({WEFT_COLLECTIVE_BCAST, WEFT_OP_NULL, root, {}, side(data, 1)});
    }
    // `recv` is as long as `send`; op: weft::sum, weft::max or weft::min.
    template <class S, class R>
    Request iallreduce(const S& send, R&& recv, weft_op op) {
        return start({WEFT_COLLECTIVE_ALLREDUCE, op, 0, side(send, 1), side(recv, 1)});
    }
    template <class R>
    Request iallreduce_in_place(R&& data, weft_op op) {
        weft_side all = side(data, 1), none = all;
        none.data = const_cast<void*>(WEFT_IN_PLACE);
        return start({WEFT_COLLECTIVE_ALLREDUCE, op, 0, none, all});
    }
    // `recv` has a block for each rank, each as long as `send`; in igather on root only.
    template <class S, class R>
    Request iallgather(const S& send, R&& recv) {
        return start(
            {WEFT_COLLECTIVE_ALLGATHER, WEFT_OP_NULL, 0, side(send, 1), side(recv, ranks_)});
    }
    template <class S, class R>
    Request igather(const S& send, R&& recv, int root) {
        return start({WEFT_COLLECTIVE_GATHER, WEFT_OP_NULL, root, side(send, 1),
                      rank_ == root ? side(recv, ranks_) : side(send, 1)});
    }
    // `recv` is ignored except on root.
    template <class S, class T>
    Request igatherv(const S& send, const Blocks<T>& recv, int root) {
        return start({WEFT_COLLECTIVE_GATHERV, WEFT_OP_NULL, root, side(send, 1), side(recv)});
    }
    // Both have a block for each rank.
    template <class S, class R>
    Request ialltoall(const S& send, R&& recv) {
        return start(
            {WEFT_COLLECTIVE_ALLTOALL, WEFT_OP_NULL, 0, side(send, ranks_), side(recv, ranks_)});
    }
    template <class S, class T>
    Request ialltoallv(const Blocks<S>& send, const Blocks<T>& recv) {
        return start({WEFT_COLLECTIVE_ALLTOALLV, WEFT_OP_NULL, 0, side(send), side(recv)});
    }
    // Of a grid().
    template <class S, class T>
    Request ineighbor_alltoallv(const Blocks<S>& send, const Blocks<T>& recv) {
        return start({WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLV, WEFT_OP_NULL, 0, side(send), side(recv)});
    }

    // --- For checks and set-up, not for what is measured: complete when they return ---
    void barrier() { ibarrier().wait(); }
    template <class T>
    T allreduce(T value, weft_op op) {
        iallreduce_in_place(std::span(&value, 1), op).wait();
        return value;
    }
    // Every rank's `mine`, in rank order.
    template <class T>
    std::vector<T> allgather(const std::vector<T>& mine) {
        std::vector<T> all(mine.size() * static_cast<std::size_t>(ranks_));
        iallgather(mine, all).wait();
        return all;
    }

    // Of all groups.
    CallTimes& times() { return account_->times; }
    // Spoils the result of the n-th collective that has one, to see whether a check notices; 0: none.
    void spoil(int n) { account_->spoil = n; }

  private:
    // Elements of types that Weft does not know are bytes.
    template <class T>
    static constexpr std::size_t elements = weft::type_of<T> == WEFT_BYTE ? sizeof(T) : 1;

    // A buffer of `blocks` blocks of one size.
    template <class B>
    static weft_side side(B&& data, int blocks) {
        using T = std::remove_const_t<std::remove_reference_t<decltype(*std::ranges::data(data))>>;
        const std::size_t count = std::ranges::size(data) * elements<T>;
        return {const_cast<T*>(std::ranges::data(data)),
                count / static_cast<std::size_t>(blocks),
                nullptr,
                nullptr,
                weft::type_of<T>,
                nullptr};
    }
    template <class T>
    static weft_side side(const Blocks<T>& blocks) {
        using Plain = std::remove_const_t<T>;
        static_assert(elements<Plain> == 1, "counts are of numbers");
        return {const_cast<Plain*>(blocks.data),
                0,
                blocks.counts.data(),
                blocks.displacements.data(),
                weft::type_of<Plain>,
                nullptr};
    }

    Request start(const weft_call& call);
    std::span<std::byte> to_spoil(const weft_call& call);

    const apps_backend* backend_;
    bool is_blocking_;
    int group_ = 0, rank_ = 0, ranks_ = 1;
    int blocks_ = 1;  // of the v forms
    std::shared_ptr<Account> account_;
};

}  // namespace apps
