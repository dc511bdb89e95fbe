// The 7-point stencil of the 3-D Poisson equation: 6 on the diagonal, -1 for each of six neighbors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/cg/domain.h"

namespace apps::cg {

class Matrix {
  public:
    // `stored`: as compressed sparse rows (CSR); else it is only in the code.
    Matrix(const Domain& domain, bool stored) : domain_(domain), is_stored_(stored) {
        if (!stored) return;
        row_begin_.push_back(0);
        row_of_.resize(domain.vector().size());
        domain.each_row(domain.all(), [&](std::size_t at, std::size_t n) {
            for (std::size_t i = at; i < at + n; ++i) {
                row_of_[i] = static_cast<std::uint32_t>(row_begin_.size() - 1);
                add(i, 6);
                for (int d = 0; d < 3; ++d) {
                    add(i - static_cast<std::size_t>(domain.stride(d)), -1);
                    add(i + static_cast<std::size_t>(domain.stride(d)), -1);
                }
                row_begin_.push_back(columns_.size());
            }
        });
    }

    // out = A in, for the points of the row. Those beyond the border of the whole grid are 0.
    void multiply(Row row, const Vector& in, Vector& out) const {
        if (is_stored_)
            multiply_stored(row.at, row.points, in.data(), out.data());
        else
            multiply_free(row.at, row.points, in.data(), out.data());
    }

  private:
    void add(std::size_t column, double value) {
        columns_.push_back(static_cast<std::uint32_t>(column));
        values_.push_back(value);
    }

    void multiply_stored(std::size_t at, std::size_t n, const double* in, double* out) const {
        const std::size_t first = row_of_[at];
        for (std::size_t i = 0; i < n; ++i) {
            double sum = 0;
            for (std::size_t k = row_begin_[first + i]; k < row_begin_[first + i + 1]; ++k)
                sum += values_[k] * in[columns_[k]];
            out[at + i] = sum;
        }
    }

    void multiply_free(std::size_t at, std::size_t n, const double* in,
                       double* __restrict out) const {
        const std::ptrdiff_t y = domain_.stride(1), z = domain_.stride(2);
        const double* const center = in + at;
        for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(n); ++i) {
            out[at + static_cast<std::size_t>(i)] = 6 * center[i] - center[i - 1] - center[i + 1] -
                                                    center[i - y] - center[i + y] - center[i - z] -
                                                    center[i + z];
        }
    }

    const Domain& domain_;
    bool is_stored_;
    std::vector<std::uint32_t> row_of_;  // by index of a point
    std::vector<std::size_t> row_begin_;
    std::vector<std::uint32_t> columns_;  // indices of points
    std::vector<double> values_;
};

}  // namespace apps::cg
