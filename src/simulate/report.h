// What a simulation found, for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::simulate {

struct Report {
    std::vector<std::pair<std::string, std::uint64_t>> parameters;
    std::uint64_t events = 0;
    std::vector<std::uint64_t> end;  // by rank, in ns
};

// A summary; every rank's time if there are few.
std::string to_text(const Report& report);
// A line for each rank.
std::string to_csv(const Report& report);
std::string to_json(const Report& report);

}  // namespace weft::simulate
