#include "bench/print/experiment.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "bench/run/samples.h"
#include "bench/sizes.h"

namespace weft::bench {
namespace {

double share(double work, double blocking, double total) {
    return 100 * (work + blocking - total) / std::min(work, blocking);
}

// The axes by which contests differ, each as a short text.
std::vector<std::pair<std::string, std::string>> axes_of(const Json& head) {
    const auto inside = [&](const char* outer, const char* inner) {
        const Json value = head.value(outer, Json::object());
        const Json found = value.is_object() ? value.value(inner, Json("")) : Json("");
        return found.is_string() ? found.get<std::string>() : found.dump();
    };
    const std::int64_t bytes = head.at("bytes");
    return {{"collective", head.at("collective")},
            {"bytes", bytes > 1 ? size_text(bytes) : ""},
            {"algorithm", head.value("algorithm", "")},
            {"ranks", std::to_string(head.at("ranks").get<int>()) + " ranks"},
            {"nodes", std::to_string(head.value("nodes", 0)) + " nodes"},
            {"rate", inside("link", "rate")},
            {"delay", inside("link", "delay_us") + " us"},
            {"transport", head.value("transport", "")},
            {"call", head.value("call", "")},
            {"progress", head.value("progress", "")},
            {"for", inside("compute", "for")},
            {"what", inside("compute", "what")},
            {"who", inside("compute", "who")},
            {"by", inside("late", "by")}};
}

// Columns that are computed from those of samples, of the slowest rank of each.
template <class Value>
std::vector<double> combined(const std::vector<double>& a, const std::vector<double>& b,
                             Value value) {
    std::vector<double> found;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        found.push_back(value(a[i], b[i]));
    return found;
}

struct Computed {
    const char* name;
    std::vector<double> (*of)(const Measured&);
};
constexpr Computed computed[] = {
    {"idle",
     [](const Measured& one) {
         return combined(one.times("total"), one.times("cpu"), std::minus<>());
     }},
    {"test",
     [](const Measured& one) {
         return combined(one.times("tests"), one.times("test_calls"),
                         [](double us, double calls) { return us / std::max(calls, 1.0); });
     }},
    {"cpu_share",
     [](const Measured& one) {
         return combined(one.times("cpu"), one.times("total"),
                         [](double cpu, double total) { return 100 * cpu / total; });
     }},
    {"cpu_outside",
     [](const Measured& one) {
         const std::vector<double> outside =
             combined(one.times("cpu"), one.times("work"), std::minus<>());
         return combined(outside, one.times("total"),
                         [](double us, double total) { return 100 * us / total; });
     }},
};

}  // namespace

std::vector<double> Measured::times(const std::string& column) const {
    for (const Computed& one : computed)
        if (column == one.name) return one.of(*this);
    // What the program loses in the library's calls is the sum of three, of each rank.
    const std::vector<std::string> parts = column == "overhead"
                                               ? std::vector<std::string>{"start", "tests", "wait"}
                                               : std::vector<std::string>{column};
    const Json& columns = head.at("columns");
    std::vector<std::size_t> places;
    for (const std::string& part : parts) {
        const auto found = std::find(columns.begin(), columns.end(), part);
        if (found == columns.end()) return {};
        places.push_back(static_cast<std::size_t>(found - columns.begin()));
    }
    std::vector<double> times;
    for (const Json& sample : samples) {
        double slowest = -1;
        for (const Json& rank : sample.at("ranks")) {
            double sum = 0;
            bool is_measured = false;
            for (const std::size_t at : places) {
                if (!rank.at(at).is_number()) continue;
                is_measured = true;
                sum += rank.at(at).get<double>();
            }
            if (is_measured) slowest = std::max(slowest, sum);
        }
        if (slowest >= 0) times.push_back(slowest);
    }
    return times;
}

const Measured* MeasuredContest::of(const std::string& member) const {
    const auto found = std::ranges::find(members, member, &Measured::name);
    return found == members.end() ? nullptr : &*found;
}

const Measured& MeasuredContest::baseline() const {
    if (const Measured* named = of(scenario->value("baseline", ""))) return *named;
    const auto first = std::ranges::find(members, false, &Measured::is_again);
    return first == members.end() ? members.front() : *first;
}

const Measured& MeasuredContest::twin(const Measured& again) const {
    for (const Measured& one : members) {
        const auto same = [&](const char* key) {
            return one.head.value(key, Json()) == again.head.value(key, Json());
        };
        if (!one.is_again() && same("engine") && same("implementation") && same("algorithm") &&
            same("call") && same("progress"))
            return one;
    }
    return baseline();
}

std::string MeasuredContest::column() const {
    if (scenario->contains("column")) return scenario->at("column");
    const std::string says = scenario->value("says", "time");
    return says == "cpu" || says == "start" ? says : "total";
}

Estimate MeasuredContest::hidden(const Measured& member) const {
    const bool is_own = scenario->value("blocking", "") != "baseline";
    const std::vector<double> work = member.times("work");
    const std::vector<double> total = member.times("total");
    const std::vector<double> blocking = (is_own ? member : baseline()).times("blocking");
    std::vector<double> shares;
    for (std::size_t i = 0; i < std::min(total.size(), blocking.size()); ++i)
        if (std::min(work[i], blocking[i]) > 0)
            shares.push_back(share(work[i], blocking[i], total[i]));
    return {share(median(work), median(blocking), median(total)), median_interval(shares)};
}

Estimate MeasuredContest::ratio(const Measured& member) const {
    const std::vector<double> mine = member.times(column());
    const std::vector<double> others =
        (member.is_again() ? twin(member) : baseline()).times(column());
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(mine.size(), others.size()); ++i)
        if (mine[i] > 0 && others[i] > 0) ratios.push_back(mine[i] / others[i]);
    if (ratios.empty()) return {std::nan("")};
    return {median(ratios), median_interval(ratios)};
}

std::optional<Estimate> MeasuredContest::aa() const {
    const auto again = std::ranges::find(members, true, &Measured::is_again);
    if (again == members.end() || members.size() == 1) return std::nullopt;
    return ratio(*again);
}

std::string MeasuredContest::disturbance() const {
    constexpr double wide = 0.1;
    if (const std::optional<Estimate> same = aa(); same && std::isfinite(same->interval.low)) {
        if (same->interval.low > 1 || same->interval.high < 1 ||
            same->interval.high - same->interval.low > wide * same->value)
            return "disturbed";
    }
    if (scenario->value("says", "") != "hidden") return "";
    for (const Measured& member : members) {
        const double percent = hidden(member).value;
        if (!member.is_again() && (percent < -100 || percent > 110)) return "disturbed";
    }
    return "";
}

std::vector<std::string> Experiment::members() const {
    std::vector<std::string> names;
    for (const MeasuredContest& contest : contests) {
        for (const Measured& member : contest.members) {
            if (!member.is_again() && std::ranges::find(names, member.name()) == names.end())
                names.push_back(member.name());
        }
    }
    return names;
}

std::string Experiment::label(const MeasuredContest& contest) const {
    const auto mine = axes_of(contest.baseline().head);
    std::string text;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        const bool differs = std::ranges::any_of(contests, [&](const MeasuredContest& other) {
            return axes_of(other.baseline().head)[i] != mine[i];
        });
        const bool is_shown = i < 2 || differs;
        if (is_shown && !mine[i].second.empty()) text += (text.empty() ? "" : " ") + mine[i].second;
    }
    return text;
}

std::string Experiment::place() const {
    const Json& head = contests[0].baseline().head;
    std::string text = std::to_string(head.at("ranks").get<int>()) + " ranks";
    const int nodes = head.value("nodes", 0);
    if (nodes == 0) return text + " of this machine";
    const Json& link = head.at("link");
    text += " on " + std::to_string(nodes) + " emulated nodes, links of " + link.value("rate", "");
    if (link.value("delay_us", 0.0) > 0)
        text += " with a delay of " + std::to_string(link.value("delay_us", 0)) + " us";
    return text;
}

SamplesFile read_samples(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    SamplesFile found;
    std::map<int, std::pair<std::size_t, std::size_t>> place;  // of a cell: contest's, member's
    std::vector<std::pair<std::string, MeasuredContest>> contests;
    std::map<std::pair<std::string, int>, std::size_t> contest_at;
    int number = 0;
    for (std::string text; std::getline(file, text);) {
        ++number;
        try {
            Json line = Json::parse(text);
            const std::string kind = line.at("kind");
            if (kind == "run") {
                if (line.at("schema") != schema)
                    throw std::runtime_error("schema = " + line.at("schema").dump() +
                                             "; this program reads " + std::to_string(schema));
                found.run = line;
            } else if (kind == "cell") {
                const std::string scenario = line.at("scenario");
                const auto [at, is_new] = contest_at.try_emplace(
                    {scenario, line.at("contest").get<int>()}, contests.size());
                if (is_new) contests.push_back({scenario, {}});
                std::vector<Measured>& members = contests[at->second].second.members;
                place[line.at("id")] = {at->second, members.size()};
                members.push_back({line, {}});
            } else if (kind == "sample") {
                const auto [contest, member] = place.at(line.at("cell"));
                contests[contest].second.members[member].samples.push_back(line);
            } else if (kind == "missing") {
                found.missing.push_back(line);
            } else if (kind == "switch") {
                found.switches.push_back(line);
            } else if (kind == "end") {
                found.is_complete = line.at("complete");
            }
        } catch (const std::exception& error) {
            throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
        }
    }
    for (auto& [name, contest] : contests) {
        std::erase_if(contest.members, [](const Measured& one) { return one.samples.empty(); });
        if (contest.members.empty()) continue;
        // Each MPI has a table of its own.
        const Measured& first = contest.members.front();
        const auto has = [&, &name = name](const Experiment& one) {
            const bool is_of_mpi = first.head.value("implementation", "").starts_with("mpi");
            return one.name == name &&
                   (!is_of_mpi || one.contests.front().members.front().name() == first.name());
        };
        auto at = std::ranges::find_if(found.experiments, has);
        if (at == found.experiments.end()) {
            const Json scenario = found.run.value("scenarios", Json::object()).value(name, Json());
            at = found.experiments.insert(at, {name, scenario, {}});
        }
        at->contests.push_back(std::move(contest));
    }
    for (Experiment& one : found.experiments)
        for (MeasuredContest& contest : one.contests) contest.scenario = &one.scenario;
    return found;
}

}  // namespace weft::bench
