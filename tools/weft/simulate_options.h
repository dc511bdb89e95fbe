// The options for LogGP's parameters, -L to -S.
#pragma once

#include <CLI/CLI.hpp>

#include "sim/loggp.h"

namespace weft::simulate {

void add_parameter_options(CLI::App& command, LogGpParameters& parameters);

}  // namespace weft::simulate
