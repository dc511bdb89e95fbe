#include "bench/tune/measure.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/clock.h"
#include "bench/sleep.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

// How many repetitions between two checks of the intervals.
constexpr int turn = 10;
// As a fraction of the median: measuring stops once its interval is narrower.
constexpr double narrow = 0.05;

std::vector<std::string> parameters_of(const algorithm::Algorithm& known) {
    switch (known.tunes) {
        case algorithm::Tunes::nothing: return {""};
        case algorithm::Tunes::segments: return {"", ":segment=16K", ":segment=512K"};
        case algorithm::Tunes::ports: return {"", ":ports=3"};
        case algorithm::Tunes::throttle: return {"", ":throttle=1"};
        case algorithm::Tunes::inner: return {"", ":inner=ring"};
        case algorithm::Tunes::leaders: return {"", ":inner=ring", ":leaders=2"};
    }
    return {""};
}

struct Contender {
    const Candidate* candidate;
    std::vector<double> us = {};  // by repetition
    bool is_in = true;

    bool is_narrow() const {
        const Interval interval = median_interval(us);
        return interval.high - interval.low <= narrow * median(us);
    }
    double differs() const {
        std::vector<double> even, odd;
        for (std::size_t i = 0; i < us.size(); ++i) (i % 2 == 0 ? even : odd).push_back(us[i]);
        return odd.empty() ? 0 : std::abs(median(even) / median(odd) - 1);
    }
};

// False: the algorithm does not support such a call.
bool run_once(const Collective& collective, Case& c, double& us, std::int64_t rest_ns) {
    weft_request request = WEFT_REQUEST_NULL;
    must(weft_barrier(c.job.comm), "weft_barrier");
    if (rest_ns > 0) {
        sleep_until(now_ns() + rest_ns);
        must(weft_barrier(c.job.comm), "weft_barrier");
    }
    const std::int64_t begin = now_ns();
    const weft_status status = collective.start(c, &request);
    if (status == WEFT_REFUSED_SETTING) return false;
    must(status, collective.name);
    must(weft_wait(&request), "weft_wait");
    us = static_cast<double>(now_ns() - begin) / 1000;
    return true;
}

// Each repetition takes the contenders in another order, the same on all ranks: who comes first meets a link that has
// rested, and who follows a slow algorithm may meet ranks that have.
void take_turn(const Job& job, const Collective& collective, Case& c,
               std::vector<Contender>& contenders, std::minstd_rand& random, std::int64_t rest_ns) {
    std::vector<Contender*> in;
    for (Contender& contender : contenders) {
        if (contender.is_in) in.push_back(&contender);
    }
    for (int i = 0; i < turn; ++i) {
        std::ranges::shuffle(in, random);
        std::vector<double> mine;
        for (const Contender* contender : in) {
            c.job = contender->candidate->job;
            run_once(collective, c, mine.emplace_back(), rest_ns);
        }
        const std::vector<double> all = gather(job, mine);
        for (std::size_t at = 0; at < in.size(); ++at) {
            double slowest_us = 0;
            for (std::size_t next = at; next < all.size(); next += in.size())
                slowest_us = std::max(slowest_us, all[next]);
            in[at]->us.push_back(slowest_us);
        }
    }
}

// Whether any contender needs more repetitions.
bool narrow_down(std::vector<Contender>& contenders) {
    const Contender& best =
        *std::ranges::min_element(contenders, {}, [](const auto& c) { return median(c.us); });
    const double limit = median_interval(best.us).high;
    bool goes_on = false;
    for (Contender& contender : contenders) {
        contender.is_in = contender.is_in && median_interval(contender.us).low <= limit;
        goes_on |= contender.is_in && !contender.is_narrow();
    }
    return goes_on;
}

}  // namespace

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
        if (const algorithm::Family* family = algorithm::find_family(collective->name + 1))
            subjects.push_back({collective, family});
    }
    return subjects;
}

std::vector<Candidate> make_candidates(const Job& job, const algorithm::Family& family) {
    std::vector<Candidate> made;
    for (const algorithm::Algorithm* known : family.algorithms) {
        for (const std::string& parameters : parameters_of(*known)) {
            Candidate candidate{known->name + parameters, job};
            const std::string setting = std::string(family.name) + "=" + candidate.setting;
            must(weft_comm_dup_with(job.comm, setting.c_str(), &candidate.job.comm),
                 "weft_comm_dup_with");
            made.push_back(std::move(candidate));
        }
    }
    return made;
}

void free_candidates(std::vector<Candidate>& candidates) {
    for (Candidate& candidate : candidates)
        must(weft_comm_free(&candidate.job.comm), "weft_comm_free");
}

Timings measure_candidates(const Collective& collective, std::int64_t bytes,
                           const std::vector<Candidate>& candidates, int repetitions,
                           Endurance endurance, std::int64_t rest_ns) {
    const Job& job = candidates.front().job;
    Case c = make_case(job, collective, bytes);
    std::vector<Contender> contenders;
    std::uint64_t seed = 0;
    for (const Candidate& candidate : candidates) {
        // The first run builds schedules and touches pages; its result is checked.
        c.job = candidate.job;
        collective.fill(c, ++seed);
        double us = 0;
        if (!run_once(collective, c, us, rest_ns)) continue;
        verify(collective, c);
        contenders.push_back({&candidate});
    }
    std::minstd_rand random;
    bool goes_on = true;
    for (int done = 0; goes_on && done < repetitions; done += turn) {
        take_turn(job, collective, c, contenders, random, rest_ns);
        goes_on = endurance == Endurance::all || narrow_down(contenders);
    }
    Timings timings;
    for (const Contender& contender : contenders)
        timings.push_back(
            {contender.candidate->setting, median(contender.us), contender.differs()});
    return timings;
}

}  // namespace weft::bench
