// Gather and alltoall on tori of SCI links, as in Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and
// Analysis of Nonblocking Collective Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892.
#include <algorithm>
#include <numeric>

#include "lab/measure.h"
#include "weft/experiment/experiments.h"
#include "weft/experiment/simulated_call.h"

namespace weft::simulate {
namespace {

constexpr std::int64_t fast_link_byte_ps = 1'923;  // 520 MB/s
constexpr std::int64_t look_ps = 100'000;
constexpr std::int64_t wake_ps = 5'000'000;
constexpr std::int64_t bytes_between_looks = 2048;

struct Named {
    const char* collective;
    const char* algorithm;
};
constexpr Named calls[] = {
    {"gather", "flat"},       {"gather", "sequential"}, {"gather", "binary"},
    {"gather", "binomial"},   {"gather", "torus"},      {"alltoall", "flat"},
    {"alltoall", "pairwise"}, {"alltoall", "bruck"},    {"alltoall", "shift"},
    {"alltoall", "torus"},
};

std::string text_of(const std::vector<Rank>& sizes) {
    std::string text;
    for (const Rank size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
}

SimulatedCall on_torus(const Named& named, const Torus& torus, std::int64_t bytes) {
    SimulatedCall call = call_of(named.collective, named.algorithm, torus.ranks(), bytes);
    call.agreed.torus = &torus;
    return call;
}

// By step, the most messages on a link.
std::vector<std::int64_t> loads_of(const SimulatedCall& call, const Torus& torus) {
    Result<Timetable> times = timetable(schedules_of(call));
    WEFT_ASSERT(times.is_ok());
    std::vector<LinkLoads> steps(static_cast<std::size_t>(times->rounds), LinkLoads(torus));
    for (const auto& [ends, units] : times->messages) {
        for (const std::int64_t unit : units)
            steps[static_cast<std::size_t>(unit)].add(ends.first, ends.second);
    }
    std::vector<std::int64_t> loads;
    for (const LinkLoads& step : steps) loads.push_back(step.most());
    return loads;
}

void add_contention(const SimulatedCall& call, const Torus& torus, ExperimentTable& table) {
    const std::vector<std::int64_t> loads = loads_of(call, torus);
    table.rows.push_back({text_of(torus.sizes()), call.family->name, call.algorithm->name,
                          static_cast<std::int64_t>(loads.size()),
                          std::accumulate(loads.begin(), loads.end(), std::int64_t{0}),
                          loads.empty() ? 0 : std::ranges::max(loads), loads});
}

// A line for each way of progress.
void add_times(SimulatedCall call, const NetworkProfile& profile, const Torus& torus,
               ExperimentTable& table) {
    call.parameters = profile.parameters;
    call.ends = profile.ends;
    TorusParameters links{torus, fast_link_byte_ps, profile.hop_ps};
    call.torus = &links;
    const std::int64_t fast_ps = time_of(call);
    links.link_byte_ps = profile.parameters.byte_gap_ps;
    const std::int64_t alone_ps = time_of(call);
    Progress manual;
    manual.look_ps = look_ps;
    Progress thread;
    thread.by = Progress::By::thread;
    thread.wake_ps = wake_ps;
    const std::int64_t looks = std::max<std::int64_t>(call.agreed.bytes / bytes_between_looks, 1);
    for (const auto& [name, progress] :
         {std::pair{"manual", manual}, std::pair{"thread", thread}}) {
        const Overlap overlap = overlap_of(call, progress, alone_ps, looks);
        table.rows.push_back({text_of(torus.sizes()), call.family->name, call.algorithm->name,
                              call.agreed.bytes, profile.name, name, Cell::microseconds(alone_ps),
                              Cell::microseconds(fast_ps), Cell::microseconds(overlap.together_ps),
                              Cell::percent(overlap.share())});
    }
}

}  // namespace

ExperimentResult run_sci(const ExperimentSize& size) {
    ExperimentResult result{"sci"};
    for (const NetworkProfile& profile : profiles()) {
        for (const char* source : profile.sources)
            result.assumptions.push_back(std::string(profile.name) + ", " + source);
    }
    result.assumptions.insert(
        result.assumptions.end(),
        {"links take a byte in the time of an interface, or 520 MB/s (fast_links_us)",
         "manual: the host looks every 2048 bytes of a block, for 0.1 us (assumed); thread: it has "
         "a core "
         "of its own and takes 5 us to wake (assumed)",
         "each rank computes for as long as the collective takes alone (alone_us)",
         "contention: messages on the fullest link, by step, if every message takes one"});
    ExperimentTable contention{
        "contention", {"torus", "collective", "algorithm", "steps", "sum", "most", "by_step"}};
    ExperimentTable times{"times",
                          {"torus", "collective", "algorithm", "bytes", "transfer", "progress",
                           "alone_us", "fast_links_us", "together_us", "overlap_percent"}};
    const std::vector<std::int64_t> all_bytes =
        size.bytes.empty() ? std::vector<std::int64_t>{64, 4096, 65536} : size.bytes;
    for (const std::vector<Rank>& sizes :
         {std::vector<Rank>{4, 4}, std::vector<Rank>{8, 8}, std::vector<Rank>{4, 4, 4}}) {
        const Torus torus(sizes);
        if (torus.ranks() > size.ranks_max.value_or(torus.ranks())) continue;
        for (const Named& named : calls) {
            add_contention(on_torus(named, torus, 1), torus, contention);
            for (const std::int64_t bytes : all_bytes) {
                for (const NetworkProfile& profile : profiles())
                    add_times(on_torus(named, torus, bytes), profile, torus, times);
            }
        }
    }
    result.tables = {std::move(contention), std::move(times)};
    return result;
}

}  // namespace weft::simulate
