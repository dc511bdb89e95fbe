// The subcommands of the program weft. Each adds itself with its options; its callback ends with
// `throw CLI::RuntimeError(status)` for an exit status other than 0.
#pragma once

#include <CLI/CLI.hpp>

namespace weft {

void add_run(CLI::App& app);
// Call it before options are parsed, for `weft run -n 2 -- PROGRAM`: CLI11 would take what follows
// "--" for arguments of the program weft.
void mark_end_of_options(int argc, char** argv);
void add_schedule(CLI::App& app);
void add_simulate(CLI::App& app);
void add_bench(CLI::App& app);
void add_tune(CLI::App& app);
void add_info(CLI::App& app);
void add_preload(CLI::App& app);
void add_enter_node(CLI::App& app);

}  // namespace weft
