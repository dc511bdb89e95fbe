#include "sim/cpus.h"

namespace weft::simulate {

void Cpus::prepare() {
    const auto ranks = static_cast<std::uint32_t>(m_.ranks.size());
    const Progress& progress = m_.progress;
    if (m_.disturbance.exists()) disturbed_ps_ = m_.disturbance.starts_ps(static_cast<Rank>(ranks));
    for (std::uint32_t r = 0; r < ranks; ++r)
        m_.push(disturbed_ps_.empty() ? 0 : disturbed_ps_[r], r, EventKind::begin, 0);
    if (!progress.is_plain()) beside_.assign(ranks, {.left_ps = progress.compute_ps});
    WEFT_ASSERT(!m_.ends.cpu_sends || progress.is_plain() || progress.by != Progress::By::offload);
    WEFT_ASSERT(!m_.ends.cpu_receives_along || (progress.is_plain() && !m_.torus));
    if (!m_.nodes || m_.nodes->cores == 0) return;
    WEFT_ASSERT(!m_.torus);
    WEFT_ASSERT(progress.is_plain() ||
                (progress.by == Progress::By::thread && progress.shares_core && !m_.has_noise));
    cores_.resize(static_cast<std::size_t>(m_.nodes->cores));
}

void Cpus::finish(LogGpOutcome& outcome) {
    for (SharedCore& core : cores_) compute_until(core, time_max_ps);
    for (std::uint32_t r = 0; r < m_.ranks.size(); ++r) {
        const SimulatedRank& rank = m_.ranks[r];
        const std::int64_t computed_ps = end_of_computing(r);
        const std::int64_t end_ps = std::max(rank.end_ps, computed_ps);
        outcome.end_ps.push_back(end_ps);
        outcome.cpu_ps.push_back(rank.cpu_ps);
        outcome.waiting_ps.push_back(waiting_ps(r, end_ps, computed_ps));
    }
    outcome.disturbed_ps = std::move(disturbed_ps_);
}

std::int64_t Cpus::waiting_ps(std::uint32_t r, std::int64_t end_ps,
                              std::int64_t computed_ps) const {
    const SimulatedRank& rank = m_.ranks[r];
    if (!cores_.empty() && !beside_.empty()) {
        const BesideRank& beside = beside_[r];
        const std::int64_t left_ps = std::max(rank.cpu_free_ps, computed_ps);
        return std::max<std::int64_t>(beside.idle_worked_ps - beside.idle_computed_ps, 0) +
               std::max<std::int64_t>(end_ps - left_ps, 0);
    }
    const std::int64_t busy_ps = m_.progress.has_own_core()
                                     ? computed_ps
                                     : model::plus(rank.cpu_ps + m_.progress.compute_ps,
                                                   disturbed_ps_.empty() ? 0 : disturbed_ps_[r]);
    return std::max<std::int64_t>(end_ps - busy_ps, 0);
}

// Of what a rank computes beside the collective.
std::int64_t Cpus::end_of_computing(std::uint32_t r) {
    if (beside_.empty()) return 0;
    if (!cores_.empty()) return beside_[r].computed_ps;
    return m_.progress.has_own_core()
               ? work_of_host(r, beside_[r].start_ps, m_.progress.compute_ps)
               : work_of_host(r, m_.ranks[r].cpu_free_ps, beside_[r].left_ps);
}

// When work of a core ends, noise included, which is noted as the rank's.
std::int64_t Cpus::after_noise(std::uint32_t r, Rank core, std::int64_t begin_ps,
                               std::int64_t cost_ps) {
    const std::int64_t end_ps = m_.disturbance.end_ps(core, begin_ps, cost_ps);
    const std::int64_t undisturbed_ps = m_.later(begin_ps, cost_ps);
    disturbed_ps_[r] = model::plus(disturbed_ps_[r], end_ps - undisturbed_ps);
    return m_.later(end_ps, 0);
}

// When work of the CPU that computes ends, noise included.
std::int64_t Cpus::work_of_host(std::uint32_t r, std::int64_t begin_ps, std::int64_t cost_ps) {
    return m_.has_noise ? after_noise(r, static_cast<Rank>(r), begin_ps, cost_ps)
                        : m_.later(begin_ps, cost_ps);
}

// The least of `most` or fewer steps of work whose end is at `until_ps` or later; `most`, if none
// is.
template <class CostOf>
std::int64_t Cpus::steps_until(std::uint32_t r, std::int64_t begin_ps, std::int64_t until_ps,
                               std::int64_t most, CostOf cost_of) const {
    const auto end_ps = [&](std::int64_t steps) {
        return m_.disturbance.end_ps(static_cast<Rank>(r), begin_ps, cost_of(steps));
    };
    if (!m_.has_noise || end_ps(most) == begin_ps + cost_of(most)) return most;
    std::int64_t least = 0;
    while (least < most) {
        const std::int64_t middle = least + (most - least) / 2;
        if (end_ps(middle) >= until_ps)
            most = middle;
        else
            least = middle + 1;
    }
    return most;
}

// compute(), where a rank computes beside the collective, or shares its core.
std::int64_t Cpus::compute_beside(std::uint32_t r, Work work, std::int64_t cost_ps, bool inside,
                                  std::int64_t done_ps) {
    if (!cores_.empty()) return compute_on_core(r, work, cost_ps, done_ps);
    const bool is_message = work != Work::reduction && work != Work::copy;
    if (is_message && has_card(inside)) return trigger(r, work);
    return work_from(r, work, begin_beside(r), cost_ps);
}

std::int64_t Cpus::compute_on_core(std::uint32_t r, Work work, std::int64_t cost_ps,
                                   std::int64_t done_ps) {
    SharedCore& core = shared_core(r);
    const std::int64_t from_ps = m_.now_ps - done_ps;
    if (!beside_.empty()) {
        take_from_computing(r, core);
    } else if (core.rank != r) {
        core.free_ps = std::max(core.free_ps, from_ps);
        // A rank keeps the core while it has work: what comes before its earlier work has ended
        // needs no switch.
        const bool has_turn = m_.ranks[r].cpu_free_ps >= from_ps;
        if (core.rank != no_rank && !has_turn)
            core.free_ps = m_.later(core.free_ps, m_.nodes->switch_ps);
    }
    core.rank = r;
    const std::int64_t begin_ps = std::max(core.free_ps, from_ps);
    add_cpu_time(r, cost_ps);
    core.free_ps = m_.later(begin_ps, cost_ps);
    if (m_.has_noise)
        core.free_ps = after_noise(r, static_cast<Rank>(r % cores_.size()), begin_ps, cost_ps);
    m_.record(r, Unit::cpu, work, begin_ps, core.free_ps);
    m_.ranks[r].cpu_free_ps = core.free_ps;
    if (!beside_.empty()) beside_[r].idle_worked_ps = core.idle_ps;
    return core.free_ps;
}

// A rank's thread takes the core, after it woke or another rank's had it.
void Cpus::take_from_computing(std::uint32_t r, SharedCore& core) {
    compute_until(core, m_.now_ps);
    const bool sleeps = m_.ranks[r].cpu_free_ps < m_.now_ps;
    if (sleeps) add_cpu_time(r, m_.progress.wake_ps);
    const bool is_others = core.rank != r && core.rank != no_rank;
    core.free_ps = m_.later(core.free_ps, sleeps      ? m_.progress.wake_ps
                                          : is_others ? m_.nodes->switch_ps
                                                      : 0);
}

// While no thread has the core, its ranks get the same of it, but for parts of a ps.
void Cpus::compute_until(SharedCore& core, std::int64_t until_ps) {
    std::int64_t& time_ps = core.free_ps;
    while (!core.computing.empty()) {
        const auto sharers = static_cast<std::int64_t>(core.computing.size());
        std::int64_t each_ps = std::max<std::int64_t>(until_ps - time_ps, 0) / sharers;
        for (const std::uint32_t r : core.computing)
            each_ps = std::min(each_ps, beside_[r].left_ps);
        if (each_ps == 0) break;
        time_ps += each_ps * sharers;
        std::erase_if(core.computing, [&](std::uint32_t r) {
            beside_[r].left_ps -= each_ps;
            if (beside_[r].left_ps == 0) beside_[r].computed_ps = time_ps;
            return beside_[r].left_ps == 0;
        });
    }
    if (core.computing.empty()) core.idle_ps += std::max<std::int64_t>(until_ps - time_ps, 0);
    time_ps = std::max(time_ps, until_ps);
}

bool Cpus::begin_beside_computing(std::uint32_t r) {
    BesideRank& beside = beside_[r];
    if (beside.has_begun) return true;
    beside.has_begun = true;
    beside.start_ps = m_.now_ps;
    m_.ranks[r].cpu_free_ps = m_.now_ps;
    if (!cores_.empty()) {
        SharedCore& core = shared_core(r);
        compute_until(core, m_.now_ps);
        beside.computed_ps = m_.now_ps;
        beside.idle_computed_ps = core.idle_ps;
        if (beside.left_ps > 0) core.computing.push_back(r);
    }
    if (m_.progress.by != Progress::By::offload || m_.progress.list_ps == 0) return true;
    const std::int64_t cost_ps = model::times(lists_of(r), m_.progress.list_ps);
    m_.push(work_from(r, Work::list, m_.now_ps, cost_ps), r, EventKind::begin, 0);
    return false;
}

// As compile_tasks() makes them of the lanes that the card reaches.
std::int64_t Cpus::lists_of(std::uint32_t r) {
    SimulatedRank& rank = m_.ranks[r];
    std::int64_t lists = 0;
    const auto count = [&](std::uint32_t peer) {
        lists += has_card(m_.is_inside(r, peer)) ? 1 : 0;
    };
    for (std::size_t i = 0; i < rank.structure->sends().lanes(); ++i)
        count(m_.ranks.to(rank, i).peer);
    const std::size_t from = rank.structure->recvs().lanes();
    if (!m_.nodes) return lists + static_cast<std::int64_t>(from);
    for (std::size_t i = 0; i < from; ++i) count(m_.ranks.source(m_.ranks.from(rank, i)).peer);
    return lists;
}

// The card handles a message.
std::int64_t Cpus::trigger(std::uint32_t r, Work work) {
    std::int64_t& free_ps = beside_[r].card_free_ps;
    const std::int64_t begin_ps = std::max(free_ps, m_.now_ps);
    free_ps = m_.later(begin_ps, m_.progress.trigger_ps);
    m_.record(r, Unit::card, work, begin_ps, free_ps);
    return free_ps;
}

// When the CPU that advances the collective begins with what it is asked for now.
std::int64_t Cpus::begin_beside(std::uint32_t r) {
    // It has not gone back to computing, or to sleep.
    const std::int64_t idle_ps = m_.ranks[r].cpu_free_ps;
    if (idle_ps >= m_.now_ps) return idle_ps;
    if (m_.progress.has_own_core()) return m_.later(m_.now_ps, m_.progress.wake_ps);
    if (m_.progress.by == Progress::By::thread) return wake_on_host(r, idle_ps);
    return beside_[r].left_ps == 0 ? m_.now_ps : look(r, idle_ps);
}

// The host computes until the thread is woken.
std::int64_t Cpus::wake_on_host(std::uint32_t r, std::int64_t idle_ps) {
    std::int64_t& left_ps = beside_[r].left_ps;
    const std::int64_t computed_ps =
        steps_until(r, idle_ps, m_.now_ps, std::min(m_.now_ps - idle_ps, left_ps),
                    [](std::int64_t done_ps) { return done_ps; });
    left_ps -= computed_ps;
    const std::int64_t from_ps = std::max(work_of_host(r, idle_ps, computed_ps), m_.now_ps);
    add_cpu_time(r, m_.progress.wake_ps);
    return work_of_host(r, from_ps, m_.progress.wake_ps);
}

// The host computes, and looks from time to time, until it sees what has happened.
std::int64_t Cpus::look(std::uint32_t r, std::int64_t idle_ps) {
    std::int64_t& left_ps = beside_[r].left_ps;
    const std::int64_t poll_ps = m_.progress.poll_ps == 0 ? left_ps : m_.progress.poll_ps;
    const std::int64_t step_ps = poll_ps + m_.progress.look_ps;
    const auto computed_by = [&](std::int64_t looks) { return std::min(looks * poll_ps, left_ps); };
    // The last part may be shorter.
    const auto looking_by = [&](std::int64_t looks) {
        const std::int64_t parts = (computed_by(looks) + poll_ps - 1) / poll_ps;
        return model::times(parts, m_.progress.look_ps);
    };
    const auto cost_of = [&](std::int64_t looks) {
        return std::min(computed_by(looks) + looking_by(looks), time_max_ps);
    };
    const std::int64_t looks =
        steps_until(r, idle_ps, m_.now_ps, (m_.now_ps - idle_ps + step_ps - 1) / step_ps, cost_of);
    const std::int64_t cost_ps = cost_of(looks);
    add_cpu_time(r, looking_by(looks));
    left_ps -= computed_by(looks);
    return std::max(work_of_host(r, idle_ps, cost_ps), m_.now_ps);
}

}  // namespace weft::simulate
