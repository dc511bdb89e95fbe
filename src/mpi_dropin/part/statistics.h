// Counts for WEFT_STATS, printed by Finalize.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>

#include "mpi_dropin/part/settings.h"

namespace weft::dropin {

// Why a call was left to the MPI.
enum class Left : std::uint8_t {
    disabled,
    communicator,
    small,
    operation,
    refused,
    session,
    number
};

class Statistics {
  public:
    void count_taken(int function, std::uint64_t bytes);
    void count_left(int function, Left why);
    // For one operation: how long it took until the program saw its completion, how much of that
    // was left when the program began to wait, and its share of the time inside waits, which may be
    // for many.
    void add_times(int function, std::int64_t lasted_ns, std::int64_t waited_ns,
                   std::int64_t waiting_ns);
    void add_inside(int function, std::int64_t ns);  // starting
    void count_allgather() { ++allgathers_; }        // of those at the start
    void count_allreduce() { ++allreduces_; }

    bool has_any() const;  // calls
    void print(int rank, int ranks) const;
    // Rank 0 prints those of all ranks. Collective.
    void print_all(int rank, int ranks) const;

  private:
    struct Row {
        std::uint64_t taken, bytes;
        std::uint64_t left[static_cast<int>(Left::number)];
        std::int64_t inside_ns, lasted_ns, waited_ns, waiting_ns;
    };
    Row rows_[functions] = {};
    int allgathers_ = 0, allreduces_ = 0;
};

extern Statistics statistics;

std::int64_t now_ns();

}  // namespace weft::dropin
