// The checker's verdict on the schedules of a call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

enum class Flaw : std::uint8_t { structure, region, matching, deadlock, hazard, result };

const char* flaw_name(Flaw flaw);

struct Finding {
    Flaw flaw;
    std::string sentence;
};

struct Verdict {
    std::vector<Finding> findings;  // the first few
    std::int64_t operations = 0;    // executed, counting all iterations
    std::int64_t messages = 0;

    bool holds() const { return findings.empty(); }
};

}  // namespace weft
