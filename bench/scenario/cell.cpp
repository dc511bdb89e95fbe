// Reads a cell's axes.
#include "bench/scenario/cell.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/setting.h"
#include "bench/sizes.h"

namespace weft::bench {
namespace {

[[noreturn]] void refuse(const std::string& axis, const Json& value, const std::string& expected) {
    throw Refused(axis + " = " + value.dump() + "; expected " + expected);
}

std::string text_of(const Json& axes, const char* axis, const std::string& otherwise) {
    const auto found = axes.find(axis);
    if (found == axes.end()) return otherwise;
    if (found->is_number()) return found->dump();
    if (!found->is_string()) refuse(axis, *found, "a text");
    return found->get<std::string>();
}

double number_of(const Json& axes, const char* axis, double otherwise, double least, double most) {
    const auto found = axes.find(axis);
    if (found == axes.end()) return otherwise;
    double value = 0;
    if (found->is_number()) {
        value = found->get<double>();
    } else {
        const std::string text = text_of(axes, axis, "");
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size())
            refuse(axis, *found, "a number");
    }
    if (!(value >= least && value <= most))
        refuse(axis, *found, "a number from " + Json(least).dump() + " to " + Json(most).dump());
    return value;
}

int whole_of(const Json& axes, const char* axis, int otherwise, int least, int most) {
    const double value = number_of(axes, axis, otherwise, least, most);
    if (value != std::floor(value)) refuse(axis, axes.at(axis), "a whole number");
    return static_cast<int>(value);
}

std::int64_t bytes_of(const Json& axes, const char* axis, const std::string& otherwise) {
    Result<std::vector<std::int64_t>> sizes = parse_sizes(text_of(axes, axis, otherwise));
    if (!sizes.is_ok() || sizes->size() != 1) refuse(axis, axes.at(axis), "a size such as 64K");
    return (*sizes)[0];
}

// The place of a text in a list of allowed ones.
template <class Enum>
Enum choice_of(const Json& axes, const char* axis, std::initializer_list<const char*> words) {
    const std::string text = text_of(axes, axis, *words.begin());
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) return static_cast<Enum>(found - words.begin());
    std::string known;
    for (const char* word : words) known += (known.empty() ? "" : ", ") + std::string(word);
    refuse(axis, axes.at(axis), "one of " + known);
}

// Names the axis in refusals of what is inside of it.
template <class Read>
auto inside(const Json& axes, const char* axis, std::initializer_list<const char*> known, Read read)
    -> decltype(read(axes)) {
    const auto found = axes.find(axis);
    if (found == axes.end()) return {};
    if (!found->is_object()) refuse(axis, *found, "an object");
    for (const auto& [name, value] : found->items()) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        std::string names;
        for (const char* one : known) names += (names.empty() ? "" : ", ") + std::string(one);
        throw Refused(std::string(axis) + " has \"" + name + "\"; expected " + names);
    }
    try {
        return read(*found);
    } catch (const Refused& refused) {
        throw Refused(std::string(axis) + "." + refused.what());
    }
}

Ranks ranks_of(const Json& axes, const char* axis, Ranks::Kind otherwise) {
    const auto found = axes.find(axis);
    if (found == axes.end()) return {otherwise};
    if (found->is_array()) {
        Ranks ranks{Ranks::Kind::listed};
        for (const Json& rank : *found) {
            if (!rank.is_number_unsigned()) refuse(axis, *found, "ranks, such as [0,2]");
            ranks.listed.push_back(rank.get<int>());
        }
        return ranks;
    }
    return {choice_of<Ranks::Kind>(axes, axis, {"all", "none", "others"})};
}

std::map<std::string, std::string> settings_from(const Json& axes) {
    std::map<std::string, std::string> settings;
    const Json given = axes.value("settings", Json::object());
    if (!given.is_object()) refuse("settings", given, "an object");
    for (const auto& [name, value] : given.items()) {
        const auto found = std::ranges::find(setting_table, name, &SettingInfo::name);
        if (found == std::end(setting_table) || !found->is_for_users())
            refuse("settings", name, "Weft's, such as WEFT_RENDEZVOUS");
        settings[name] = text_of(given, name.c_str(), "");
    }
    return settings;
}

Link link_from(const Json& axes) {
    Link link;
    link.rate = text_of(axes, "rate", link.rate);
    link.delay = text_of(axes, "delay", link.delay);
    link.jitter = text_of(axes, "jitter", link.jitter);
    link.loss = text_of(axes, "loss", link.loss);
    link.links = whole_of(axes, "links", 1, 1, 8);
    link.gso = whole_of(axes, "gso", 0, 0, 65536);
    for (const std::string& time : {link.delay, link.jitter}) duration_us(time);
    return link;
}

Compute compute_from(const Json& axes) {
    Compute compute;
    compute.who = ranks_of(axes, "who", Ranks::Kind::all);
    compute.what =
        choice_of<Compute::What>(axes, "what", {"loop", "sleep", "product", "mmap", "spinner"});
    const std::string time = text_of(axes, "for", "operation");
    if (time == "operation") return compute;
    if (time.ends_with('x')) {
        const Json factor = {{"for", time.substr(0, time.size() - 1)}};
        compute.factor = number_of(factor, "for", 1, 0.01, 1000);
    } else {
        compute.us = duration_us(time);
        if (compute.us <= 0) refuse("for", time, "a time above 0");
    }
    return compute;
}

Late late_from(const Json& axes) {
    Late late;
    late.who = ranks_of(axes, "who", Ranks::Kind::all);
    late.us = duration_us(text_of(axes, "by", "0"));
    late.distribution =
        choice_of<Late::Distribution>(axes, "distribution", {"constant", "uniform", "exponential"});
    return late;
}

Progress progress_from(const Json& axes) {
    const std::string text = text_of(axes, "progress", "none");
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string word = text.substr(0, colon);
    const std::string rest = colon < text.size() ? text.substr(colon + 1) : "";
    using Kind = Progress::Kind;
    if (word == "tests" && !rest.empty()) {
        const Json tests = {{"progress", rest}};
        return {Kind::tests, whole_of(tests, "progress", 0, 0, 1'000'000)};
    }
    if (word == "bytes" && !rest.empty()) {
        const Json size = {{"progress", rest}};
        return {Kind::bytes, bytes_of(size, "progress", "")};
    }
    if (text == "none" || text == "until") return {text == "none" ? Kind::none : Kind::until};
    constexpr std::array<std::string_view, 3> ways = {"timer", "arrival", "until"};
    if (word == "fiber" && (text == word || std::ranges::find(ways, rest) != ways.end()))
        return {Kind::fiber, 0, rest == "timer", rest == "arrival", rest == "until"};
    refuse("progress", text,
           "none, tests:N, bytes:N, until, fiber, fiber:timer, fiber:arrival or fiber:until");
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(at, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

}  // namespace

bool Ranks::holds(int rank, const Ranks& others) const {
    switch (kind) {
        case Kind::all: return true;
        case Kind::none: return false;
        case Kind::others: return others.kind != Kind::others && !others.holds(rank, *this);
        case Kind::listed: break;
    }
    return std::find(listed.begin(), listed.end(), rank) != listed.end();
}

double duration_us(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string unit(end, text.data() + text.size());
    const double factor = unit == "us" ? 1 : unit == "ms" ? 1e3 : unit == "s" ? 1e6 : 0;
    const bool is_zero = unit.empty() && value == 0;
    if (error != std::errc{} || (factor == 0 && !is_zero) || value < 0 || value * factor > 3.6e9)
        throw Refused("\"" + text + "\" is no time; expected one such as 300us, 10ms or 2s");
    return value * factor;
}

std::string Cell::collective() const {
    std::string text;
    for (const std::string& one : collectives) text += (text.empty() ? "" : "+") + one;
    return text;
}

Cell cell_from(const Json& axes) {
    Cell cell;
    cell.axes = axes;
    cell.id = axes.value("id", 0);
    cell.contest = axes.value("contest", 0);
    cell.scenario = text_of(axes, "scenario", "");
    cell.again = axes.value("again", false);
    cell.collectives = split(text_of(axes, "collective", "ibcast"), '+');
    cell.algorithm = text_of(axes, "algorithm", "");
    // "0": a barrier has none.
    if (text_of(axes, "bytes", "64K") != "0") cell.bytes = bytes_of(axes, "bytes", "64K");
    cell.ranks = whole_of(axes, "ranks", cell.ranks, 1, 1024);
    cell.nodes = whole_of(axes, "nodes", cell.nodes, 0, 1024);
    cell.link =
        inside(axes, "link", {"rate", "delay", "jitter", "loss", "links", "gso"}, link_from);
    cell.cores = text_of(axes, "cores", cell.cores);
    cell.transport = text_of(axes, "transport", cell.transport);
    cell.settings = settings_from(axes);
    cell.progress = progress_from(axes);
    cell.engine = text_of(axes, "engine",
                          cell.progress.kind == Progress::Kind::fiber ? "fiber" : cell.engine);
    cell.implementation = text_of(axes, "implementation", cell.implementation);
    cell.hides = number_of(axes, "hides", cell.hides, 0, 1);
    cell.segment = bytes_of(axes, "segment", "64K");
    cell.call =
        choice_of<CallForm>(axes, "call", {"nonblocking", "blocking", "persistent", "first"});
    cell.compute = inside(axes, "compute", {"who", "for", "what"}, compute_from);
    cell.late = inside(axes, "late", {"who", "by", "distribution"}, late_from);
    cell.barrier = choice_of<BarrierOf>(axes, "barrier", {"ours", "mpi", "both"});
    cell.timer = choice_of<Timer>(axes, "timer", {"clock", "cycles"});
    const bool is_weft = cell.implementation == "weft";
    cell.member = text_of(axes, "name", is_weft ? cell.engine : cell.implementation);
    for (const Ranks* ranks : {&cell.compute.who, &cell.late.who}) {
        for (const int rank : ranks->listed) {
            if (rank >= cell.ranks)
                throw Refused("rank " + std::to_string(rank) + " of " + std::to_string(cell.ranks) +
                              " computes or is late; expected fewer");
        }
    }
    return cell;
}

Json sample_json(const Cell& cell) {
    const auto axis = [&](const char* name, Json otherwise) {
        return cell.axes.contains(name) ? cell.axes.at(name) : std::move(otherwise);
    };
    Json link;
    if (cell.nodes > 0) {
        link = {{"rate", cell.link.rate},
                {"delay_us", duration_us(cell.link.delay)},
                {"jitter_us", duration_us(cell.link.jitter)},
                {"loss", axis("link", Json::object()).value("loss", Json(0))},
                {"links", cell.link.links}};
    }
    return {{"kind", "cell"},
            {"id", cell.id},
            {"scenario", cell.scenario},
            {"contest", cell.contest},
            {"member", cell.member},
            {"again", cell.again},
            {"collective", cell.collective()},
            {"algorithm", cell.algorithm},
            {"bytes", cell.bytes},
            {"ranks", cell.ranks},
            {"nodes", cell.nodes},
            {"link", link},
            {"transport", cell.transport},
            {"settings", cell.settings},
            {"engine", cell.engine},
            {"implementation", cell.implementation},
            {"call", axis("call", "nonblocking")},
            {"progress", axis("progress", "none")},
            {"compute", axis("compute", {{"who", "none"}})},
            {"late", axis("late", {{"who", "none"}})},
            {"barrier", axis("barrier", "ours")},
            {"timer", axis("timer", "clock")}};
}

}  // namespace weft::bench
