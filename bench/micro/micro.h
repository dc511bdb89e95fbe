// `weft bench micro`: the library's smallest costs, compared with the machine's own.
#pragma once

namespace weft::bench {

struct MicroOptions {
    int repetitions = 400;
    bool bars = false;  // mark rows that have a bar as met or missed
};

// Starts two ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_micro(const MicroOptions& options);

}  // namespace weft::bench
