// Reads scenarios and makes every combination of their axes.
#include "bench/scenario/scenario.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>

#include "bench/collective/collective.h"
#include "bench/scenario/embedded.h"
#include "bench/sizes.h"

namespace weft::bench {
namespace {

// What may be a list, from the outermost to the innermost.
constexpr std::array axes = {"ranks",    "nodes",   "link",     "cores",      "transport",
                             "settings", "barrier", "timer",    "algorithm",  "call",
                             "compute",  "late",    "progress", "collective", "bytes"};
// What a member has besides.
constexpr std::array of_members = {"name",  "what",  "implementation", "engine",
                                   "again", "hides", "segment"};
constexpr std::array of_scenarios = {"name",     "question", "says",      "column", "baseline",
                                     "blocking", "members",  "statistic", "until",  "repetitions",
                                     "budget",   "engine",   "segment",   "views"};

template <std::size_t n>
bool is_in(const std::array<const char*, n>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

template <std::size_t n>
std::string listed(const std::array<const char*, n>& list) {
    std::string text;
    for (const char* one : list) text += (text.empty() ? "" : ", ") + std::string(one);
    return text;
}

// "ibcast,iallgather" as a list; a text that begins as JSON is JSON. The cores "0,1" of a job are
// one value, and so are the algorithms of several collectives.
Json values_of(const std::string& axis, const std::string& text) {
    if (text.starts_with('[') || text.starts_with('{')) {
        Json parsed = Json::parse(text, nullptr, false);
        if (parsed.is_discarded()) throw Refused("\"" + text + "\" is not JSON");
        return parsed;
    }
    if (axis == "cores" || axis == "algorithm") return Json::array({text});
    Json values = Json::array();
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        values.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return values;
}

// One value, or a list without duplicates of meaning: of bytes also ranges, of collectives "all".
Json all_values(const std::string& axis, const Json& value, const Json& scenario) {
    Json values = Json::array();
    const Json given = value.is_array() ? value : Json::array({value});
    if (given.empty()) throw Refused(axis + " = []; expected at least one value");
    for (const Json& one : given) {
        if (axis == "bytes") {
            const std::string text = one.is_string() ? one.get<std::string>() : one.dump();
            const Result<std::vector<std::int64_t>> sizes = parse_sizes(text);
            if (!sizes.is_ok())
                throw Refused("bytes = " + one.dump() +
                              "; expected a size, a range as 8:4M or a list as [8,\"16K\"]");
            for (const std::int64_t size : *sizes) values.push_back(size_text(size));
        } else if (axis == "collective" && one == "all") {
            for (const Collective* known : collectives()) {
                if (known->ranks == 0 || scenario.value("ranks", Json(2)) == known->ranks)
                    values.push_back(known->name);
            }
        } else {
            values.push_back(one);
        }
    }
    return values;
}

void check_collective(const Json& axes_of_cell) {
    const Cell cell = cell_from(axes_of_cell);
    for (const std::string& name : cell.collectives) {
        if (!find_collective(name).is_ok()) throw Refused(last_detail());
    }
}

bool has_size(const Cell& cell) {
    return std::ranges::any_of(cell.collectives, [](const std::string& name) {
        return (*find_collective(name))->has_size;
    });
}

// What a job is: cells that differ in these cannot be measured in one.
Json place_of(const Cell& cell, const std::string& launcher, const std::string& preload) {
    const Json link = cell.nodes > 0 ? cell.axes.value("link", Json::object()) : Json::object();
    return {cell.ranks,     cell.nodes,    link,     cell.cores,
            cell.transport, cell.settings, launcher, preload};
}

// Why no MPI can be measured at this place; "": it can.
std::string absence_of_mpis(const Cell& place, bool is_none_named) {
    if (is_none_named) return "--against MPI names the MPIs; it is not given";
    if (place.nodes == 0 || place.ranks % place.nodes == 0) return "";
    return std::to_string(place.ranks) + " ranks on " + std::to_string(place.nodes) +
           " nodes; expected as many ranks on each node, with an MPI";
}

class Expansion {
  public:
    explicit Expansion(const Wanted& choice) : choice_(choice) {}

    void add(Json scenario) {
        name_ = scenario.value("name", std::string());
        if (name_.empty()) throw Refused("a scenario without a name");
        try {
            check(scenario);
            for (const std::string& word : choice_.set) set(scenario, word);
            plan_.scenarios[name_] = scenario;
            combine(scenario);
        } catch (const Refused& refused) {
            throw Refused("scenario " + name_ + ": " + refused.what());
        } catch (const Json::exception& error) {
            throw Refused("scenario " + name_ + ": " + error.what());
        }
    }

    Plan take() { return std::move(plan_); }

  private:
    static void check(const Json& scenario) {
        for (const auto& [key, value] : scenario.items()) {
            if (!is_in(axes, key) && !is_in(of_scenarios, key))
                throw Refused("unknown axis \"" + key + "\"; expected " + listed(axes) + ", " +
                              listed(of_scenarios));
        }
        for (const Json& member : scenario.value("members", Json::array())) {
            for (const auto& [key, value] : member.items()) {
                if (!is_in(axes, key) && !is_in(of_members, key))
                    throw Refused("a member has the unknown axis \"" + key + "\"; expected " +
                                  listed(of_members) + ", " + listed(axes));
            }
        }
    }

    // Replaces an axis, also of members that have it. "compute.for=10ms" is inside of one.
    static void set(Json& scenario, const std::string& word) {
        const std::size_t equals = word.find('=');
        if (equals == word.npos || equals == 0)
            throw Refused("--set " + word + "; expected AXIS=VALUES");
        const std::string axis = word.substr(0, equals);
        Json values = values_of(axis, word.substr(equals + 1));
        const std::string outer = axis.substr(0, axis.find('.'));
        if (!is_in(axes, outer) && !is_in(of_scenarios, outer))
            throw Refused("--set " + word + ": unknown axis; expected " + listed(axes) +
                          ", engine, repetitions, until, budget, members");
        if (axis == "engine") {
            Json members = Json::array();
            for (const Json& engine : values) members.push_back({{"engine", engine}});
            members.push_back({{"name", values[0].get<std::string>() + " again"},
                               {"engine", values[0]},
                               {"again", true}});
            scenario["members"] = members;
            return;
        }
        const bool is_list = is_in(axes, axis) || axis == "members";
        const Json value = is_list || values.size() > 1 ? values : values[0];
        if (outer == axis) {
            scenario[axis] = value;
        } else if (scenario.value(outer, Json::object()).is_array()) {
            for (Json& one : scenario[outer]) one[axis.substr(outer.size() + 1)] = value;
        } else {
            scenario[outer][axis.substr(outer.size() + 1)] = value;
        }
        if (!scenario.contains("members") || axis == "members") return;
        for (Json& member : scenario["members"]) member.erase(axis);
    }

    void combine(const Json& scenario) {
        std::vector<Json> combinations = {Json::object()};
        for (const char* axis : {"engine", "segment"})
            if (scenario.contains(axis)) combinations[0][axis] = scenario[axis];
        for (const char* axis : axes) {
            if (!scenario.contains(axis)) continue;
            std::vector<Json> longer;
            for (const Json& one : combinations) {
                for (const Json& value : all_values(axis, scenario[axis], scenario)) {
                    longer.push_back(one);
                    longer.back()[axis] = value;
                }
            }
            combinations = std::move(longer);
        }
        const int first = contests_;
        std::vector<Json> seen;
        for (Json& one : combinations) {
            check_collective(one);
            if (!has_size(cell_from(one))) one["bytes"] = "0";
            if (std::ranges::find(seen, one) != seen.end()) continue;
            seen.push_back(one);
            add_contest(scenario, one);
        }
        // The budget is the whole scenario's.
        double parts = 0;
        const auto each = [&](auto action) {
            for (JobPlan& job : plan_.jobs)
                for (Contest& contest : job.contests)
                    if (contest.cells[0].contest >= first) action(contest);
        };
        each([&](Contest&) { ++parts; });
        each([&](Contest& contest) { contest.budget_s /= parts; });
    }

    void add_contest(const Json& scenario, const Json& combination) {
        const int number = contests_++;
        Json members = scenario.value("members", Json::array({Json::object()}));
        std::vector<Cell> of_weft;
        std::vector<Cell> of_mpis;
        for (Json member : members) {
            Json one = combination;
            one.update(member);
            one["scenario"] = name_;
            one["contest"] = number;
            Cell cell = cell_from(one);
            check_collective(one);
            if (cell.bytes == 0 && has_size(cell))
                throw Refused("bytes = 0; expected a size such as 64K");
            if (cell.implementation == "build") {
                if (choice_.build.empty()) {
                    miss(cell.member, "--build PATH names the other build; it is not given");
                    continue;
                }
                one["implementation"] = "build:" + choice_.build;
                one["name"] = cell.member;
                cell = cell_from(one);
            }
            if (cell.implementation == "libnbc" && std::getenv("WEFT_BENCH_LIBNBC") == nullptr) {
                miss(cell.member,
                     "WEFT_BENCH_LIBNBC is not set; it names a folder in which LibNBC is installed "
                     "for each MPI, as mpich/include/nbc.h and mpich/lib/libnbc.so");
                continue;
            }
            (cell.is_of_mpi() ? of_mpis : of_weft).push_back(cell);
        }
        const std::string absence =
            of_mpis.empty() ? "" : absence_of_mpis(of_mpis[0], choice_.mpis.empty());
        if (of_mpis.empty() || !absence.empty()) {
            for (const Cell& cell : of_mpis) miss(cell.member, absence);
            if (of_mpis.empty()) {
                for (const std::string& mpi : choice_.mpis)
                    miss(mpi, "the scenario compares nothing with an MPI; mpi does");
            }
            for (const Cell& cell : of_weft) place(scenario, cell, "", "");
            return;
        }
        // Beside a library that is preloaded there is only the MPI that it is preloaded into.
        std::string preload;
        for (const Cell& cell : of_mpis)
            if (cell.is_preloaded()) preload = cell.implementation;
        for (const std::string& mpi : choice_.mpis) {
            // Cells of two jobs have not alternated: a contest of its own for each MPI.
            const int contest = &mpi == &choice_.mpis.front() ? number : contests_++;
            for (std::vector<Cell>* cells : {&of_weft, &of_mpis}) {
                for (Cell& cell : *cells) {
                    cell.contest = contest;
                    cell.axes["contest"] = contest;
                }
            }
            // The MPI is first: the others' work is as long as its operation.
            for (Cell cell : of_mpis) {
                const std::string& kind = cell.implementation;
                const bool is_named = !cell.member.starts_with(kind);
                if (is_named || kind != "mpi")
                    cell.member = mpi + " " + cell.member;
                else
                    cell.member.replace(0, kind.size(), mpi);
                cell.axes["name"] = cell.member;
                place(scenario, cell, mpi, preload);
            }
            // The threads of asynchronous progress take CPU time even if nothing is pending.
            if (preload.empty() && !choice_.async)
                for (const Cell& cell : of_weft) place(scenario, cell, mpi, preload);
        }
    }

    void miss(const std::string& member, const std::string& why) {
        for (const Missing& one : plan_.missing)
            if (one.scenario == name_ && one.member == member) return;
        plan_.missing.push_back({name_, member, why});
    }

    // Puts it into the job for its place, and there into its contest.
    void place(const Json& scenario, Cell cell, const std::string& launcher,
               const std::string& preload) {
        const Json key = place_of(cell, launcher, preload);
        auto [found, is_new] = job_at_.try_emplace(key, plan_.jobs.size());
        if (is_new) {
            plan_.jobs.push_back({launcher, preload, choice_.async && !launcher.empty(), {}});
        }
        JobPlan& job = plan_.jobs[found->second];
        cell.id = cells_++;
        cell.axes["id"] = cell.id;
        if (job.contests.empty() || job.contests.back().cells[0].contest != cell.contest) {
            Contest contest;
            contest.repetitions = scenario.contains("repetitions")
                                      ? whole(scenario["repetitions"], "repetitions")
                                      : contest.repetitions;
            if (scenario.contains("until")) contest.until = real(scenario["until"], "until");
            const Json budget = scenario.value("budget", Json("60s"));
            contest.budget_s =
                duration_us(budget.is_string() ? budget.get<std::string>() : budget.dump() + "s") /
                1e6;
            job.contests.push_back(contest);
        }
        job.contests.back().cells.push_back(std::move(cell));
    }

    static double real(const Json& value, const std::string& what) {
        Json parsed =
            value.is_string() ? Json::parse(value.get<std::string>(), nullptr, false) : value;
        if (!parsed.is_number() || parsed.get<double>() < 0)
            throw Refused(what + " = " + value.dump() + "; expected a number, at least 0");
        return parsed.get<double>();
    }
    static int whole(const Json& value, const std::string& what) {
        const double number = real(value, what);
        if (number < 1 || number > 1'000'000)
            throw Refused(what + " = " + value.dump() + "; expected 1 to 1000000");
        return static_cast<int>(number);
    }

    const Wanted& choice_;
    std::string name_;
    Plan plan_;
    std::map<Json, std::size_t> job_at_;
    int contests_ = 0;
    int cells_ = 0;
};

// The objects of a scenario's file.
Json parse(const std::string& name, const std::string& text) {
    try {
        Json parsed = Json::parse(text);
        return parsed.is_array() ? parsed : Json::array({parsed});
    } catch (const Json::exception& error) {
        throw Refused(name + ": " + error.what());
    }
}

// Those of a file, of a file in the program, or one of a paper's file in the program.
Json read(const std::string& name) {
    if (name.ends_with(".json")) {
        std::ifstream file(name);
        if (!file) throw Refused(name + ": cannot be read");
        return parse(name, std::string(std::istreambuf_iterator<char>(file), {}));
    }
    std::string known;
    for (const EmbeddedScenario& one : embedded_scenarios()) {
        if (name == one.name) return parse(name, one.text);
        known += one.name + std::string(", ");
    }
    for (const EmbeddedScenario& one : embedded_scenarios()) {
        if (!one.is_of_paper) continue;
        for (const Json& scenario : parse(one.name, one.text))
            if (scenario.value("name", "") == name) return Json::array({scenario});
    }
    throw Refused("scenario = \"" + name + "\"; expected one of " + known +
                  "one that --list shows, or a file *.json");
}

}  // namespace

std::vector<KnownScenario> known_scenarios() {
    std::vector<KnownScenario> known;
    for (const EmbeddedScenario& one : embedded_scenarios()) {
        std::string questions;
        for (const Json& scenario : read(one.name)) {
            const std::string question = scenario.value("question", "");
            if (one.is_of_paper)
                known.push_back({scenario.value("name", ""), question, true});
            else
                questions += (questions.empty() ? "" : " ") + question;
        }
        if (!one.is_of_paper) known.push_back({one.name, questions});
    }
    return known;
}

Result<Plan> expand(const Wanted& choice) {
    try {
        Expansion expansion(choice);
        for (const std::string& name : choice.names)
            for (const Json& scenario : read(name)) expansion.add(scenario);
        return expansion.take();
    } catch (const Refused& refused) {
        return failure(WEFT_REFUSED_ARGUMENT, "%s", refused.what());
    }
}

Json to_json(const JobPlan& job) {
    Json contests = Json::array();
    for (const Contest& contest : job.contests) {
        Json cells = Json::array();
        for (const Cell& cell : contest.cells) cells.push_back(cell.axes);
        contests.push_back({{"cells", cells},
                            {"repetitions", contest.repetitions},
                            {"until", contest.until},
                            {"budget_s", contest.budget_s}});
    }
    return {{"launcher", job.launcher},
            {"preload", job.preload},
            {"async", job.async},
            {"contests", contests}};
}

JobPlan job_from(const Json& json) {
    JobPlan job{json.at("launcher"), json.at("preload"), json.at("async"), {}};
    for (const Json& one : json.at("contests")) {
        Contest contest;
        for (const Json& cell : one.at("cells")) contest.cells.push_back(cell_from(cell));
        contest.repetitions = one.at("repetitions");
        contest.until = one.at("until");
        contest.budget_s = one.at("budget_s");
        job.contests.push_back(std::move(contest));
    }
    return job;
}

}  // namespace weft::bench
