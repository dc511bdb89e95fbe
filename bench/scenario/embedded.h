// The files of bench/scenarios, compiled in (cmake/scenarios.cmake).
#pragma once

#include <span>

namespace weft::bench {

struct EmbeddedScenario {
    const char* name;  // the file's, without .json
    const char* text;
};

std::span<const EmbeddedScenario> embedded_scenarios();

}  // namespace weft::bench
