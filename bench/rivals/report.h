// Shows cells measured beside an MPI: as a table, rows of JSON and a sentence.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "bench/json.h"
#include "bench/overlap/measure.h"
#include "bench/ratio.h"

namespace weft::bench {

// A row of Weft, and the row of the MPI that alternated with it. Ratios are Weft's times divided by
// the MPI's.
struct Comparison {
    Comparison(const Cell& weft, const Cell& mpi);

    const Cell* weft;
    const Cell* mpi;
    Ratio total;     // overlapped runs
    Ratio blocking;  // start + wait
    Ratio call;      // Weft's start + wait / the MPI's blocking call

    JsonLine json() const;
};

// All cells of one collective: for each size first the MPI's, then those of `engines` engines.
void print_rival_table(std::FILE* file, std::span<const Cell> cells, std::size_t engines);

void print_rival_legend(std::FILE* file);

// What the ratios of all cells show, good or bad.
std::string rival_conclusion(std::span<const Cell> cells, std::size_t engines);

}  // namespace weft::bench
