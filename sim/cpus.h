// Who advances the collective on each rank: its CPU, a core that ranks share, a thread, or a card;
// with late starts and noise, and beside what the rank computes (Progress).
// Thread safety: none.
#pragma once

#include <vector>

#include "sim/machine_state.h"

namespace weft::simulate {

class Cpus {
  public:
    explicit Cpus(MachineState& machine) : m_(machine) {}

    // Once all ranks are added: pushes their begins.
    void prepare();

    // A rank begins. False: its card gets lists first, and it begins again.
    bool begin(std::uint32_t r) { return beside_.empty() || begin_beside_computing(r); }

    // Adds work to the CPU, or to the card; when it ends. The CPU did `done_ps` of it before now,
    // if it was free.
    std::int64_t compute(std::uint32_t r, Work work, std::int64_t cost_ps, bool inside = false,
                         std::int64_t done_ps = 0) {
        if (!cores_.empty() || !beside_.empty()) [[unlikely]]
            return compute_beside(r, work, cost_ps, inside, done_ps);
        const std::int64_t begin_ps = std::max(m_.ranks[r].cpu_free_ps, m_.now_ps - done_ps);
        return work_from(r, work, begin_ps, cost_ps);
    }

    bool has_card(bool inside) const {
        return m_.progress.by == Progress::By::offload && (!inside || m_.nodes->has_card_inside);
    }

    // When all has happened: each rank's times.
    void finish(LogGpOutcome& outcome);

  private:
    // What a rank has beside the CPU that advances the collective.
    struct BesideRank {
        std::int64_t start_ps = 0;
        std::int64_t card_free_ps = 0;
        std::int64_t left_ps = 0;  // to compute
        // On a core that ranks share: when nothing was left, and for how long the core had nothing
        // to do until then, and until the rank's last work there.
        std::int64_t computed_ps = 0;
        std::int64_t idle_computed_ps = 0;
        std::int64_t idle_worked_ps = 0;
        bool has_begun = false;
    };

    static constexpr std::uint32_t no_rank = 0xffffffffu;

    // That ranks share.
    struct SharedCore {
        std::int64_t free_ps = 0;
        std::int64_t idle_ps = 0;                   // until then, beside computations
        std::uint32_t rank = no_rank;               // for which it worked last
        std::vector<std::uint32_t> computing = {};  // ranks that have something left to compute
    };

    std::int64_t work_from(std::uint32_t r, Work work, std::int64_t begin_ps,
                           std::int64_t cost_ps) {
        SimulatedRank& rank = m_.ranks[r];
        add_cpu_time(r, cost_ps);
        rank.cpu_free_ps = m_.later(begin_ps, cost_ps);
        if (m_.has_noise) [[unlikely]]
            rank.cpu_free_ps = after_noise(r, core_of(r), begin_ps, cost_ps);
        m_.record(r, Unit::cpu, work, begin_ps, rank.cpu_free_ps);
        return rank.cpu_free_ps;
    }
    void add_cpu_time(std::uint32_t r, std::int64_t cost_ps) {
        m_.ranks[r].cpu_ps = std::min(m_.ranks[r].cpu_ps + cost_ps, time_max_ps);
    }
    [[gnu::noinline]] std::int64_t after_noise(std::uint32_t r, Rank core, std::int64_t begin_ps,
                                               std::int64_t cost_ps);
    [[gnu::noinline]] std::int64_t compute_beside(std::uint32_t r, Work work, std::int64_t cost_ps,
                                                  bool inside, std::int64_t done_ps);
    std::int64_t compute_on_core(std::uint32_t r, Work work, std::int64_t cost_ps,
                                 std::int64_t done_ps);
    void take_from_computing(std::uint32_t r, SharedCore& core);
    void compute_until(SharedCore& core, std::int64_t until_ps);

    bool begin_beside_computing(std::uint32_t r);
    std::int64_t lists_of(std::uint32_t r);
    std::int64_t trigger(std::uint32_t r, Work work);
    std::int64_t begin_beside(std::uint32_t r);
    std::int64_t wake_on_host(std::uint32_t r, std::int64_t idle_ps);
    std::int64_t look(std::uint32_t r, std::int64_t idle_ps);

    std::int64_t work_of_host(std::uint32_t r, std::int64_t begin_ps, std::int64_t cost_ps);
    template <class CostOf>
    std::int64_t steps_until(std::uint32_t r, std::int64_t begin_ps, std::int64_t until_ps,
                             std::int64_t most, CostOf cost_of) const;

    std::int64_t end_of_computing(std::uint32_t r);
    std::int64_t waiting_ps(std::uint32_t r, std::int64_t end_ps, std::int64_t computed_ps) const;

    SharedCore& shared_core(std::uint32_t r) { return cores_[r % cores_.size()]; }
    // Whose noise the CPU that advances the collective has: a core of a thread's own has its own.
    Rank core_of(std::uint32_t r) const {
        return static_cast<Rank>(m_.progress.has_own_core() ? m_.ranks.size() + r : r);
    }

    MachineState& m_;
    std::vector<BesideRank> beside_;          // by rank, unless progress is plain
    std::vector<std::int64_t> disturbed_ps_;  // by rank, if there is a disturbance
    std::vector<SharedCore> cores_;           // if ranks share them
};

}  // namespace weft::simulate
