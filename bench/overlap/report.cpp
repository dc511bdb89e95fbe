// The table and the JSON rows of an overlap measurement.
#include "bench/overlap/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "bench/sizes.h"
#include "bench/table.h"
#include "weft/build.h"
#include "weft/machine.h"

namespace weft::bench {
namespace {

// The settings of the library in force. What the launcher sets for each rank is none.
JsonLine settings() {
    constexpr std::string_view launcher[] = {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD"};
    JsonLine line;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        const std::string_view name = text.substr(0, equals);
        if (!name.starts_with("WEFT_") || equals == text.npos) continue;
        if (std::find(std::begin(launcher), std::end(launcher), name) != std::end(launcher)) {
            continue;
        }
        line.add(name, text.substr(equals + 1));
    }
    return line;
}

struct Column {
    const char* name;
    double Times::*value;
};

constexpr Column columns[] = {
    {"blocking us", &Times::blocking}, {"work us", &Times::work}, {"start us", &Times::start},
    {"tests us", &Times::tests},       {"wait us", &Times::wait}, {"total us", &Times::total},
};

// "blocking us" as a JSON name.
std::string field_name(std::string_view column) {
    std::string name(column);
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
}

// What one rank saw.
JsonLine samples(std::span<const Times> repetitions) {
    const auto values = [&](double Times::*value) {
        std::vector<double> all;
        for (const Times& times : repetitions) all.push_back(times.*value);
        return all;
    };
    JsonLine line;
    for (const Column& column : columns) line.add(field_name(column.name), values(column.value));
    return line.add("cpu_us", values(&Times::cpu));
}

// A word that a shell reads as it is.
std::string shell_word(const std::string& word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=:,./@%+";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    return text + "'";
}

std::string command(const OverlapOptions& options) {
    std::string text = "weft";
    for (const std::string& word : arguments(options)) text += " " + shell_word(word);
    return text;
}

}  // namespace

void print_table(std::FILE* file, std::span<const Cell> cells) {
    std::vector<std::string> heading = {"size", "engine"};
    for (const Column& column : columns) heading.emplace_back(column.name);
    heading.insert(heading.end(), {"overlap %", "gain", "CPU ms"});
    Table table(heading);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        if (i > 0 && cells[i - 1].bytes != cell.bytes) table.add({});
        std::vector<std::string> row = {cell.collective->has_size ? size_text(cell.bytes) : "-",
                                        cell.engine.name};
        for (const Column& column : columns) row.push_back(fixed(cell.median_of(column.value), 2));
        row.push_back(fixed(cell.overlap_percent(), 0));
        row.push_back(fixed(cell.gain(), 2));
        row.push_back(fixed(cell.cpu_ms(), 4));
        table.add(row);
    }
    std::fprintf(file, "\n%s\n", cells.empty() ? "" : cells[0].collective->name);
    table.print(file);
    std::fflush(file);
}

JsonLine circumstances(const Job& job, const OverlapOptions& options) {
    std::vector<std::string> affinity;
    for (const cpu_set_t& cores : gather(job, std::vector<cpu_set_t>{own_cores()})) {
        affinity.push_back(core_list(cores));
    }
    const char* const transport = std::getenv("WEFT_TRANSPORT");
    const bool is_chosen = transport != nullptr && *transport != '\0';
    const Build build = this_build();
    JsonLine line;
    return line.add("command", command(options))
        .add("version", build.version)
        .add("commit", build.commit)
        .add("compiler", build.compiler)
        .add("build_type", build.build_type)
        .add("flags", build.flags)
        .add("processor", cpu_model())
        .add("kernel", kernel())
        .add("cpus", static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN)))
        .add("ranks", std::int64_t{job.ranks})
        .add("bind", options.bind)
        .add("affinity", affinity)
        .add("transport", job.ranks == 1 ? "none"
                          : is_chosen    ? transport
                                         : transports()[0])
        .add("settings", settings());
}

std::string json_row(const Cell& cell, const OverlapOptions& options,
                     const JsonLine& circumstances) {
    const std::size_t repetitions = cell.repetitions.size();
    JsonLine medians;
    for (const Column& column : columns) {
        medians.add(field_name(column.name), cell.median_of(column.value));
    }
    std::vector<JsonLine> ranks;
    for (std::size_t i = 0; i < cell.by_rank.size(); i += repetitions) {
        ranks.push_back(samples(std::span(cell.by_rank).subspan(i, repetitions)));
    }
    JsonLine line;
    line.add("bench", "overlap")
        .add("collective", cell.collective->name)
        .add("bytes", cell.bytes)
        .add("engine", cell.engine.name)
        .add("tests", std::int64_t{options.tests})
        .add("repetitions", static_cast<std::int64_t>(repetitions))
        .add("work_iterations", cell.work_iterations)
        .add("medians", medians)
        .add("overlap_percent", cell.overlap_percent())
        .add("gain", cell.gain())
        .add("cpu_ms", cell.cpu_ms())
        .add("circumstances", circumstances)
        .add("samples", ranks);
    return line.text();
}

}  // namespace weft::bench
