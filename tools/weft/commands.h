// The subcommands of the program weft. Each adds itself with its options; its callback ends with
// `throw CLI::RuntimeError(status)` for an exit status other than 0.
#pragma once

#include <CLI/CLI.hpp>

namespace weft {

void add_run(CLI::App& app);
// Call it before options are parsed, for two forms of `weft run` that CLI11 would take for others. In `weft run -n 2 --
// PROGRAM`, what follows "--" would be arguments of the program weft; `-np 2`, as launchers for MPI spell it, would be
// -n with the value "p".
void mark_end_of_options(const CLI::App& app, int argc, char** argv);
void add_schedule(CLI::App& app);
void add_simulate(CLI::App& app);
void add_bench(CLI::App& app);
void add_tune(CLI::App& app);
void add_info(CLI::App& app);
void add_preload(CLI::App& app);
void add_enter_node(CLI::App& app);

}  // namespace weft
