// Two chains of dependent collectives run side by side in one thread, as coroutines.
#include <weft/coroutine.hpp>

#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

namespace {

// Power iteration: the greatest eigenvalue of a diagonal matrix whose rows are spread over the ranks.
weft::Task<double> greatest(const weft::Communicator& comm, double first) {
    std::vector<double> row(100, 1);
    double value = 0;
    for (int step = 0; step < 200; ++step) {
        double square = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] *= first + comm.rank() + double(i) / 100;
            square += row[i] * row[i];
        }
        co_await comm.iallreduce(weft::in_place, std::span(&square, 1), weft::sum);
        value = std::sqrt(square);
        for (double& x : row) x /= value;
    }
    co_return value;
}

weft::Task<> both(const weft::Communicator& one, const weft::Communicator& other) {
    weft::Task<double> a = greatest(one, 1), b = greatest(other, 5);
    co_await weft::when_all(a, b);
    if (one.rank() == 0) std::printf("%.2f and %.2f\n", a.get(), b.get());
}

}  // namespace

int main() try {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    const weft::Communicator other = world.dup();
    weft::run(both(world, other));
} catch (const weft::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
