// Radix sort of keys that are spread over the ranks. The histograms are exchanged while keys are
// moved locally, and keys while the next digit of those that have come is counted. After G.
// Inozemtsev, A. Afsahi: Designing an Offloaded Nonblocking MPI_Allgather Collective Using
// CORE-Direct (IEEE CLUSTER 2012), section V.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "apps/common/app.h"

namespace apps::radix_sort {
namespace {

using Key = std::uint32_t;
constexpr unsigned key_bits = 32;

struct Options {
    int keys = 1 << 16;  // per rank
    int radix_bits = 8;
    int chunks = 4;
    bool tune = false;
};

std::size_t to_size(int value) { return static_cast<std::size_t>(value); }

class Sort {
  public:
    Sort(App& app, const Options& options)
        : app_(app),
          exchange_(app.exchange()),
          rank_(to_size(exchange_.rank())),
          ranks_(to_size(exchange_.ranks())),
          bits_(static_cast<unsigned>(options.radix_bits)),
          buckets_(std::size_t{1} << bits_),
          input_(to_size(options.keys)),
          locally_sorted_(input_.size()),
          arrived_(input_.size()),
          histogram_(buckets_),
          histograms_(buckets_ * ranks_),
          places_(buckets_),
          from_(ranks_) {
        Random random(app.seed() + (std::uint64_t{rank_} << 32));
        for (Key& key : input_) key = static_cast<Key>(random.next());
    }

    // `chunks`: exchanges into which the keys of a pass are cut.
    void run(int chunks) {
        chunks_.resize(to_size(chunks));
        keys_ = input_;
        std::ranges::fill(histogram_, 0);
        for (const Key key : keys_) ++histogram_[digit(key, 0)];
        for (unsigned shift = 0; shift < key_bits; shift += bits_) sort_by_digit(shift);
    }

    // The keys are sorted, within each rank and across ranks, and they are those that were given:
    // as many, with the same sum of hashes.
    void check() {
        if (!std::ranges::is_sorted(keys_)) fail("its keys are not sorted");
        const std::vector<Key> borders =
            exchange_.allgather(std::vector<Key>{keys_.front(), keys_.back()});
        if (!std::ranges::is_sorted(borders)) fail("the keys are not sorted across the ranks");
        std::array<std::uint64_t, 3> sums = {keys_.size(), hash(keys_), hash(input_)};
        exchange_.iallreduce_in_place(sums, weft::sum).wait();
        if (sums[0] != input_.size() * ranks_) fail("there are not as many keys as before");
        if (sums[1] != sums[2]) fail("the keys are not those that were given");
    }

  private:
    // Keys that a rank gets, one after the other, from one source.
    struct Piece {
        std::size_t source, keys;
    };
    // What is exchanged at a time: for every rank, the keys of one stretch of its result.
    struct Chunk {
        std::vector<std::size_t> send_counts, recv_counts;
        std::vector<std::ptrdiff_t> send_places, recv_places;
        std::vector<Piece> pieces;  // what this rank gets, in the result's order
        Request request;
    };

    std::size_t digit(Key key, unsigned shift) const { return (key >> shift) & (buckets_ - 1); }

    // One pass. histogram_ has this digit's counts of keys_, and at the end the next digit's.
    void sort_by_digit(unsigned shift) {
        Request histograms = exchange_.iallgather(histogram_, histograms_);
        move_locally(shift, histograms);  // hides the histograms' exchange
        histograms.wait();
        find_places();
        start_chunks();
        std::ranges::fill(histogram_, 0);
        Key* to = keys_.data();
        for (Chunk& chunk : chunks_) {
            chunk.request.wait();
            to = place_and_count(chunk, to, shift + bits_);  // hides the next chunks' exchange
        }
    }

    // This rank's keys in the order of their digits.
    void move_locally(unsigned shift, Request& histograms) {
        std::size_t place = 0;
        for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
            places_[bucket] = place;
            place += histogram_[bucket];
        }
        in_steps(keys_.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                locally_sorted_[places_[digit(keys_[i], shift)]++] = keys_[i];
            if (app_.tests() > 0) histograms.test();
        });
    }

    // The result has the buckets in order, and each bucket's keys in the order of their sources.
    // Every rank gets as many as it had. A walk through the result finds how many keys this rank
    // sends to each rank and gets from it.
    void find_places() {
        const std::size_t own = input_.size();
        const std::size_t stretch = (own + chunks_.size() - 1) / chunks_.size();
        for (Chunk& chunk : chunks_) {
            chunk.send_counts.assign(ranks_, 0);
            chunk.recv_counts.assign(ranks_, 0);
            chunk.send_places.resize(ranks_);
            chunk.recv_places.resize(ranks_);
            chunk.pieces.clear();
        }
        for (std::size_t source = 0; source < ranks_; ++source) {
            const std::span counts(&histograms_[source * buckets_], buckets_);
            if (std::accumulate(counts.begin(), counts.end(), std::size_t{0}) != own)
                fail("rank %zu's histogram is not that of %zu keys", source, own);
        }
        std::size_t place = 0;
        for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
            for (std::size_t source = 0; source < ranks_; ++source) {
                const std::size_t end = place + histograms_[source * buckets_ + bucket];
                const bool is_mine = place < (rank_ + 1) * own && end > rank_ * own;
                while (place < end && (source == rank_ || is_mine)) {
                    const std::size_t target = place / own, within = place % own;
                    Chunk& chunk = chunks_[within / stretch];
                    const std::size_t border = std::min(own, (within / stretch + 1) * stretch);
                    const std::size_t keys = std::min(end - place, border - within);
                    if (source == rank_) chunk.send_counts[target] += keys;
                    if (target == rank_) {
                        chunk.recv_counts[source] += keys;
                        chunk.pieces.push_back({source, keys});
                    }
                    place += keys;
                }
                place = end;
            }
        }
    }

    void start_chunks() {
        // Locally sorted keys are in the order of their targets, and for each target of the chunks.
        std::size_t place = 0;
        for (std::size_t target = 0; target < ranks_; ++target) {
            for (Chunk& chunk : chunks_) {
                chunk.send_places[target] = static_cast<std::ptrdiff_t>(place);
                place += chunk.send_counts[target];
            }
        }
        place = 0;
        for (Chunk& chunk : chunks_) {
            for (std::size_t source = 0; source < ranks_; ++source) {
                chunk.recv_places[source] = static_cast<std::ptrdiff_t>(place);
                place += chunk.recv_counts[source];
            }
            chunk.request = exchange_.ialltoallv(
                Blocks<const Key>{locally_sorted_.data(), chunk.send_counts, chunk.send_places},
                Blocks<Key>{arrived_.data(), chunk.recv_counts, chunk.recv_places});
        }
    }

    // Returns the end of the chunk's keys.
    Key* place_and_count(Chunk& chunk, Key* to, unsigned next_shift) {
        for (std::size_t source = 0; source < ranks_; ++source)
            from_[source] = arrived_.data() + chunk.recv_places[source];
        const bool is_last = next_shift >= key_bits;
        in_steps(chunk.pieces.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const auto [source, keys] = chunk.pieces[i];
                const std::span<const Key> piece(from_[source], keys);
                from_[source] += keys;
                to = std::ranges::copy(piece, to).out;
                if (is_last) continue;
                for (const Key key : piece) ++histogram_[digit(key, next_shift)];
            }
            if (app_.tests() == 0) return;
            for (Chunk& other : chunks_) other.request.test();
        });
        return to;
    }

    // Calls body(begin, end) for parts of 0...n, as many as there are to be tests.
    template <class Body>
    void in_steps(std::size_t n, Body body) const {
        const std::size_t steps = std::max<std::size_t>(1, to_size(app_.tests()));
        for (std::size_t i = 0; i < steps; ++i) body(n * i / steps, n * (i + 1) / steps);
    }

    static std::uint64_t hash(std::span<const Key> keys) {
        std::uint64_t sum = 0;
        for (const Key key : keys) sum += Random(key).next();
        return sum;
    }

    App& app_;
    Exchange& exchange_;
    const std::size_t rank_, ranks_;
    const unsigned bits_;
    const std::size_t buckets_;
    std::vector<Key> input_, keys_, locally_sorted_, arrived_;
    std::vector<std::uint32_t> histogram_, histograms_;  // this rank's, and [rank][bucket]
    std::vector<std::size_t> places_;                    // of a bucket's next key
    std::vector<const Key*> from_;                       // a source's next key
    std::vector<Chunk> chunks_;
};

}  // namespace
}  // namespace apps::radix_sort

int main(int argc, char** argv) {
    using namespace apps;
    radix_sort::Options options;
    App app("radix_sort", "Sorts numbers of 32 bits, digit by digit");
    app.option("--keys", options.keys, "Keys of each rank");
    app.option("--radix-bits", options.radix_bits, "Bits of a digit, 2 to 16");
    app.option("--chunks", options.chunks, "Exchanges into which the keys of a pass are cut");
    app.flag("--tune", options.tune, "Try numbers of chunks first");
    app.parse(argc, argv);
    if (options.keys == 0) fail("0 keys; expected 1 or more");
    if (options.radix_bits < 2 || options.radix_bits > 16)
        fail("digits of %d bits; expected 2 to 16", options.radix_bits);
    if (options.chunks == 0) fail("0 chunks; expected 1 or more");

    radix_sort::Sort sort(app, options);
    const auto run = [&] { sort.run(options.chunks); };
    if (options.tune) app.tune({{"--chunks", &options.chunks, {1, 2, 4, 8}}}, run);
    app.measure(static_cast<std::size_t>(options.keys) * sizeof(radix_sort::Key), run,
                [&] { sort.check(); });
}
