// All ranks compress blocks, and rank 0 gathers them in a pipeline, after LibNBC's application
// (Hoefler, Gottschling, Lumsdaine, Rehm 2007).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "apps/common/app.h"
#include "apps/compression/codec.h"

namespace apps::compression {
namespace {

struct Options {
    double mib = 15.25;
    std::string data = "random", gather = "exact";
    int block_kib = 256, window = 4;
    bool at_once = false, tune = false;
    Codec codec;
};

// Words of a seeded vocabulary, the frequent ones far more often than the others, as in a text.
std::vector<char> text(Random random, std::size_t bytes) {
    std::vector<std::string> words(4096);
    Random letters(7);
    for (std::string& word : words)
        for (std::size_t left = 2 + letters.next() % 9; left > 0; --left)
            word += static_cast<char>('a' + letters.next() % 26);
    std::vector<char> made;
    made.reserve(bytes + 16);
    while (made.size() < bytes) {
        const double u = random.uniform();
        const std::string& word = words[static_cast<std::size_t>(u * u * u * 4096)];
        made.insert(made.end(), word.begin(), word.end());
        made.push_back(random.next() % 12 == 0 ? '\n' : ' ');
    }
    made.resize(bytes);
    return made;
}

std::vector<char> noise(Random random, std::size_t bytes) {
    std::vector<char> made(bytes);
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
        const std::uint64_t value = random.next();
        std::memcpy(&made[at], &value, std::min(sizeof value, bytes - at));
    }
    return made;
}

class Compression {
  public:
    Compression(App& app, const Options& options)
        : app_(app), world_(app.exchange()), options_(options), data_(data_of(world_.rank())) {}

    std::size_t bytes() const { return data_.size() * ranks(); }

    void compress() {
        block_ = static_cast<std::size_t>(options_.block_kib) * 1024;
        blocks_ = (data_.size() + block_ - 1) / block_;
        compressed_.assign(blocks_, {});
        received_.assign(blocks_, {});
        if (options_.at_once)
            compress_then_gather();
        else if (options_.gather == "fixed")
            compress_to_bounds();
        else
            compress_to_sizes();
    }

    // Rank 0 decompresses all, and compares.
    void check() {
        if (world_.rank() > 0) return;
        std::size_t compressed = 0;
        std::vector<char> whole(block_);
        for (int rank = 0; rank < world_.ranks(); ++rank) {
            const std::vector<char> expected = data_of(rank);
            for (std::size_t k = 0; k < blocks_; ++k) {
                const std::span<const char> block = received(k, static_cast<std::size_t>(rank));
                const std::span<const char> right = block_of(expected, k);
                const std::size_t got = options_.codec.decompress(block, whole);
                compressed += block.size();
                if (got != right.size() || !std::equal(right.begin(), right.end(), whole.begin()))
                    fail("block %zu of rank %d is not what it was: %zu bytes of %zu", k, rank, got,
                         right.size());
            }
        }
        app_.note("bytes", static_cast<double>(bytes()));
        app_.note("bytes compressed", static_cast<double>(compressed));
    }

  private:
    // --- Without a pipeline ---

    // What a program does that does not overlap: all blocks are compressed, then one gather takes all.
    void compress_then_gather() {
        app_.phase("compression", App::hides_nothing);
        std::vector<char> whole;
        whole.reserve(blocks_ * options_.codec.bound(block_));
        std::vector<std::uint64_t> sizes(blocks_), all_sizes(is_root() ? blocks_ * ranks() : 0);
        for (std::size_t k = 0; k < blocks_; ++k) {
            const std::size_t at = whole.size();
            whole.resize(at + options_.codec.bound(block_));
            sizes[k] = pack(k, std::span(whole).subspan(at));
            whole.resize(at + sizes[k]);
        }
        app_.phase("gather", App::hides_nothing);
        world_.igather(sizes, all_sizes, 0).wait();
        std::vector<std::size_t> counts;
        std::vector<std::ptrdiff_t> begins;
        std::size_t bytes = 0;
        for (std::size_t rank = 0; rank < ranks() && is_root(); ++rank) {
            begins.push_back(static_cast<std::ptrdiff_t>(bytes));
            for (std::size_t k = 0; k < blocks_; ++k) {
                const std::uint64_t size = all_sizes[rank * blocks_ + k];
                received_[k].counts.push_back(size);
                received_[k].begins.push_back(static_cast<std::ptrdiff_t>(bytes));
                bytes += size;
            }
            counts.push_back(bytes - static_cast<std::size_t>(begins.back()));
        }
        together_.resize(bytes);
        world_.igatherv(whole, Blocks<char>{together_.data(), counts, begins}, 0).wait();
    }

    // --- The two pipelines ---

    // The next block is compressed while up to `window` gathers move the ones before it. Each
    // message is as long as the longest compressed block can be, and begins with the real size.
    void compress_to_bounds() {
        app_.phase("compression", App::hides);
        const std::size_t bound = sizeof(std::uint64_t) + options_.codec.bound(block_);
        std::deque<Request> gathers;
        for (std::size_t k = 0; k < blocks_; ++k) {
            std::vector<char>& mine = compressed_[k];
            mine.resize(bound);
            const std::uint64_t size = pack(k, std::span(mine).subspan(sizeof size));
            std::memcpy(mine.data(), &size, sizeof size);
            if (is_root()) received_[k].data.resize(bound * ranks());
            start_within_window(gathers,
                                [&] { return world_.igather(mine, received_[k].data, 0); });
        }
        app_.phase("last gathers", App::hides_nothing);
        for (Request& gather : gathers) gather.wait();
        for (std::size_t k = 0; k < blocks_ && is_root(); ++k) {
            for (std::size_t r = 0; r < ranks(); ++r) {
                std::uint64_t size = 0;
                std::memcpy(&size, &received_[k].data[r * bound], sizeof size);
                received_[k].counts.push_back(size);
                received_[k].begins.push_back(static_cast<std::ptrdiff_t>(r * bound + sizeof size));
            }
        }
    }

    // The sizes come first, in a gather of their own: hidden behind the next block, after which the
    // block itself can be gathered.
    void compress_to_sizes() {
        app_.phase("compression", App::hides);
        std::deque<Request> gathers;
        std::array<std::uint64_t, 1> size{};
        std::vector<std::uint64_t> sizes(is_root() ? ranks() : 0);
        Request of_sizes;
        const auto gather_block = [&](std::size_t k) {
            of_sizes.wait();
            Received& to = received_[k];
            std::size_t bytes = 0;
            for (const std::uint64_t one : sizes) {
                to.counts.push_back(one);
                to.begins.push_back(static_cast<std::ptrdiff_t>(bytes));
                bytes += one;
            }
            to.data.resize(bytes);
            start_within_window(gathers, [&] {
                return world_.igatherv(compressed_[k],
                                       Blocks<char>{to.data.data(), to.counts, to.begins}, 0);
            });
        };
        for (std::size_t k = 0; k < blocks_; ++k) {
            compressed_[k].resize(options_.codec.bound(block_));
            compressed_[k].resize(pack(k, compressed_[k]));
            if (k > 0) gather_block(k - 1);
            size[0] = compressed_[k].size();
            of_sizes = world_.igather(size, sizes, 0);
        }
        gather_block(blocks_ - 1);
        app_.phase("last gathers", App::hides_nothing);
        for (Request& gather : gathers) gather.wait();
    }

    template <class F>
    void start_within_window(std::deque<Request>& gathers, F start) {
        while (gathers.size() >= static_cast<std::size_t>(options_.window)) {
            gathers.front().wait();
            gathers.pop_front();
        }
        gathers.push_back(start());
        if (app_.tests() > 0)
            for (Request& gather : gathers) gather.test();
    }

    // Compresses a block of this rank's data. Returns its size.
    std::size_t pack(std::size_t k, std::span<char> to) const {
        const std::size_t size = options_.codec.compress(block_of(data_, k), to);
        if (size == 0) fail("block %zu cannot be compressed", k);
        return size;
    }

    // --- Data ---

    struct Received {  // on rank 0, for each block: where each rank's begins, and its size
        std::vector<char> data;
        std::vector<std::size_t> counts;
        std::vector<std::ptrdiff_t> begins;
    };

    bool is_root() const { return world_.rank() == 0; }
    std::size_t ranks() const { return static_cast<std::size_t>(world_.ranks()); }
    std::span<const char> block_of(const std::vector<char>& data, std::size_t k) const {
        return std::span(data).subspan(k * block_, std::min(block_, data.size() - k * block_));
    }
    std::span<const char> received(std::size_t k, std::size_t rank) const {
        return std::span(options_.at_once ? together_ : received_[k].data)
            .subspan(static_cast<std::size_t>(received_[k].begins[rank]),
                     received_[k].counts[rank]);
    }
    // All ranks have the same number of bytes.
    std::vector<char> data_of(int rank) const {
        const auto bytes = static_cast<std::size_t>(options_.mib * 1024 * 1024) / ranks();
        const Random random(app_.seed() * 1000003 + static_cast<std::uint64_t>(rank));
        return options_.data == "text" ? text(random, bytes) : noise(random, bytes);
    }

    App& app_;
    Exchange& world_;
    const Options& options_;
    const std::vector<char> data_;
    std::size_t block_ = 1, blocks_ = 0;         // bytes of a block; blocks of a rank
    std::vector<std::vector<char>> compressed_;  // blocks of this rank
    std::vector<Received> received_;
    std::vector<char> together_;  // what one gather has brought
};

}  // namespace
}  // namespace apps::compression

int main(int argc, char** argv) {
    using namespace apps;
    compression::Options options;
    App app("compression",
            "All ranks compress blocks, and rank 0 gathers them: a block travels while the next "
            "ones are compressed");
    app.option("--mib", options.mib, "MiB of data, of all ranks together");
    app.option("--data", options.data, {"random", "text"}, "What is compressed");
    app.option("--library", options.codec.library, {"bzip2", "zlib"}, "Which library compresses");
    app.option("--level", options.codec.level, "From 1, fastest, to 9, smallest; zlib: 0 copies");
    app.option("--strategy", options.codec.strategy, {"default", "rle", "huffman"}, "Of zlib");
    app.option("--gather", options.gather, {"exact", "fixed"},
               "exact: of the sizes, then igatherv; fixed: igather of the longest possible blocks");
    app.flag("--at-once", options.at_once,
             "Compress all blocks, then gather all: what a program does that does not overlap");
    app.option("--block", options.block_kib, "KiB of a block");
    app.option("--window", options.window, "Blocks that may be on their way");
    app.flag("--tune", options.tune, "Find the fastest --block and --window first");
    app.parse(argc, argv);
    if (options.block_kib < 1 || options.window < 1 || options.codec.level > 9)
        fail("--block %d --window %d --level %d; expected at least 1, 1, and at most 9",
             options.block_kib, options.window, options.codec.level);
    if (options.mib * 1024 * 1024 < app.exchange().ranks())
        fail("--mib %g; expected at least a byte for each rank", options.mib);
    compression::Compression compression(app, options);
    if (options.tune)
        app.tune({{"--block", &options.block_kib, {32, 64, 128, 256, 512, 1024}},
                  {"--window", &options.window, {1, 2, 4, 8}}},
                 [&] { compression.compress(); });
    app.measure(
        compression.bytes(), [&] { compression.compress(); }, [&] { compression.check(); });
}
