// Topologies on which tests try the collectives among neighbors, by their definition in MPI-5.0 chapter 8.
#pragma once

#include <vector>

#include "shape/neighborhood.h"

namespace weft::test {

struct Neighbors {
    // By rank and block; -1: none.
    std::vector<std::vector<int>> sources{};
    std::vector<std::vector<int>> destinations{};
    // For a grid; empty for a graph.
    std::vector<int> dims{};
    std::vector<int> periods{};

    bool is_grid() const { return !dims.empty(); }
    // The number, at its source, of this rank's block `block`.
    int origin(int rank, int block) const;
    // In the library's form.
    std::vector<Neighborhood> for_library() const;
};

// Blocks from one rank to another have several sizes, by their number at the source.
constexpr int edge_factor(int block) { return (block + 1) % 3; }

// ring: periodic. grid: three dimensions, of which the first has borders and the last size 1. graph: random, with
// several edges between two ranks and from a rank to itself. alone: no edges.
inline constexpr const char* neighbor_kinds[] = {"ring", "grid", "graph", "alone"};
Neighbors neighbors(const char* kind, int ranks);

}  // namespace weft::test
