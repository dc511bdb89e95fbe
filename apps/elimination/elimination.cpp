// Gaussian elimination of rows that are dealt to the ranks. While the rows below are updated with a
// block of pivot rows, the next block is on its way.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "apps/common/app.h"

namespace apps::elimination {
namespace {

struct Options {
    int size = 512;
    int block = 16;
    bool tune = false;
};

// Solves A x = b. Blocks of rows, with their elements of b, are dealt to the ranks in turn. A rank
// finds each pivot within its own row, so that choosing one needs no messages: columns are swapped.
class Solver {
  public:
    Solver(App& app, int size)
        : app_(app),
          exchange_(app.exchange()),
          rank_(static_cast<std::size_t>(exchange_.rank())),
          ranks_(static_cast<std::size_t>(exchange_.ranks())),
          n_(static_cast<std::size_t>(size)),
          width_(n_ + 1) {}

    void run(int block) {
        if (static_cast<std::size_t>(block) != block_) deal(static_cast<std::size_t>(block));
        rows_ = input_;
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        eliminate();
        substitute();
    }

    // The residual, scaled as HPL's: a few units if the solution is as exact as rounding allows.
    void check() {
        std::vector<double> x(n_);
        for (std::size_t j = 0; j < n_; ++j) x[order_[j]] = solution_[j];
        std::array<double, 3> most = {};  // residual, sum of a row of A, element of b
        for (std::size_t i = 0; i < count_; ++i) {
            const double* const row = &input_[i * width_];
            double residual = -row[n_], sum = 0;
            for (std::size_t j = 0; j < n_; ++j) {
                residual += row[j] * x[j];
                sum += std::abs(row[j]);
            }
            if (!std::isfinite(residual)) fail("the solution is not finite");
            most[0] = std::max(most[0], std::abs(residual));
            most[1] = std::max(most[1], sum);
            most[2] = std::max(most[2], std::abs(row[n_]));
        }
        exchange_.iallreduce_in_place(most, weft::max).wait();
        double x_most = 0;
        for (const double element : x) x_most = std::max(x_most, std::abs(element));
        residual_ = most[0] / (std::numeric_limits<double>::epsilon() * static_cast<double>(n_) *
                               (most[1] * x_most + most[2]));
        if (!(residual_ < 16)) fail("the scaled residual is %g; expected less than 16", residual_);
    }

    double residual() const { return residual_; }

  private:
    // --- Which rows are where --------------------------------------------------------------------

    std::size_t owner(std::size_t block) const { return block % ranks_; }
    std::size_t first_column(std::size_t block) const { return block * block_; }
    std::size_t size_of(std::size_t block) const { return std::min(block_, n_ - block * block_); }
    // This rank's rows of the blocks before this one; they are in order.
    std::size_t begin(std::size_t block) const {
        return std::min(count_, (block + ranks_ - 1 - rank_) / ranks_ * block_);
    }
    std::size_t end(std::size_t block) const { return begin(block + 1); }
    double* row(std::size_t i) { return &rows_[i * width_]; }

    void deal(std::size_t block) {
        block_ = block;
        blocks_ = (n_ + block - 1) / block;
        input_.clear();
        for (std::size_t i = 0; i < n_; ++i) {
            if (owner(i / block) != rank_) continue;
            Random random(app_.seed() + (std::uint64_t{i} << 32));
            for (std::size_t j = 0; j < width_; ++j) input_.push_back(random.uniform() - 0.5);
        }
        count_ = input_.size() / width_;
        order_.resize(n_);
        solution_.resize(n_);
        for (Pivots& pivots : pivots_) pivots.data.resize(block * (width_ + 1));
    }

    // --- Elimination -----------------------------------------------------------------------------

    // A block of pivot rows as it travels.
    struct Pivots {
        std::vector<double> data;  // the rows from the block's first column on, then their pivots'
                                   // columns
        Request request;
    };
    Pivots& pivots(std::size_t block) { return pivots_[block % 2]; }

    void eliminate() {
        app_.phase("pivot rows", App::hides_nothing);
        if (owner(0) == rank_) factor(0);
        send(0);
        for (std::size_t block = 0; block < blocks_; ++block) {
            app_.phase("pivot rows", App::hides_nothing);
            pivots(block).request.wait();
            for (std::size_t r = 0; r < size_of(block); ++r)
                std::swap(order_[first_column(block) + r], order_[pivot_column(block, r)]);
            if (block + 1 < blocks_) {
                update(block, end(block), end(block + 1));  // the next pivot rows, where they are
                if (owner(block + 1) == rank_) factor(block + 1);
                send(block + 1);
            }
            // The next pivot rows are on their way.
            app_.phase("other rows", App::hides);
            for (std::size_t i = 0; i < begin(block); ++i) swap_columns(block, row(i));
            update(block, end(block + 1), count_);
        }
    }

    // Eliminates within the block, and copies it for the others.
    void factor(std::size_t block) {
        const std::size_t column = first_column(block), size = size_of(block), top = begin(block);
        double* const data = pivots(block).data.data();
        double* const pivot_columns = data + size * (width_ - column);
        for (std::size_t r = 0; r < size; ++r) {
            const std::size_t diagonal = column + r;
            const double* const pivot_row = row(top + r);
            std::size_t pivot = diagonal;
            for (std::size_t j = diagonal; j < n_; ++j)
                if (std::abs(pivot_row[j]) > std::abs(pivot_row[pivot])) pivot = j;
            if (pivot_row[pivot] == 0) fail("the matrix is singular");
            pivot_columns[r] = static_cast<double>(pivot);
            for (std::size_t i = top; i < top + size; ++i)
                std::swap(row(i)[diagonal], row(i)[pivot]);
            for (std::size_t i = top + r + 1; i < top + size; ++i)
                subtract(pivot_row + diagonal, row(i) + diagonal, width_ - diagonal);
        }
        for (std::size_t r = 0; r < size; ++r)
            std::copy(row(top + r) + column, row(top + r) + width_, data + r * (width_ - column));
    }

    void send(std::size_t block) {
        const std::size_t size = size_of(block);
        const std::span<double> data(pivots(block).data.data(),
                                     size * (width_ - first_column(block) + 1));
        pivots(block).request = exchange_.ibcast(data, static_cast<int>(owner(block)));
    }

    // This rank's rows from `first` to before `last`, which are below the block.
    void update(std::size_t block, std::size_t first, std::size_t last) {
        const std::size_t column = first_column(block), size = size_of(block);
        const double* const pivot_rows = pivots(block).data.data();
        for (std::size_t i = first; i < last; ++i) {
            swap_columns(block, row(i));
            for (std::size_t r = 0; r < size; ++r)
                subtract(pivot_rows + r * (width_ - column) + r, row(i) + column + r,
                         width_ - column - r);
            if (test_is_due(app_.tests(), i - first, last - first))
                pivots(block + 1).request.test();
        }
    }

    // Subtracts the multiple of the pivot row that makes the row's first element 0.
    static void subtract(const double* pivot_row, double* row, std::size_t elements) {
        const double multiple = row[0] / pivot_row[0];
        row[0] = 0;
        for (std::size_t j = 1; j < elements; ++j) row[j] -= multiple * pivot_row[j];
    }

    std::size_t pivot_column(std::size_t block, std::size_t r) {
        const std::size_t rows_end = size_of(block) * (width_ - first_column(block));
        return static_cast<std::size_t>(pivots(block).data[rows_end + r]);
    }
    void swap_columns(std::size_t block, double* row) {
        for (std::size_t r = 0; r < size_of(block); ++r)
            std::swap(row[first_column(block) + r], row[pivot_column(block, r)]);
    }

    // --- Back substitution -----------------------------------------------------------------------

    // As in the elimination, the rows of the next block come first: its elements of the solution
    // travel while the other rows are updated.
    void substitute() {
        app_.phase("substitution", App::hides);
        Request request = solve(blocks_ - 1);
        for (std::size_t block = blocks_ - 1; block > 0; --block) {
            request.wait();
            insert(block, begin(block - 1), end(block - 1));
            request = solve(block - 1);
            insert(block, 0, begin(block - 1));
        }
        request.wait();
    }

    // The block's elements of the solution, and their broadcast.
    Request solve(std::size_t block) {
        const std::size_t column = first_column(block), size = size_of(block);
        double* const x = &solution_[column];
        for (std::size_t r = owner(block) == rank_ ? size : 0; r-- > 0;) {
            const double* const own = row(begin(block) + r);
            x[r] = own[n_];
            for (std::size_t j = r + 1; j < size; ++j) x[r] -= own[column + j] * x[j];
            x[r] /= own[column + r];
        }
        return exchange_.ibcast(std::span(x, size), static_cast<int>(owner(block)));
    }

    // Moves what is known of the rows' sums to the right side.
    void insert(std::size_t block, std::size_t first, std::size_t last) {
        const std::size_t column = first_column(block);
        for (std::size_t i = first; i < last; ++i)
            for (std::size_t j = column; j < column + size_of(block); ++j)
                row(i)[n_] -= row(i)[j] * solution_[j];
    }

    App& app_;
    Exchange& exchange_;
    const std::size_t rank_, ranks_, n_, width_;
    std::size_t block_ = 0, blocks_ = 0, count_ = 0;  // rows of a block, blocks, rows of this rank
    std::vector<double> input_, rows_;                // [count_][width_]: A and, last, b
    std::vector<std::size_t> order_;                  // which column of A is where
    std::vector<double> solution_;                    // in that order
    std::array<Pivots, 2> pivots_;
    double residual_ = 0;
};

}  // namespace
}  // namespace apps::elimination

int main(int argc, char** argv) {
    using namespace apps;
    elimination::Options options;
    App app("elimination", "Solves a system of linear equations by Gaussian elimination");
    app.option("--size", options.size, "Equations");
    app.option("--block", options.block, "Pivot rows that are broadcast together");
    app.flag("--tune", options.tune, "Try numbers of pivot rows first");
    app.parse(argc, argv);
    if (options.size == 0) fail("0 equations; expected 1 or more");
    if (options.block == 0) fail("blocks of 0 rows; expected 1 or more");

    elimination::Solver solver(app, options.size);
    const auto run = [&] { solver.run(options.block); };
    if (options.tune) app.tune({{"--block", &options.block, {4, 8, 16, 32, 64}}}, run);
    const auto size = static_cast<std::size_t>(options.size);
    app.measure(size * size * sizeof(double), run, [&] {
        solver.check();
        app.note("residual", solver.residual());
    });
}
