// The options of `weft run`.
#include "weft/run.h"

#include <memory>

#include "startup/wire.h"
#include "weft/commands.h"

namespace weft {

void add_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    auto bind = std::make_shared<std::string>("none");
    CLI::App* run = app.add_subcommand(
        "run", "Start the ranks of a job on this machine: weft run -n 4 PROGRAM [ARGUMENTS...]");
    run->prefix_command();
    run->add_option("-n,--ranks", options->ranks, "How many ranks")
        ->check(CLI::Range(1, static_cast<int>(wire_ranks_max)))
        ->capture_default_str();
    run->add_option("--bind", *bind, "core: rank r stays on the r-th core; none")
        ->check(CLI::IsMember({"core", "none"}))
        ->capture_default_str();
    run->add_flag("--prefix,--label", options->prefix,
                  "Put \"[rank] \" before each line of output");
    run->add_option("--grace", options->grace_s,
                    "Seconds that the other ranks get to end by themselves when one has failed")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    run->add_option("--timeout", options->timeout_s, "End the job after this many seconds")
        ->check(CLI::PositiveNumber);
    run->callback([run, options, bind] {
        options->command = run->remaining();
        options->bind_core = *bind == "core";
        if (options->command.empty()) throw CLI::RequiredError("PROGRAM");
        if (options->command[0].starts_with('-')) {
            throw CLI::ExtrasError(std::vector<std::string>{options->command[0]});
        }
        if (int status = run_job(*options); status != 0) throw CLI::RuntimeError(status);
    });
}

}  // namespace weft
