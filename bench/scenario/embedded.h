// The files of bench/scenarios, compiled in (cmake/scenarios.cmake).
#pragma once

#include <span>

namespace weft::bench {

struct EmbeddedScenario {
    const char* name;  // the file's, without .json
    bool is_of_paper;  // of bench/scenarios/paper: each scenario has a name of its own, too
    const char* text;
};

std::span<const EmbeddedScenario> embedded_scenarios();

}  // namespace weft::bench
