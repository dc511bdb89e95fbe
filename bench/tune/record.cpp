#include "bench/tune/record.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "bench/sizes.h"
#include "bench/table.h"

namespace weft::bench {
namespace {

// An algorithm within this factor of the fastest counts as equally good, so that noise does not
// decide.
constexpr double tolerance = 1.03;

// Of those as good as the fastest, the first measured, in catalogue order.
const Timing& best(const Timings& timings) {
    const double least = std::ranges::min_element(timings, {}, &Timing::us)->us;
    return *std::ranges::find_if(timings,
                                 [&](const Timing& t) { return t.us <= tolerance * least; });
}

const Timing* find(const Timings& timings, const std::string& algorithm) {
    const auto found = std::ranges::find(timings, algorithm, &Timing::algorithm);
    return found == timings.end() ? nullptr : &*found;
}

// By size; `timings` in the order of sizes.
std::vector<std::string> choose_by_size(const std::vector<const Timings*>& timings) {
    std::vector<std::string> chosen;
    for (const Timings* all : timings) {
        const Timing& first = best(*all);
        // The choice for the previous size is kept if it is as good: one line fewer.
        const Timing* kept = chosen.empty() ? nullptr : find(*all, chosen.back());
        chosen.push_back(kept && kept->us <= tolerance * first.us ? kept->algorithm
                                                                  : first.algorithm);
    }
    return chosen;
}

// The algorithm with the smallest geometric mean; one that is missing for some size is not chosen.
std::string choose_for_all(const std::vector<const Timings*>& timings) {
    Timings means;
    for (const Timing& candidate : *timings.front()) {
        double sum = 0;
        for (const Timings* all : timings) {
            const Timing* timing = find(*all, candidate.algorithm);
            sum += timing ? std::log(timing->us) : std::numeric_limits<double>::infinity();
        }
        const double mean = std::exp(sum / static_cast<double>(timings.size()));
        means.push_back({candidate.algorithm, mean});
    }
    return best(means).algorithm;
}

std::string comment(std::int64_t bytes, Timings timings) {
    std::ranges::sort(timings, {}, &Timing::us);
    std::string text = "# " + size_text(bytes) + ":";
    for (const Timing& timing : timings) {
        text += (timing.us == timings.front().us ? " " : ", ") + timing.algorithm + " " +
                fixed(timing.us, timing.us < 100 ? 2 : 0);
    }
    return text + " us\n";
}

Status not_writable(const std::string& path) {
    return failure(WEFT_REFUSED_ARGUMENT, "%s: %s; expected a file that can be written",
                   path.c_str(), std::strerror(errno));
}

std::string line_of(const std::string& collective, std::int64_t bytes, const Timings& timings) {
    std::ostringstream line;
    line << collective << " " << bytes;
    for (const Timing& timing : timings) line << " " << timing.algorithm << " " << timing.us;
    line << " .\n";
    return line.str();
}

}  // namespace

std::string Timing::others() const {
    std::string text;
    for (const std::string& name : alike) text += (text.empty() ? "" : ", ") + name;
    return text;
}

bool Timing::is_of(const std::string& name) const {
    return algorithm == name || std::ranges::find(alike, name) != alike.end();
}

Status replace_file(const std::string& path, const std::string& content) {
    const std::string made = path + ".new";
    std::ofstream file(made, std::ios::trunc);
    file << content << std::flush;
    if (!file) return not_writable(path);
    file.close();
    if (std::rename(made.c_str(), path.c_str()) != 0) return not_writable(path);
    return ok;
}

Result<Record> Record::open(const std::string& path, const std::string& circumstances) {
    Record record;
    record.path_ = path;
    std::ifstream file(path);
    std::string line;
    if (std::getline(file, line) && line == circumstances) {
        // Each line ends with a full stop: a partly written line is measured again.
        while (std::getline(file, line) && line.ends_with(" .")) {
            std::istringstream words(line);
            std::pair<std::string, std::int64_t> point;
            words >> point.first >> point.second;
            for (Timing timing; words >> timing.algorithm >> timing.us;)
                record.known_[point].push_back(timing);
        }
    }
    std::string kept = circumstances + "\n";
    for (const auto& [point, timings] : record.known_)
        kept += line_of(point.first, point.second, timings);
    WEFT_RETURN_IF_NOT_OK(replace_file(path, kept));
    return record;
}

Status Record::add(const std::string& collective, std::int64_t bytes, const Timings& timings) {
    Timings all;
    for (const Timing& timing : timings) {
        all.push_back({timing.algorithm, timing.us});
        for (const std::string& name : timing.alike) all.push_back({name, timing.us});
    }
    std::ofstream file(path_, std::ios::app);
    file << line_of(collective, bytes, all) << std::flush;
    if (!file) return not_writable(path_);
    known_[{collective, bytes}] = std::move(all);
    return ok;
}

std::string Place::conditions(const algorithm::CollectiveSpec& spec) const {
    return " ranks=" + std::to_string(ranks) + " nodes=" + std::to_string(nodes) +
           (reproducible && spec.reduces ? " reproducible" : "") +
           (engine.empty() ? "" : " engine=" + engine);
}

std::string Place::name_of(const algorithm::CollectiveSpec& spec) const {
    return spec.name + (engine.empty() ? "" : "/" + engine);
}

std::string table_lines(const Record& record, const algorithm::CollectiveSpec& spec,
                        const std::vector<std::int64_t>& sizes, bool has_bytes,
                        const Place& place) {
    std::string text;
    std::vector<const Timings*> timings;
    for (const std::int64_t bytes : sizes) {
        timings.push_back(&record.of(place.name_of(spec), bytes));
        text += comment(bytes, *timings.back());
    }
    const std::string begin = spec.name + place.conditions(spec);
    if (!has_bytes) return text + begin + " " + choose_for_all(timings) + "\n";
    const std::vector<std::string> chosen = choose_by_size(timings);
    std::int64_t from = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i + 1 < sizes.size() && chosen[i + 1] == chosen[i]) continue;
        text += begin + " bytes=" + std::to_string(from) + "-";
        if (i + 1 < sizes.size()) {
            // Halfway between the sizes, on a logarithmic scale.
            const auto middle = static_cast<std::int64_t>(
                std::sqrt(static_cast<double>(sizes[i]) * static_cast<double>(sizes[i + 1])));
            text += std::to_string(middle);
            from = middle + 1;
        }
        text += " " + chosen[i] + "\n";
    }
    return text;
}

}  // namespace weft::bench
