// Rank 0 broadcasts the rows of a matrix; each row is used while the next ones travel.
#include <weft/weft.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

int main() try {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    const float value = world.rank() == 0 ? 0.5f : 0.0f;
    std::vector<std::vector<float>> rows(64, std::vector<float>(65536, value));

    std::vector<weft::Request> requests;
    for (std::vector<float>& row : rows) requests.push_back(world.ibcast(row, 0));
    float total = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        requests[i].wait();
        total = std::accumulate(rows[i].begin(), rows[i].end(), total);
    }
    std::printf("rank %d: total %g\n", world.rank(), total);
} catch (const weft::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
