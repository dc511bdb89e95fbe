// Rank 0 hands out the rows of a matrix; each row is used while the next one is on its way.
#include <weft/weft.h>

#include <cstdio>
#include <numeric>
#include <vector>

int main() {
    if (weft_init() != WEFT_OK) return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
    int rank = 0;
    weft_comm_rank(weft_comm_world(), &rank);
    std::vector<std::vector<float>> rows(64, std::vector<float>(65536, rank == 0 ? 0.5f : 0.0f));
    std::vector<weft_request> requests(rows.size(), WEFT_REQUEST_NULL);

    for (std::size_t i = 0; i < rows.size(); ++i)
        weft_ibcast(rows[i].data(), rows[i].size(), WEFT_FLOAT32, 0, weft_comm_world(),
                    &requests[i]);
    float total = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (weft_wait(&requests[i]) != WEFT_OK)
            return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
        total = std::accumulate(rows[i].begin(), rows[i].end(), total);
    }
    std::printf("rank %d: total %g\n", rank, total);
    return weft_finalize() == WEFT_OK ? 0 : 1;
}
