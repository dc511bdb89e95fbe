// Symbols for data: which rank contributed a byte, or which contributions were combined in which
// order. And a buffer as a list of pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/postcondition.h"

namespace weft::checking {

using Term = std::uint32_t;
inline constexpr Term undefined = 0;  // nobody has written there

// Expressions over the ranks' contributions. Equal expressions have equal numbers; if the operation
// commutes, (a, b) and (b, a) are equal.
class Terms {
  public:
    Terms(Rank ranks, bool commutative);

    Term contribution(Rank rank) const { return static_cast<Term>(rank) + 1; }
    Term combine(Term left, Term right);

    // Whether `term` has each of these ranks once, in rank order unless the operation commutes.
    bool is_combination(Term term, Sources sources);

    // The combination of these ranks by the association of reproducible reductions (Postcondition).
    Term reproducible(Sources sources);

    // "rank 2's", "the combination of ranks 0, 1, 1 (in this order)".
    std::string text(Term term) const;
    // "((0 1) 2)"; if there are too many ranks, only their numbers.
    std::string association(Term term) const;

  private:
    struct Node {
        Term left;
        Term right;
        std::int64_t leaves;
        Rank first;  // when in_order: the leaves are ranks first..last
        Rank last;
        bool in_order;
    };

    std::vector<Rank> leaves_of(Term term, std::size_t at_most) const;

    bool commutative_;
    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, Term> known_;  // by left and right
    // For terms that are not in order: the ranks that each combines, if each rank only once;
    // otherwise {0, -1}.
    std::unordered_map<Term, Sources> unordered_;
};

// Consecutive bytes: byte k holds byte `origin + k` of `term`.
struct Stretch {
    std::int64_t bytes;
    Term term;
    std::int64_t origin;
};

// One buffer. Regions must lie inside it.
class Memory {
  public:
    explicit Memory(std::int64_t bytes);

    // Appends the contents to `out`.
    void read(std::int64_t begin, std::int64_t bytes, std::vector<Stretch>& out) const;
    void write(std::int64_t begin, std::span<const Stretch> value);

  private:
    // Ends where the next begins. Byte x of the buffer holds byte x + shift of the term.
    struct Piece {
        std::int64_t begin;
        Term term;
        std::int64_t shift;
    };

    std::size_t piece_at(std::int64_t position) const;
    std::int64_t end_of(std::size_t piece) const {
        return piece + 1 < pieces_.size() ? pieces_[piece + 1].begin : bytes_;
    }

    std::int64_t bytes_;
    std::vector<Piece> pieces_;
    std::vector<Piece> spare_;  // of write()
};

// Splits two equally long lists at the ends of both, and calls f(bytes, x, y) for each part; x and
// y are the two sides of it.
template <class F>
void for_each_pair(std::span<const Stretch> a, std::span<const Stretch> b, F f) {
    std::size_t i = 0;
    std::size_t j = 0;
    std::int64_t used_a = 0;
    std::int64_t used_b = 0;
    while (i < a.size() && j < b.size()) {
        const std::int64_t bytes = std::min(a[i].bytes - used_a, b[j].bytes - used_b);
        f(bytes, Stretch{bytes, a[i].term, a[i].origin + used_a},
          Stretch{bytes, b[j].term, b[j].origin + used_b});
        used_a += bytes;
        used_b += bytes;
        if (used_a == a[i].bytes) ++i, used_a = 0;
        if (used_b == b[j].bytes) ++j, used_b = 0;
    }
}

}  // namespace weft::checking
