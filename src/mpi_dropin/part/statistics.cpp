#include "mpi_dropin/part/statistics.h"

#include <time.h>

#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <vector>

#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

Statistics statistics;

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void Statistics::count_taken(int function, std::uint64_t bytes) {
    const Exclusive exclusive;
    ++rows_[function].taken;
    rows_[function].bytes += bytes;
}

void Statistics::count_left(int function, Left why) {
    const Exclusive exclusive;
    ++rows_[function].left[static_cast<int>(why)];
}

void Statistics::add_times(int function, std::int64_t lasted_ns, std::int64_t waited_ns,
                           std::int64_t waiting_ns) {
    const Exclusive exclusive;
    rows_[function].lasted_ns += lasted_ns;
    rows_[function].waited_ns += waited_ns;
    rows_[function].waiting_ns += waiting_ns;
}

void Statistics::add_inside(int function, std::int64_t ns) {
    const Exclusive exclusive;
    rows_[function].inside_ns += ns;
}

bool Statistics::has_any() const {
    for (const Row& row : rows_) {
        if (row.taken > 0) return true;
        for (std::uint64_t left : row.left) {
            if (left > 0) return true;
        }
    }
    return false;
}

void Statistics::print(int rank, int ranks) const {
    static constexpr const char* why[] = {
        "disabled",          "communicator", "below WEFT_MIN_BYTES",
        "operation or type", "arguments",    "session"};
    std::fprintf(stderr,
                 "weft: MPI calls of rank %d of %d; %d allgathers and %d allreduce at the start\n",
                 rank, ranks, allgathers_, allreduces_);
    std::fprintf(stderr, "weft: %-32s %9s %9s %14s %10s %10s %8s\n", "function", "taken", "left",
                 "bytes", "start ms", "wait ms", "hidden");
    for (int function = 0; function < functions; ++function) {
        const Row& row = rows_[function];
        std::uint64_t left = 0;
        for (std::uint64_t n : row.left) left += n;
        if (row.taken + left == 0) continue;
        char hidden[16] = "-";
        if (row.lasted_ns > 0) {
            std::snprintf(hidden, sizeof hidden, "%.0f %%",
                          100.0 * static_cast<double>(row.lasted_ns - row.waited_ns) /
                              static_cast<double>(row.lasted_ns));
        }
        // One write per line: other ranks write too.
        char line[512];
        int length =
            std::snprintf(line, sizeof line,
                          "weft: %-32s %9" PRIu64 " %9" PRIu64 " %14" PRIu64 " %10.3f %10.3f %8s",
                          name_of(function), row.taken, left, row.bytes,
                          static_cast<double>(row.inside_ns) * 1e-6,
                          static_cast<double>(row.waiting_ns) * 1e-6, hidden);
        for (int i = 0; i < static_cast<int>(Left::number); ++i) {
            if (row.left[i] == 0) continue;
            length += std::snprintf(line + length, sizeof line - static_cast<std::size_t>(length),
                                    "  left %" PRIu64 ": %s", row.left[i], why[i]);
        }
        std::fprintf(stderr, "%s\n", line);
    }
}

void Statistics::print_all(int rank, int ranks) const {
    static_assert(std::is_trivially_copyable_v<Statistics>);
    std::vector<Statistics> all(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
    constexpr int bytes = sizeof(Statistics);
    if (mpi.Gather(this, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD) !=
        MPI_SUCCESS) {
        return;
    }
    for (std::size_t i = 0; i < all.size(); ++i) all[i].print(static_cast<int>(i), ranks);
}

}  // namespace weft::dropin
