// `weft bench micro`: the library's smallest costs beside what the machine itself takes.
#pragma once

namespace weft::bench {

struct MicroOptions {
    int repetitions = 400;
    bool bars = false;  // say of rows that have a bar whether they keep it
};

// Starts two ranks, or, in a rank, measures; rank 0 prints. Returns the exit status.
int bench_micro(const MicroOptions& options);

}  // namespace weft::bench
