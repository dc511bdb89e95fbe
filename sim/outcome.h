// What the LogGP machine finds out.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::simulate {

struct LogGpOutcome {
    std::uint64_t events = 0;          // operations other than joins, and messages
    std::vector<std::int64_t> end_ps;  // by rank: when its last operation is over
    std::vector<std::int64_t> cpu_ps;  // by rank: how long its CPU was busy with the collective
    // By rank: for how long, from its start to its end, the program's CPU did nothing; nor was it
    // taken away.
    std::vector<std::int64_t> waiting_ps;
    // By rank: its late start, and noise while it worked; or empty.
    std::vector<std::int64_t> disturbed_ps;
};

// What one part of a rank does for a while.
struct BusySpan {
    enum class Unit : std::uint8_t { cpu, sending, receiving, card };
    enum class Work : std::uint8_t { send, recv, reduction, copy, question, answer, list };
    std::uint32_t rank;
    Unit unit;
    Work work;
    std::int64_t begin_ps;
    std::int64_t end_ps;
};

}  // namespace weft::simulate
