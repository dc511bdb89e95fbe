// Whole random programs: on simulated ranks, on ranks that are threads, and on processes that
// `weft run` starts, or that are in several jobs.
#pragma once

#include <string>
#include <vector>

#include "support/random/program.h"

namespace weft::test::random {

// A deliberate mistake, to check that it is found.
enum class Plant : std::uint8_t {
    none,
    corrupted,  // sim: long messages of communicators other than world arrive with a wrong byte
    lost,       // sim: and some never arrive
    operation,  // a user's operation does nothing on the last rank
};

struct Outcome {
    std::string failure;  // empty: none
    int operations = 0;
    std::uint64_t history = 0;  // sim: a hash of everything that happened

    bool is_good() const { return failure.empty(); }
};

// Runs the case's program on its transport. Never hangs: no progress is a failure, or, with threads,
// ends the process with a sentence.
Outcome run_case(const Case& c, Plant plant = Plant::none);

// The smallest case found that fails like `c`, within a bounded time.
Case shrink(Case c, Plant plant = Plant::none);

// The text printed for a failure: the line that repeats it, what went wrong and the program's steps.
std::string report(const Case& c, const Outcome& outcome);

}  // namespace weft::test::random
