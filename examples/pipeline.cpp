// The Fourier transform of points that are spread over the ranks, by blocks of wave numbers: the
// sums of one block travel while the next is computed. Prints how long it takes with one buffer
// (blocking) and with several, and compares the result with the known one.
#include <weft/pipeline.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <span>
#include <vector>

namespace {

constexpr std::size_t points = 64;  // per rank
constexpr std::size_t blocks = 64;
constexpr std::size_t waves = 16384;  // per block

using Block = std::vector<std::complex<double>>;
constexpr std::complex<double> i{0, 1};

// Points at equal distances: all waves cancel out, except multiples of their number. Returns the
// greatest error of the sums.
double transform(const weft::Communicator& world, std::size_t buffers) {
    const auto rank = static_cast<std::size_t>(world.rank());
    const std::size_t total = points * static_cast<std::size_t>(world.size());
    std::vector<Block> storage(buffers, Block(waves));
    double worst = 0;
    weft::pipeline(
        blocks, storage,
        [&](std::size_t block, Block& sums) {
            sums.assign(waves, 0);
            for (std::size_t point = rank * points; point < (rank + 1) * points; ++point) {
                const double x = 2 * std::numbers::pi * double(point) / double(total);
                const std::complex<double> step = std::exp(i * x);
                std::complex<double> wave = std::exp(i * (x * double(block * waves)));
                for (std::complex<double>& sum : sums) {
                    sum += wave;
                    wave *= step;
                }
            }
        },
        [&](std::size_t, Block& sums) {
            std::span values(reinterpret_cast<double*>(sums.data()), 2 * waves);
            return world.iallreduce(weft::in_place, values, weft::sum);
        },
        [&](std::size_t block, const Block& sums) {
            for (std::size_t k = 0; k < waves; ++k) {
                const bool adds_up = (block * waves + k) % total == 0;
                worst = std::max(worst, std::abs(sums[k] - (adds_up ? double(total) : 0.0)));
            }
        });
    return worst;
}

}  // namespace

int main() try {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    transform(world, 1);  // warms up
    for (std::size_t buffers : {1, 2, 3}) {
        world.barrier();
        const auto begin = std::chrono::steady_clock::now();
        const double wrong_by = transform(world, buffers);
        const std::chrono::duration<double, std::milli> own =
            std::chrono::steady_clock::now() - begin;
        const double slowest_ms = world.allreduce(own.count(), weft::max);
        if (!(world.allreduce(wrong_by, weft::max) < 1e-6))
            return std::fprintf(stderr, "rank %d: wrong by %g\n", world.rank(), wrong_by), 1;
        if (world.rank() == 0)
            std::printf("%zu buffer%s %.1f ms\n", buffers,
                        buffers == 1 ? " (blocking):" : "s:", slowest_ms);
    }
} catch (const weft::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
