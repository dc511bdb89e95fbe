// The algorithms are those of Träff: Optimal Broadcast Schedules in Logarithmic Time with
// Applications to Broadcast, All-Broadcast, Reduction and All-Reduction, 2024, arXiv:2407.18004.
#include "shape/circulant.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "shape/ring.h"

namespace weft {
namespace {

// The skips of a number of ranks, and the blocks that follow from them.
class Circulant {
  public:
    explicit Circulant(Rank ranks)
        : skips_(circulant_skips(ranks)), rounds_(static_cast<int>(skips_.size()) - 1) {}

    int rounds() const { return rounds_; }
    Rank skip(int k) const { return skips_[static_cast<std::size_t>(k)]; }
    Rank ranks() const { return skips_.back(); }

    // A distance is a sum of skips, taken greedily from the largest down. Block k leaves the root
    // over skip k, so the first block to arrive is the number of the smallest skip. The root's is
    // q.
    int first_block(Rank distance) const {
        for (int k = rounds_ - 1; k >= 0; --k) {
            if (distance == skip(k)) return k;
            if (distance > skip(k)) distance -= skip(k);
        }
        return rounds_;
    }

  private:
    std::vector<Rank> skips_;
    int rounds_;
};

// Finds the blocks that a rank receives, by round.
//
// In round k a block can come from afar if it was first received by a rank whose distance to this
// one is at least skip k, and less than skip k + 1. For each round the search looks for such a rank
// whose first block has not been found yet, nearer and nearer to the root. It walks over sums of
// skips, the largest first, and never returns to one; each block is taken out when it is found. So
// it takes O(q) steps. This rank's distance is counted a whole turn later, so that every sum lies
// before it.
class Search {
  public:
    Search(const Circulant& graph, Rank distance)
        : graph_(graph),
          distance_(std::int64_t{distance} + graph.ranks()),
          limit_(2 * std::int64_t{graph.ranks()}) {
        const int q = graph.rounds();
        const int own = graph.first_block(distance);
        end_ = q + 1;
        next_.resize(static_cast<std::size_t>(q) + 2);
        previous_.resize(next_.size());
        // Skip q, the whole turn, stands for the rank's own first block.
        int last = end_;
        for (int e = q; e >= 0; --e) {
            if (e != own) last = link(last, e);
        }
        link(last, end_);
        walk(0, next(end_));
        for (int& block : found_) block = block == q ? own : block - q;
    }

    std::vector<int> take() { return std::move(found_); }

  private:
    int next(int e) const { return next_[static_cast<std::size_t>(e)]; }
    int link(int a, int b) {
        next_[static_cast<std::size_t>(a)] = b;
        previous_[static_cast<std::size_t>(b)] = a;
        return b;
    }
    bool is_done() const { return round() == graph_.rounds(); }
    int round() const { return static_cast<int>(found_.size()); }

    // From the sum `at` on, adding skip e or smaller ones.
    void walk(std::int64_t at, int e) {
        for (; e != end_ && !is_done(); e = next(e)) {
            const std::int64_t sum = at + graph_.skip(e);
            if (sum > distance_ - graph_.skip(round()) || sum >= limit_) continue;
            if (sum <= distance_ - graph_.skip(round() + 1)) walk(sum, e);
            if (is_done() || at > distance_ - graph_.skip(round() + 1)) return;
            limit_ = sum;
            found_.push_back(e);
            link(previous_[static_cast<std::size_t>(e)], next(e));
        }
    }

    const Circulant& graph_;
    std::int64_t distance_;
    std::int64_t limit_;  // of the sums that have not been found
    std::vector<int> found_;
    // The skips whose blocks have not been found, from the largest down.
    int end_;
    std::vector<int> next_;
    std::vector<int> previous_;
};

// From the last round down, the ranks that still count, [0, end), are parted at skip k. Those from
// there on send the block that the root sent in round k of the phase before; those below send what
// they would without this part: at first, their own first block. Then only the rank's part counts.
// Where a part ends too early for this, in at most four rounds, the block is what the other rank
// receives.
std::vector<int> sent_blocks(const Circulant& graph, Rank distance) {
    const int q = graph.rounds();
    std::vector<int> sent(static_cast<std::size_t>(q));
    if (distance == 0) {
        std::iota(sent.begin(), sent.end(), 0);
        return sent;
    }
    const int first = graph.first_block(distance);
    Rank at = distance;
    Rank end = graph.ranks();
    int block = first;
    sent[0] = first - q;
    for (int k = q - 1; k > 0; --k) {
        const Rank skip = graph.skip(k);
        const bool is_upper = at >= skip;
        bool matches = false;
        if (is_upper) {
            block = k - q;
            matches = k == 1 || at > skip || end - skip < graph.skip(k - 1) ||
                      std::int64_t{at} + skip <= end;
            at -= skip;
            end -= skip;
        } else {
            matches =
                std::int64_t{at} + skip < end || end < graph.skip(k - 1) || (k == 1 && first > 0);
            end = std::min(end, skip);
        }
        const Rank to = around(distance, skip, graph.ranks());
        sent[static_cast<std::size_t>(k)] =
            matches ? block : Search(graph, to).take()[static_cast<std::size_t>(k)];
    }
    return sent;
}

}  // namespace

std::vector<Rank> circulant_skips(Rank ranks) {
    std::vector<Rank> skips = {ranks};
    while (skips.back() > 1) skips.push_back(skips.back() - skips.back() / 2);
    std::reverse(skips.begin(), skips.end());
    return skips;
}

CirculantBlocks circulant_blocks(Rank distance, Rank ranks) {
    const Circulant graph(ranks);
    CirculantBlocks blocks;
    blocks.send = sent_blocks(graph, distance);
    if (distance == 0) return blocks;
    blocks.first = graph.first_block(distance);
    blocks.recv = Search(graph, distance).take();
    return blocks;
}

}  // namespace weft
