// The program weft: the list of its subcommands.
#include "weft/commands.h"

int main(int argc, char** argv) {
    CLI::App app{"Weft: collective operations that run in the background"};
    app.set_version_flag("--version", "weft " WEFT_VERSION);
    app.require_subcommand(1);
    weft::add_run(app);
    weft::add_bench(app);
    weft::add_schedule(app);
    weft::add_info(app);
    weft::add_enter_node(app);
    CLI11_PARSE(app, argc, argv);
    return 0;
}
