// The points of a 3-D grid that a rank has, with a layer of points of its neighbors around them.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace apps::cg {

// By dimension: x (contiguous), y, z.
using Point = std::array<int, 3>;

// Points lo <= p < hi of a rank, counted from its first one.
struct Box {
    Point lo, hi;

    bool is_empty() const { return lo[0] >= hi[0] || lo[1] >= hi[1] || lo[2] >= hi[2]; }
    std::size_t points() const {
        if (is_empty()) return 0;
        std::size_t count = 1;
        for (int d = 0; d < 3; ++d) count *= static_cast<std::size_t>(hi[d] - lo[d]);
        return count;
    }
};

// Points of a rank that are contiguous: the index of the first one, and how many they are.
struct Row {
    std::size_t at, points;
};

// A value for each point of a rank, and for the layer around them.
using Vector = std::vector<double>;

// One of the six sides: the layer of points there, and the layer beyond it.
struct Side {
    int neighbor = -1;  // rank; -1: the border of the whole grid, where all values are 0
    Box own, ghost;
};

class Domain {
  public:
    // `size`: points of each rank. The ranks are arranged as a grid, row-major, z slowest.
    Domain(Point size, int rank, int ranks);

    const Point& size() const { return size_; }
    const Point& first() const { return first_; }  // in the whole grid
    Point whole() const {
        return {size_[0] * ranks_[0], size_[1] * ranks_[1], size_[2] * ranks_[2]};
    }
    const Point& ranks() const { return ranks_; }
    const std::array<Side, 6>& sides() const { return sides_; }  // z-, z+, y-, y+, x-, x+

    Box all() const { return {{0, 0, 0}, size_}; }
    // The points that need no neighbor's values, and the others, in boxes that do not overlap.
    const Box& inner() const { return inner_; }
    const std::vector<Box>& outer() const { return outer_; }

    Vector vector() const { return Vector(stride_[2] * static_cast<std::size_t>(size_[2] + 2)); }
    std::ptrdiff_t stride(int d) const { return static_cast<std::ptrdiff_t>(stride_[d]); }
    std::size_t index(int x, int y, int z) const {
        return static_cast<std::size_t>(x + 1) + static_cast<std::size_t>(y + 1) * stride_[1] +
               static_cast<std::size_t>(z + 1) * stride_[2];
    }

    // Calls f(index of the first point, points) for each row of the box.
    template <class F>
    void each_row(const Box& box, F f) const {
        if (box.is_empty()) return;
        for (int z = box.lo[2]; z < box.hi[2]; ++z)
            for (int y = box.lo[1]; y < box.hi[1]; ++y)
                f(index(box.lo[0], y, z), static_cast<std::size_t>(box.hi[0] - box.lo[0]));
    }

  private:
    Point size_, ranks_{1, 1, 1}, first_{};
    std::array<std::size_t, 3> stride_;
    std::array<Side, 6> sides_;
    Box inner_;
    std::vector<Box> outer_;
};

inline Domain::Domain(Point size, int rank, int ranks) : size_(size), inner_(all()) {
    stride_ = {1, static_cast<std::size_t>(size[0] + 2),
               static_cast<std::size_t>(size[0] + 2) * static_cast<std::size_t>(size[1] + 2)};
    // Each prime factor goes to the dimension with the fewest ranks, in doubt to the slowest one.
    for (int factor = 2, left = ranks; left > 1; ++factor) {
        for (; left % factor == 0; left /= factor) {
            int fewest = 2;
            for (int d = 1; d >= 0; --d)
                if (ranks_[d] < ranks_[fewest]) fewest = d;
            ranks_[fewest] *= factor;
        }
    }
    const Point at = {rank % ranks_[0], rank / ranks_[0] % ranks_[1], rank / ranks_[0] / ranks_[1]};
    const Point distance = {1, ranks_[0], ranks_[0] * ranks_[1]};  // to the next rank
    for (int d = 0; d < 3; ++d) first_[d] = at[d] * size[d];
    Box rest = all();  // what no outer box has
    for (int s = 0; s < 6; ++s) {
        const int d = 2 - s / 2;
        const bool is_upper = s % 2 == 1;
        Side& side = sides_[static_cast<std::size_t>(s)];
        side.own = side.ghost = all();
        side.own.lo[d] = is_upper ? size[d] - 1 : 0;
        side.own.hi[d] = side.own.lo[d] + 1;
        side.ghost.lo[d] = is_upper ? size[d] : -1;
        side.ghost.hi[d] = side.ghost.lo[d] + 1;
        if (is_upper ? at[d] + 1 == ranks_[d] : at[d] == 0) continue;
        side.neighbor = rank + (is_upper ? distance[d] : -distance[d]);
        if (rest.is_empty()) continue;
        Box layer = rest;
        (is_upper ? layer.lo[d] : layer.hi[d]) = is_upper ? rest.hi[d] - 1 : rest.lo[d] + 1;
        (is_upper ? rest.hi[d] : rest.lo[d]) += is_upper ? -1 : 1;
        if (!layer.is_empty()) outer_.push_back(layer);
    }
    inner_ = rest;
}

}  // namespace apps::cg
