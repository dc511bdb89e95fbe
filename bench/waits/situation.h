// The situations in which waits are measured, one entry each in situation.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace weft::bench {

struct Situation {
    enum class Kind { late, chain, test, skew };

    Kind kind;
    const char* name;
    int ranks;  // 0: any number
    std::vector<std::string> collectives;
    bool has_fixed_collective;
    std::string sizes;
    std::vector<int> every_us;  // computation between two calls of weft_test; {0}: no such calls
    const char* title;          // of its table
    const char* legend;         // what is measured

    // Whether all ranks do the same, so that engines are compared by ratios. Otherwise the last
    // rank waits for ranks that compute.
    bool is_symmetric() const { return kind == Kind::test || kind == Kind::skew; }
};

std::span<const Situation> situations();

// Refuses an unknown name with a sentence that lists the known ones.
Result<const Situation*> find_situation(const std::string& name);

}  // namespace weft::bench
