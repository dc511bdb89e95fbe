// The table and the JSON rows of an overlap measurement.
#include "bench/overlap/report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "bench/json.h"
#include "bench/sizes.h"
#include "bench/table.h"

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

std::vector<double> samples(const Cell& cell, double Times::*value) {
    std::vector<double> values;
    for (const Times& times : cell.repetitions) values.push_back(times.*value);
    return values;
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

}  // namespace

void print_table(std::FILE* file, std::span<const Cell> cells) {
    std::vector<std::string> heading = {"size", "engine"};
    for (const Column& column : columns) heading.emplace_back(column.name);
    heading.insert(heading.end(), {"overlap %", "gain", "CPU %"});
    Table table(heading);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        if (i > 0 && cells[i - 1].bytes != cell.bytes) table.add({});
        std::vector<std::string> row = {cell.collective->has_size ? size_text(cell.bytes) : "-",
                                        cell.engine.name};
        for (const Column& column : columns) row.push_back(fixed(cell.median_of(column.value), 2));
        row.push_back(fixed(std::clamp(cell.overlap_percent(), 0.0, 100.0), 0));
        row.push_back(fixed(cell.gain(), 2));
        row.push_back(fixed(cell.cpu_percent(), 0));
        table.add(row);
    }
    std::fprintf(file, "\n%s\n", cells.empty() ? "" : cells[0].collective->name);
    table.print(file);
    std::fflush(file);
}

std::string json_row(const Cell& cell, const OverlapOptions& options) {
    utsname system{};
    uname(&system);
    const char* const transport = std::getenv("WEFT_TRANSPORT");
    JsonLine medians;
    JsonLine raw;
    for (const Column& column : columns) {
        medians.add(field_name(column.name), cell.median_of(column.value));
        raw.add(field_name(column.name), samples(cell, column.value));
    }
    raw.add("cpu_us", samples(cell, &Times::cpu)).add("wall_us", samples(cell, &Times::wall));
    JsonLine line;
    line.add("bench", "overlap")
        .add("collective", cell.collective->name)
        .add("bytes", cell.bytes)
        .add("engine", cell.engine.name)
        .add("ranks", std::int64_t{options.ranks})
        .add("bind", options.bind)
        .add("transport", transport != nullptr ? transport : "shm")
        .add("tests", std::int64_t{options.tests})
        .add("repetitions", static_cast<std::int64_t>(cell.repetitions.size()))
        .add("sizes", options.sizes)
        .add("work_iterations", cell.work_iterations)
        .add("version", WEFT_VERSION)
        .add("kernel", system.release)
        .add("machine", system.machine)
        .add("cpus", static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN)))
        .add("settings", settings())
        .add("medians", medians)
        .add("overlap_percent", cell.overlap_percent())
        .add("gain", cell.gain())
        .add("cpu_percent", cell.cpu_percent())
        .add("samples", raw);
    return line.text();
}

}  // namespace weft::bench
