// The effect of collectives, derived only from their definitions in the MPI standard. Tests take expected results and
// buffer sizes from here.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "support/neighbors.h"

namespace weft::test {

// The contributions that make up a block of a result: a block of one rank, unchanged, or of ranks
// first..last, combined in this order.
struct Source {
    int first = 0;
    int last = 0;
    int block = 0;
};

// Where a block lies in a rank's buffers, in elements.
struct Place {
    bool is_in_recv = false;
    std::size_t begin = 0;
    std::size_t count = 0;
};

// The arguments of a call on all ranks, counted in elements.
struct Arguments {
    std::string collective;
    int ranks = 1;
    int root = 0;
    std::size_t count = 0;
    bool in_place = false;  // wherever MPI allows it
    std::size_t element_bytes = 1;
    // right = left (op) right, one element
    void (*combine)(const std::byte* left, std::byte* right) = nullptr;
    // f(lo, hi) = f(lo, m) op f(m, hi), with m = lo + the largest power of two below hi - lo; otherwise
    // from the right
    bool reproducible = false;
    // For collectives with a v. If all ranks know all sizes: those of the buffer that has a block for every rank.
    std::vector<std::size_t> counts{};
    std::vector<std::ptrdiff_t> displacements{};  // empty: contiguous
    // Otherwise: how much rank `from` sends to rank `to`, at from * ranks + to. Blocks are contiguous; with gaps, of
    // one element, the last block comes first.
    std::vector<std::size_t>
        amounts{};  // among neighbors also times 1, 2 or 0, by edge (edge_factor)
    bool has_gaps = false;
    Neighbors neighbors{};  // of collectives among neighbors

    bool is_in_place_on(int rank) const;
    // Whether it is the receive buffer that is WEFT_IN_PLACE.
    bool spares_recv() const;
    // The sizes of the caller's buffers.
    std::size_t send_elements(int rank) const { return elements(rank, false); }
    std::size_t recv_elements(int rank) const { return elements(rank, true); }

    // How many blocks a rank contributes, and gets; and where they lie.
    int contributed(int rank) const;
    int received(int rank) const;
    Place contribution(int rank, int block) const;
    Place result(int rank, int block) const;
    // Whether somebody sends the block: there may be no neighbor.
    bool arrives(int rank, int block) const;
    Source source(int rank, int block) const;

    // By number of blocks: of a buffer (reference.cpp).
    int peer(int blocks, int rank, int block, bool sends) const;

  private:
    int gives(int rank) const;
    int gets(int rank) const;
    std::size_t elements(int rank, bool of_recv) const;
    Place one_of(int blocks, int rank, int block, bool sends) const;
    std::size_t amount(int rank, int peer, bool sends) const;
};

// Whether MPI lets a call of it choose to be in place.
bool has_in_place(const std::string& collective);

// By rank.
struct AllBuffers {
    std::vector<std::vector<std::byte>> send;
    std::vector<std::vector<std::byte>> recv;
};

// Carries out the call.
void perform(const Arguments& call, AllBuffers& buffers);

// Carries it out on one rank. `contribution` returns the bytes of any rank at a place in its buffers, as they were before
// the call.
using Contribution = std::function<std::vector<std::byte>(int rank, const Place& place)>;
void perform(const Arguments& call, int rank, const Contribution& contribution,
             std::vector<std::byte>& recv);

}  // namespace weft::test
