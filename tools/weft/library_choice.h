// The algorithm of a call for which the user has named none: the one that the library would use.
#pragma once

#include <CLI/CLI.hpp>

#include "algorithm/catalogue.h"

namespace weft {

// By the settings of the environment and the tables (src/select). Prints the choice to the standard error. Writes its
// parameters to `tuning`, except those that the command's options have set. Null: a setting is refused (last_detail()).
const algorithm::Algorithm* library_choice(const CLI::App& command,
                                           const algorithm::GlobalArgs& agreed,
                                           algorithm::Tuning& tuning);

}  // namespace weft
