// `weft simulate`: how long a program of all ranks takes in a model of the network.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "simulate/goal.h"
#include "simulate/lgs.h"
#include "simulate/report.h"
#include "weft/commands.h"

namespace weft::simulate {
namespace {

struct Options {
    std::string goal;    // a file; "-": the standard input
    std::string compat;  // whose rules; empty: our own
    LgsParameters parameters;
    std::string format = "text";
};

[[noreturn]] void refuse(const std::string& sentence) {
    std::fprintf(stderr, "weft simulate: %s\n", sentence.c_str());
    throw CLI::RuntimeError(2);
}

std::string text_of(const std::string& path) {
    std::string text;
    bool is_read = false;
    if (path == "-") {
        char piece[65536];
        for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, stdin)) > 0;)
            text.append(piece, n);
        is_read = std::ferror(stdin) == 0;
    } else {
        std::ifstream file(path, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), {});
        is_read = file.good() || file.eof();
    }
    if (!is_read) refuse("cannot read " + path);
    return text;
}

void print(const Report& report, const std::string& format) {
    std::string text;
    if (format == "text") text = to_text(report);
    if (format == "csv") text = to_csv(report);
    if (format == "json") text = to_json(report);
    std::fputs(text.c_str(), stdout);
}

void simulate_goal(const Options& options) {
    if (options.compat.empty()) refuse("--goal without --compat; expected --compat lgs");
    Result<GoalProgram> program = read_goal(text_of(options.goal));
    if (!program.is_ok()) refuse(options.goal + ", " + last_detail());
    Result<LgsOutcome> outcome = simulate_lgs(*program, options.parameters);
    if (!outcome.is_ok()) refuse(options.goal + ": " + last_detail());
    const LgsParameters& p = options.parameters;
    Report report;
    report.parameters = {{"L", p.L}, {"o", p.o}, {"g", p.g}, {"G", p.G}, {"O", p.O}, {"S", p.S}};
    report.events = outcome->events;
    report.end = std::move(outcome->end);
    print(report, options.format);
}

}  // namespace
}  // namespace weft::simulate

namespace weft {

void add_simulate(CLI::App& app) {
    auto options = std::make_shared<simulate::Options>();
    simulate::LgsParameters& p = options->parameters;
    CLI::App* command =
        app.add_subcommand("simulate", "How long a program of all ranks takes in a model");
    command->add_option("--goal", options->goal, "A program in GOAL: a file, or - to read it")
        ->required();
    command->add_option("--compat", options->compat, "By the rules of: lgs (LogGOPSim)")
        ->check(CLI::IsMember({"lgs"}));
    command->add_option("-L,--latency", p.L, "Latency, in ns")->capture_default_str();
    command->add_option("-o,--overhead", p.o, "CPU time of a message at each end, in ns")
        ->capture_default_str();
    command->add_option("-g,--gap", p.g, "Network interface's time of a message, in ns")
        ->capture_default_str();
    command->add_option("-G,--byte-gap", p.G, "Network interface's time of a byte, in ns")
        ->capture_default_str();
    command->add_option("-O,--byte-overhead", p.O, "CPU time of a byte, in ns")
        ->capture_default_str();
    command->add_option("-S,--eager-max", p.S, "Larger messages wait for their receive, in bytes")
        ->capture_default_str();
    command->add_option("--format", options->format, "text, csv or json")
        ->check(CLI::IsMember({"text", "csv", "json"}))
        ->capture_default_str();
    command->callback([options] { simulate::simulate_goal(*options); });
}

}  // namespace weft
