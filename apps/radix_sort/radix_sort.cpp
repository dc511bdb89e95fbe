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
    int blocks = 8;
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
          counts_of_rank_(buckets_),
          counts_of_ranks_(buckets_ * ranks_),
          places_(buckets_),
          next_(buckets_ * ranks_) {
        Random random(app.seed() + (std::uint64_t{rank_} << 32));
        for (Key& key : input_) key = static_cast<Key>(random.next());
    }

    // `blocks`: of a rank's keys, which are moved and exchanged one after the other.
    void run(int blocks) {
        blocks_.resize(to_size(blocks));
        block_keys_ = (input_.size() + blocks_.size() - 1) / blocks_.size();
        counts_.assign(blocks_.size() * buckets_, 0);
        sizes_.resize(blocks_.size() * ranks_);
        all_sizes_.resize(sizes_.size());
        keys_ = input_;
        app_.phase("first count", App::hides_nothing);
        for (std::size_t place = 0, block = 0; place < keys_.size(); ++block)
            for (; place < std::min(keys_.size(), (block + 1) * block_keys_); ++place)
                ++counts_[block * buckets_ + digit(keys_[place], 0)];
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
    // A part of each rank's keys, and its exchange.
    struct Block {
        std::vector<std::size_t> send_counts, recv_counts;
        std::vector<std::ptrdiff_t> send_places, recv_places;
        Request request;
    };

    std::size_t digit(Key key, unsigned shift) const { return (key >> shift) & (buckets_ - 1); }

    // One pass. counts_ has this digit's counts of keys_, and at the end the next digit's.
    void sort_by_digit(unsigned shift) {
        app_.phase("first blocks", App::hides);
        add_up();
        Request histograms = exchange_.iallgather(counts_of_rank_, counts_of_ranks_);
        std::size_t moved = 0;
        do {
            move_block(moved++, shift, &histograms);  // hides the histograms' exchange
        } while (moved < blocks_.size() && !histograms.test());
        histograms.wait();
        app_.phase("places", App::hides_nothing);
        find_places();
        app_.phase("blocks", App::hides);
        Request sizes;
        if (blocks_.size() > 1) sizes = exchange_.ialltoall(sizes_, all_sizes_);
        if (moved < blocks_.size())
            move_block(moved++, shift, &sizes);  // hides the sizes' exchange
        sizes.wait();
        find_displacements();
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            if (k >= moved) move_block(k, shift, nullptr);  // hides that of the blocks before
            exchange_block(k);
        }
        std::ranges::fill(counts_, 0);
        for (Block& block : blocks_) {
            block.request.wait();
            place_block(block, shift);  // hides the exchange of the next blocks
        }
    }

    void add_up() {
        std::ranges::fill(counts_of_rank_, 0);
        for (std::size_t k = 0; k < blocks_.size(); ++k)
            for (std::size_t bucket = 0; bucket < buckets_; ++bucket)
                counts_of_rank_[bucket] += counts_[k * buckets_ + bucket];
    }

    // The block's keys in the order of their digits.
    void move_block(std::size_t k, unsigned shift, Request* other) {
        const std::size_t first = std::min(k * block_keys_, keys_.size());
        const std::size_t last = std::min(first + block_keys_, keys_.size());
        std::size_t place = first;
        for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
            places_[bucket] = place;
            place += counts_[k * buckets_ + bucket];
        }
        if (place != last) fail("the counts of block %zu are not those of its keys", k);
        in_steps(last - first, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = first + begin; i < first + end; ++i)
                locally_sorted_[places_[digit(keys_[i], shift)]++] = keys_[i];
            if (other != nullptr && app_.tests() > 0) other->test();
        });
    }

    // The result has the buckets in order, and each bucket's keys in the order of their ranks and
    // blocks. Every rank gets as many as it had. A walk through the result finds where this rank
    // puts the keys of each bucket that come from each rank, and how many of each block it sends.
    // (How many of one block come from each rank is known then, too.)
    void find_places() {
        const std::size_t own = input_.size(), first = rank_ * own;
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            const std::span counts(&counts_of_ranks_[rank * buckets_], buckets_);
            if (std::accumulate(counts.begin(), counts.end(), std::size_t{0}) != own)
                fail("rank %zu's counts are not those of %zu keys", rank, own);
        }
        std::ranges::fill(sizes_, 0);
        std::ranges::fill(all_sizes_, 0);
        std::size_t place = 0, target = 0, whole = 0;  // buckets from `whole` on go to this target
        for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
            for (std::size_t source = 0; source < ranks_; ++source) {
                const std::size_t end = place + counts_of_ranks_[source * buckets_ + bucket];
                const std::size_t begin_here = std::clamp(place, first, first + own);
                const std::size_t end_here = std::clamp(end, first, first + own);
                next_[source * buckets_ + bucket] =
                    begin_here < end_here ? begin_here - first : own;
                if (blocks_.size() == 1) all_sizes_[source] += end_here - begin_here;
                if (source == rank_ && end > (target + 1) * own) {
                    send_whole(whole, bucket, target);
                    send_cut(bucket, place);
                    target = (end - 1) / own;
                    whole = bucket + 1;
                }
                place = end;
            }
        }
        send_whole(whole, buckets_, target);
    }

    // These buckets' keys of all blocks go to this rank.
    void send_whole(std::size_t begin, std::size_t end, std::size_t target) {
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            const auto counts = counts_.begin() + static_cast<std::ptrdiff_t>(k * buckets_);
            sizes_[target * blocks_.size() + k] +=
                std::accumulate(counts + static_cast<std::ptrdiff_t>(begin),
                                counts + static_cast<std::ptrdiff_t>(end), std::uint64_t{0});
        }
    }
    // This bucket's keys, which belong to this place and those behind it, may go to several ranks.
    void send_cut(std::size_t bucket, std::size_t place) {
        const std::size_t own = input_.size();
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            for (const std::size_t end = place + counts_[k * buckets_ + bucket]; place < end;) {
                const std::size_t target = place / own, next = std::min(end, (target + 1) * own);
                sizes_[target * blocks_.size() + k] += next - place;
                place = next;
            }
        }
    }

    // A block's moved keys are in the order of their targets.
    void find_displacements() {
        std::size_t to = 0, from = 0;
        const auto place_of = [](std::size_t& place, std::size_t keys) {
            return static_cast<std::ptrdiff_t>(std::exchange(place, place + keys));
        };
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            Block& block = blocks_[k];
            for (auto* const places : {&block.send_places, &block.recv_places})
                places->resize(ranks_);
            for (auto* const counts : {&block.send_counts, &block.recv_counts})
                counts->resize(ranks_);
            for (std::size_t rank = 0; rank < ranks_; ++rank) {
                block.send_counts[rank] = sizes_[rank * blocks_.size() + k];
                block.recv_counts[rank] = all_sizes_[rank * blocks_.size() + k];
                block.send_places[rank] = place_of(to, block.send_counts[rank]);
                block.recv_places[rank] = place_of(from, block.recv_counts[rank]);
            }
        }
        if (from != input_.size()) fail("%zu keys are to come; expected %zu", from, input_.size());
    }

    void exchange_block(std::size_t k) {
        Block& block = blocks_[k];
        block.request = exchange_.ialltoallv(
            Blocks<const Key>{locally_sorted_.data(), block.send_counts, block.send_places},
            Blocks<Key>{arrived_.data(), block.recv_counts, block.recv_places});
        test();
    }

    // Puts what has come with a block to its places, and counts the next digits. A source's keys are
    // in the order of their digits, so their places rise.
    void place_block(const Block& block, unsigned shift) {
        const unsigned next_shift = shift + bits_;
        const bool is_last = next_shift >= key_bits;
        for (std::size_t source = 0; source < ranks_; ++source) {
            const Key* const keys = arrived_.data() + block.recv_places[source];
            std::size_t* const next = &next_[source * buckets_];
            std::size_t least = 0, end = block_keys_;  // of the block at whose places they are
            std::uint32_t* counts = counts_.data();
            in_steps(block.recv_counts[source], [&](std::size_t from, std::size_t to) {
                for (std::size_t i = from; i < to; ++i) {
                    const std::size_t place = next[digit(keys[i], shift)]++;
                    if (place < least || place >= keys_.size())
                        fail("a key of rank %zu does not belong to this rank", source);
                    keys_[place] = keys[i];
                    if (is_last) continue;
                    for (; place >= end; end += block_keys_) counts += buckets_;
                    least = end - block_keys_;
                    ++counts[digit(keys[i], next_shift)];
                }
            });
        }
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
    std::vector<std::uint32_t> counts_;                            // [block][bucket], of this rank
    std::vector<std::uint32_t> counts_of_rank_, counts_of_ranks_;  // [bucket]; [rank][bucket]
    std::vector<std::uint64_t> sizes_,
        all_sizes_;                    // [target][block]: keys to send; [source][block]
    std::vector<std::size_t> places_;  // of a bucket's next key
    std::vector<std::size_t> next_;    // [source][bucket]: likewise, of the result
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
