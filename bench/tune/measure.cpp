#include "bench/tune/measure.h"

#include <algorithm>
#include <limits>
#include <random>

#include "base/clock.h"
#include "base/hash.h"
#include "base/setting.h"
#include "bench/run/computation.h"
#include "bench/sleep.h"
#include "bench/tune/contest.h"
#include "lab/steps.h"
#include "select/table.h"

namespace weft::bench {
namespace {

// How many repetitions between two checks of the intervals.
constexpr int turn = 10;

// (A call refuses an inner algorithm that does not suit the number of leaders.)
std::vector<std::string> parameters_of(const algorithm::Algorithm& known,
                                       const algorithm::CollectiveSpec& spec) {
    std::vector<std::string> inners = {""};
    for (const algorithm::Algorithm* flat : spec.flat_algorithms())
        inners.push_back(std::string(":inner=") + flat->name);
    switch (known.tunes) {
        case algorithm::Tunes::nothing: return {""};
        case algorithm::Tunes::segments: return {"", ":segment=16K", ":segment=512K"};
        case algorithm::Tunes::ports: return {"", ":ports=3"};
        case algorithm::Tunes::throttle: return {"", ":throttle=1"};
        case algorithm::Tunes::inner: return inners;
        case algorithm::Tunes::leaders: inners.emplace_back(":leaders=2"); return inners;
        case algorithm::Tunes::groups: return {"", ":leaders=2"};
    }
    return {""};
}

// What the ranks do besides a call.
struct Besides {
    std::int64_t rest_ns;          // before it
    Computation computation = {};  // between start and wait
};

// False: the algorithm does not support such a call.
bool run_once(const Collective& collective, Case& c, double& us, const Besides& besides) {
    weft_request request = WEFT_REQUEST_NULL;
    must(weft_barrier(c.job.comm), "weft_barrier");
    if (besides.rest_ns > 0) {
        sleep_until(now_ns() + besides.rest_ns);
        must(weft_barrier(c.job.comm), "weft_barrier");
    }
    const std::int64_t begin = now_ns();
    const weft_status status = collective.start(c, &request);
    if (status == WEFT_REFUSED_SETTING) return false;
    must(status, collective.name);
    if (besides.computation.is_any()) besides.computation.run();
    must(weft_wait(&request), "weft_wait");
    us = static_cast<double>(now_ns() - begin) / 1000;
    return true;
}

// Each repetition takes the contenders in another order, the same on all ranks: who comes first meets a link that has
// rested, and who follows a slow algorithm may meet ranks that have.
void take_turn(const std::vector<Candidate>& candidates, const Collective& collective, Case& c,
               std::vector<Contender>& contenders, std::minstd_rand& random,
               const Besides& besides) {
    std::vector<Contender*> in;
    for (Contender& contender : contenders) {
        if (contender.is_in) in.push_back(&contender);
    }
    for (int i = 0; i < turn; ++i) {
        std::ranges::shuffle(in, random);
        std::vector<double> mine;
        for (const Contender* contender : in) {
            c.job = candidates[contender->candidate].job;
            run_once(collective, c, mine.emplace_back(), besides);
        }
        const std::vector<double> all = gather(candidates.front().job, mine);
        for (std::size_t at = 0; at < in.size(); ++at) {
            double slowest_us = 0;
            for (std::size_t next = at; next < all.size(); next += in.size())
                slowest_us = std::max(slowest_us, all[next]);
            in[at]->us.push_back(slowest_us);
        }
    }
}

double fastest_us(const std::vector<Contender>& contenders) {
    double us = std::numeric_limits<double>::infinity();
    for (const Contender& contender : contenders) us = std::min(us, median(contender.us));
    return us;
}

// By candidate: the first that has the same schedules on every rank. Collective.
std::vector<std::size_t> first_alike(const Subject& subject, const Topology& topology,
                                     std::int64_t bytes, const std::vector<Candidate>& candidates) {
    const Job& job = candidates.front().job;
    std::vector<std::uint64_t> mine;
    for (const Candidate& candidate : candidates) {
        std::optional<Schedule> schedule;
        if (subject.spec->sizes == algorithm::Sizes::uniform)
            schedule = schedule_of(*subject.spec, candidate.setting,
                                   subject.agreed(bytes, topology), job.rank);
        mine.push_back(schedule ? steps_hash(*schedule) : Hash().add(candidate.setting).value());
    }
    const std::vector<std::uint64_t> all = gather(job, mine);
    const auto are_alike = [&](std::size_t one, std::size_t other) {
        for (std::size_t at = 0; at < all.size(); at += mine.size()) {
            if (all[at + one] != all[at + other]) return false;
        }
        return true;
    };
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        std::size_t before = 0;
        while (!are_alike(before, i)) ++before;
        first.push_back(before);
    }
    return first;
}

}  // namespace

algorithm::GlobalArgs Subject::agreed(std::int64_t bytes, const Topology& topology) const {
    algorithm::GlobalArgs agreed;
    agreed.collective = spec->collective;
    agreed.ranks = topology.ranks();
    agreed.bytes = bytes;
    agreed.topology = &topology;
    if (collective->plain.reduces) {
        constexpr auto element_bytes = static_cast<std::int64_t>(sizeof(double));
        const Result<bool> reproducible = switch_setting("WEFT_REPRODUCIBLE");
        agreed.element_bytes = element_bytes;
        agreed.bytes = std::max(bytes / element_bytes, std::int64_t{1}) * element_bytes;
        agreed.reproducible = reproducible.is_ok() && *reproducible;
        agreed.commutative = !agreed.reproducible;
    }
    return agreed;
}

std::optional<Schedule> schedule_of(const algorithm::CollectiveSpec& spec,
                                    const std::string& setting, algorithm::GlobalArgs agreed,
                                    Rank rank) {
    const Result<Choice> choice = parse_choice(spec, setting, spec.name);
    if (!choice.is_ok()) return std::nullopt;
    agreed.tuning = (*choice).tuning;
    if (!(*choice).algorithm->unmet_need(agreed).empty()) return std::nullopt;
    Result<Schedule> schedule =
        build_rank(*(*choice).algorithm, spec.problem(agreed, rank, /*in_place=*/false));
    if (!schedule.is_ok()) return std::nullopt;
    return std::move(*schedule);
}

Result<std::vector<Subject>> find_subjects(const std::vector<std::string>& names) {
    std::vector<const Collective*> wanted;
    for (const std::string& name : names) {
        Result<const Collective*> found = find_collective(name);
        if (!found.is_ok()) return found.status();
        wanted.push_back(*found);
    }
    if (wanted.empty()) wanted.assign(collectives().begin(), collectives().end());
    std::vector<Subject> subjects;
    for (const Collective* collective : wanted) {
        // Names of calls begin with i.
        if (const algorithm::CollectiveSpec* spec = algorithm::find_spec(collective->name + 1))
            subjects.push_back({collective, spec});
    }
    return subjects;
}

Candidate make_candidate(const Job& job, const algorithm::CollectiveSpec& spec,
                         const std::string& setting) {
    Candidate candidate{setting, job};
    must(weft_comm_dup_with(job.comm, (std::string(spec.name) + "=" + setting).c_str(),
                            &candidate.job.comm),
         "weft_comm_dup_with");
    return candidate;
}

std::vector<Candidate> make_candidates(const Job& job, const algorithm::CollectiveSpec& spec) {
    std::vector<Candidate> made;
    for (const algorithm::Algorithm* known : spec.algorithms) {
        for (const std::string& parameters : parameters_of(*known, spec))
            made.push_back(make_candidate(job, spec, known->name + parameters));
    }
    return made;
}

void free_candidates(std::vector<Candidate>& candidates) {
    for (Candidate& candidate : candidates)
        must(weft_comm_free(&candidate.job.comm), "weft_comm_free");
}

Timings measure_candidates(const Subject& subject, const Topology& topology, std::int64_t bytes,
                           const std::vector<Candidate>& candidates, const Manner& manner) {
    const Collective& collective = *subject.collective;
    const Job& job = candidates.front().job;
    Case c = make_case(job, collective, bytes);
    Besides besides{manner.rest_ns};
    std::vector<Contender> contenders;
    std::uint64_t seed = 0;
    const std::vector<std::size_t> first = first_alike(subject, topology, bytes, candidates);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (first[i] != i) {
            const auto same = std::ranges::find(contenders, first[i], &Contender::candidate);
            if (same != contenders.end()) same->alike.push_back(candidates[i].setting);
            continue;
        }
        // The first run builds schedules and touches pages; its result is checked.
        c.job = candidates[i].job;
        collective.fill(c, ++seed);
        double us = 0;
        if (!run_once(collective, c, us, besides)) continue;
        verify(collective, c);
        contenders.push_back({i});
    }
    std::minstd_rand random;
    if (manner.step_us > 0) {
        take_turn(candidates, collective, c, contenders, random, besides);
        const double us = fastest_us(contenders);
        besides.computation = Computation(Compute::What::loop, us, manner.step_us);
        for (Contender& contender : contenders) contender.us.clear();
    }
    bool goes_on = true;
    for (int done = 0; goes_on && done < manner.repetitions; done += turn) {
        take_turn(candidates, collective, c, contenders, random, besides);
        goes_on = manner.endurance == Endurance::all || narrow_down(contenders);
    }
    Timings timings;
    for (const Contender& contender : contenders)
        timings.push_back({candidates[contender.candidate].setting, median(contender.us),
                           contender.differs(), contender.alike});
    return timings;
}

}  // namespace weft::bench
