// Adds the ranks up in fibers, each with a communicator of its own.
#include <weft/fiber.hpp>

#include <cstdio>
#include <span>
#include <vector>

int main() {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    int sums[4] = {};
    weft::fibers::run([&] {
        std::vector<weft::fibers::Fiber> fibers;
        for (int& sum : sums) {
            fibers.push_back(weft::fibers::spawn([&sum, own = world.dup()] {
                sum = own.rank() + 1;
                own.allreduce(weft::in_place, std::span(&sum, 1), weft::sum);
            }));
        }
        for (weft::fibers::Fiber& fiber : fibers) fiber.join();
    });
    for (const int sum : sums)
        if (sum != sums[0]) return 1;
    if (world.rank() == 0) std::printf("sum %d\n", sums[0]);
    return 0;
}
