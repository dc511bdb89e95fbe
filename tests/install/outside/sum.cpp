// A user's program in C++: adds up the ranks' numbers, and prints the sum on rank 0.
#include <weft/pipeline.hpp>
#include <weft/weft.hpp>

#include <iostream>

int main() try {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    const std::int32_t number[1] = {world.rank() + 1};
    std::int32_t sum[1];
    world.iallreduce(number, sum, weft::sum).wait();
    if (world.rank() == 0) std::cout << "sum " << sum[0] << '\n';
} catch (const weft::Error& error) {
    return std::cerr << error.what() << '\n', 1;
}
