// Radix sort of keys that are spread over the ranks. A block of keys travels while the next ones are
// moved locally, and while the next digit of those that have come is counted. After G.
// Inozemtsev, A. Afsahi: Designing an Offloaded Nonblocking MPI_Allgather Collective Using
// CORE-Direct (IEEE CLUSTER 2012), section V.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "apps/common/app.h"

namespace apps::radix_sort {
namespace {

using Key = std::uint32_t;
constexpr unsigned key_bits = 32;

struct Options {
    int keys = 1 << 16;  // per rank
    int radix_bits = 8;
    int blocks = 4;
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
          places_(buckets_),
          from_(ranks_) {
        Random random(app.seed() + (std::uint64_t{rank_} << 32));
        for (Key& key : input_) key = static_cast<Key>(random.next());
    }

    // `blocks`: parts of a rank's keys, which are moved and exchanged one after the other.
    void run(int blocks) {
        blocks_.resize(to_size(blocks));
        block_keys_ = (input_.size() + blocks_.size() - 1) / blocks_.size();
        counts_.assign(blocks_.size() * buckets_, 0);
        all_counts_.resize(counts_.size() * ranks_);
        keys_ = input_;
        app_.phase("first count", App::hides_nothing);
        count(0, keys_, 0);
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
    // Keys of one bucket that come from one block of a rank, and where they belong.
    struct Piece {
        std::size_t source, keys, place;
    };
    // A part of each rank's keys, and its exchange.
    struct Block {
        std::vector<std::size_t> send_counts, recv_counts;
        std::vector<std::ptrdiff_t> send_places, recv_places;
        std::vector<Piece> pieces;  // what this rank gets, in the order of its digits
        Request request;
    };

    std::size_t digit(Key key, unsigned shift) const { return (key >> shift) & (buckets_ - 1); }
    // Counts the digits of keys that are at this place and behind it, for each block by itself.
    void count(std::size_t place, std::span<const Key> keys, unsigned shift) {
        while (!keys.empty()) {
            const std::size_t block = place / block_keys_;
            const auto part = keys.first(std::min(keys.size(), (block + 1) * block_keys_ - place));
            std::uint32_t* const counts = &counts_[block * buckets_];
            for (const Key key : part) ++counts[digit(key, shift)];
            place += part.size();
            keys = keys.subspan(part.size());
        }
    }

    // One pass. counts_ has this digit's counts of keys_, and at the end the next digit's.
    void sort_by_digit(unsigned shift) {
        app_.phase("first block", App::hides);
        Request counts = exchange_.iallgather(counts_, all_counts_);
        move_block(0, shift, &counts);  // hides the counts' exchange
        counts.wait();
        app_.phase("places", App::hides_nothing);
        find_places();
        app_.phase("blocks", App::hides);
        exchange_block(0);
        for (std::size_t k = 1; k < blocks_.size(); ++k) {
            move_block(k, shift, nullptr);  // hides the exchange of the blocks before
            exchange_block(k);
        }
        std::ranges::fill(counts_, 0);
        for (Block& block : blocks_) {
            block.request.wait();
            place_block(block, shift + bits_);  // hides the exchange of the next blocks
        }
    }

    // The block's keys in the order of their digits.
    void move_block(std::size_t k, unsigned shift, Request* counts) {
        const std::size_t first = std::min(k * block_keys_, keys_.size());
        const std::size_t last = std::min(first + block_keys_, keys_.size());
        std::size_t place = first;
        for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
            places_[bucket] = place;
            place += counts_[k * buckets_ + bucket];
        }
        in_steps(last - first, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = first + begin; i < first + end; ++i)
                locally_sorted_[places_[digit(keys_[i], shift)]++] = keys_[i];
            if (counts != nullptr && app_.tests() > 0) counts->test();
        });
    }

    // The result has the buckets in order, and each bucket's keys in the order of their ranks and
    // blocks. Every rank gets as many as it had. A walk through the result finds how many keys of
    // each block this rank sends to each rank, and what it gets from it.
    void find_places() {
        const std::size_t own = input_.size();
        for (Block& block : blocks_) {
            block.send_counts.assign(ranks_, 0);
            block.recv_counts.assign(ranks_, 0);
            block.pieces.clear();
        }
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            const std::span counts(&all_counts_[rank * counts_.size()], counts_.size());
            if (std::accumulate(counts.begin(), counts.end(), std::size_t{0}) != own)
                fail("rank %zu's counts are not those of %zu keys", rank, own);
        }
        std::size_t place = 0;
        for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
            for (std::size_t source = 0; source < ranks_; ++source) {
                const std::uint32_t* const counts = &all_counts_[source * counts_.size() + bucket];
                for (std::size_t k = 0; k < blocks_.size(); ++k) {
                    const std::size_t keys = counts[k * buckets_];
                    if (source == rank_) send(blocks_[k], place, keys);
                    receive(blocks_[k], source, place, keys);
                    place += keys;
                }
            }
        }
        find_displacements();
    }

    // Keys of this rank's block that belong to these places, which may be of several ranks.
    void send(Block& block, std::size_t place, std::size_t keys) const {
        for (const std::size_t own = input_.size(), end = place + keys; place < end;) {
            const std::size_t target = place / own, next = std::min(end, (target + 1) * own);
            block.send_counts[target] += next - place;
            place = next;
        }
    }
    // Those among the keys that belong to places of this rank.
    void receive(Block& block, std::size_t source, std::size_t place, std::size_t keys) const {
        const std::size_t own = input_.size();
        const std::size_t begin = std::max(place, rank_ * own);
        const std::size_t end = std::min(place + keys, (rank_ + 1) * own);
        if (begin >= end) return;
        block.recv_counts[source] += end - begin;
        block.pieces.push_back({source, end - begin, begin - rank_ * own});
    }

    // A block's moved keys are in the order of their targets.
    void find_displacements() {
        std::size_t to = 0, from = 0;
        const auto place_of = [](std::size_t& place, std::size_t keys) {
            return static_cast<std::ptrdiff_t>(std::exchange(place, place + keys));
        };
        for (Block& block : blocks_) {
            block.send_places.clear();
            block.recv_places.clear();
            for (std::size_t rank = 0; rank < ranks_; ++rank) {
                block.send_places.push_back(place_of(to, block.send_counts[rank]));
                block.recv_places.push_back(place_of(from, block.recv_counts[rank]));
            }
        }
    }

    void exchange_block(std::size_t k) {
        Block& block = blocks_[k];
        block.request = exchange_.ialltoallv(
            Blocks<const Key>{locally_sorted_.data(), block.send_counts, block.send_places},
            Blocks<Key>{arrived_.data(), block.recv_counts, block.recv_places});
        test();
    }

    // Puts what has come with a block to its places, and counts the next digits.
    void place_block(const Block& block, unsigned next_shift) {
        for (std::size_t source = 0; source < ranks_; ++source)
            from_[source] = arrived_.data() + block.recv_places[source];
        const bool is_last = next_shift >= key_bits;
        in_steps(block.pieces.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const auto [source, keys, place] = block.pieces[i];
                const std::span<const Key> piece(from_[source], keys);
                from_[source] += keys;
                std::ranges::copy(piece, &keys_[place]);
                if (!is_last) count(place, piece, next_shift);
            }
        });
    }

    // Calls body(begin, end) for parts of 0...n, as many as there are to be tests.
    template <class Body>
    void in_steps(std::size_t n, Body body) {
        const std::size_t steps = std::max<std::size_t>(1, to_size(app_.tests()));
        for (std::size_t i = 0; i < steps; ++i) {
            body(n * i / steps, n * (i + 1) / steps);
            test();
        }
    }
    void test() {
        if (app_.tests() == 0) return;
        for (Block& block : blocks_) block.request.test();
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
    std::vector<std::uint32_t> counts_, all_counts_;  // [block][bucket]: this rank's; of each rank
    std::vector<std::size_t> places_;                 // of a bucket's next key
    std::vector<const Key*> from_;                    // a source's next key
    std::vector<Block> blocks_;
    std::size_t block_keys_ = 1;
};

}  // namespace
}  // namespace apps::radix_sort

int main(int argc, char** argv) {
    using namespace apps;
    radix_sort::Options options;
    App app("radix_sort", "Sorts numbers of 32 bits, digit by digit");
    app.option("--keys", options.keys, "Keys of each rank");
    app.option("--radix-bits", options.radix_bits, "Bits of a digit, 2 to 16");
    app.option("--blocks", options.blocks,
               "Parts of a rank's keys that are moved and exchanged one after the other");
    app.flag("--tune", options.tune, "Try numbers of blocks first");
    app.parse(argc, argv);
    if (options.keys == 0) fail("0 keys; expected 1 or more");
    if (options.radix_bits < 2 || options.radix_bits > 16)
        fail("digits of %d bits; expected 2 to 16", options.radix_bits);
    if (options.blocks == 0) fail("0 blocks; expected 1 or more");

    radix_sort::Sort sort(app, options);
    const auto run = [&] { sort.run(options.blocks); };
    if (options.tune) app.tune({{"--blocks", &options.blocks, {1, 2, 4, 8, 16}}}, run);
    app.measure(static_cast<std::size_t>(options.keys) * sizeof(radix_sort::Key), run,
                [&] { sort.check(); });
}
