// In every repetition, for every member, each after a barrier:
//   work       the fixed work alone, without an engine's thread in the process
//   blocking   the operation, waited for at once
//   the overlapped run: start, the work (with what the scenario wants for progress), wait
// Where nobody computes, the blocking run is all. Members take turns within a repetition, in an
// order drawn anew, because the machine's speed may change from one second to the next. Every turn
// begins with an operation that is not measured: a library that has more turns than another would
// find its memory in the cache, and its engine's thread awake, more often.
//
// After Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking
// Collective Operations for MPI, 2007, section 4, doi:10.1145/1362622.1362692
#include "bench/run/contest.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "base/clock.h"
#include "base/random.h"
#include "bench/allocations.h"
#include "bench/player/player.h"
#include "bench/run/computation.h"
#include "bench/run/core_time.h"
#include "bench/run/fibers.h"
#include "bench/run/timer.h"
#include "bench/sizes.h"
#include "bench/sleep.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

constexpr int repetitions_min = 6;  // of which there is an interval

// One repetition on one rank, in microseconds; in the order of `columns`.
struct Times {
    void count_cpu_since(const CpuTime& begin) {
        const CpuTime now = cpu_time();
        user = now.user - begin.user;
        system = now.system - begin.system;
        cpu = user + system;
    }

    double blocking = 0;
    double work = 0;
    double start = 0;
    double tests = 0;
    double wait = 0;
    double total = 0;
    double cpu = 0;    // of all threads of the process
    double begun = 0;  // moments since the beginning of the contest: right before the start,
    double done = 0;   // ... and after the wait
    double allocations = std::nan("");  // of the start: a number
    double core = std::nan("");         // time that a process of lowest priority lost on this core
    double delivery = std::nan("");     // of the last rank: from the last start to its end
    double user = 0;                    // the parts of cpu
    double system = 0;
    double unexpected = std::nan("");  // a number of messages
    double test_calls = 0;             // how many tests there were, in the time `tests`
};
constexpr const char* columns[] = {
    "blocking", "work",        "start", "tests",    "wait", "total",  "cpu",        "begun",
    "done",     "allocations", "core",  "delivery", "user", "system", "unexpected", "test_calls"};
static_assert(sizeof(Times) == std::size(columns) * sizeof(double));

double rounded(double us) { return std::round(us * 1000) / 1000; }

class Member {
  public:
    Member(const Run& run, const Cell& its_cell) : cell(its_cell) {
        std::string why;
        if (cell.progress.kind == Progress::Kind::fiber)
            why = fiber_absence(run.world, cell.progress);
        if (cell.compute.what == Compute::What::spinner && why.empty())
            why = core_time_absence(run.world);
        if (why.empty()) player = make_player(cell, run.world, why);
        if (player && cell.call == CallForm::first && !player->renew()) {
            player.reset();
            why = "it has no communicator of its own that could be made anew for each call";
        }
        if (!player) {
            if (run.world.rank == 0)
                run.samples.write({{"kind", "missing"},
                                   {"scenario", cell.scenario},
                                   {"member", cell.member},
                                   {"why", why}});
            return;
        }
        const Job job = player->job(run.world);
        for (const std::string& name : cell.collectives) {
            collectives_.push_back(*find_collective(name));
            cases_.push_back(make_case(job, *collectives_.back(), cell.bytes));
        }
    }

    // Before an operation: its data, and a communicator, if each operation has a new one.
    void prepare(const Job& world, std::uint64_t seed) {
        if (cell.call == CallForm::first) {
            player->renew();
            for (Case& one : cases_) one.job = player->job(world);
        }
        for (std::size_t i = 0; i < cases_.size(); ++i) collectives_[i]->fill(cases_[i], seed);
    }
    void start() {
        for (std::size_t i = 0; i < cases_.size(); ++i) {
            if (cell.call == CallForm::blocking)
                player->call(*collectives_[i], cases_[i]);
            else
                player->start(*collectives_[i], cases_[i]);
        }
    }
    void check() {
        for (std::size_t i = 0; i < cases_.size(); ++i) verify(*collectives_[i], cases_[i]);
    }

    const Cell& cell;
    std::unique_ptr<Player> player;
    double resident_kib = 0;     // of the process after its first operations: the largest rank's
    std::vector<double> totals;  // rank 0: by repetition, the slowest rank's

  private:
    std::vector<const Collective*> collectives_;
    std::deque<Case> cases_;
};

class Runner {
  public:
    Runner(const Run& run, const Contest& contest, double budget_s)
        : run_(run),
          contest_(contest),
          place_(contest.cells[0]),
          watch_(place_.timer),
          end_ns_(now_ns() + static_cast<std::int64_t>(budget_s * 1e9)) {
        for (const Cell& cell : contest.cells) {
            auto member = std::make_unique<Member>(run, cell);
            if (!member->player) continue;
            if (cell.is_of_mpi() && mpi_ == nullptr) mpi_ = member->player.get();
            members_.push_back(std::move(member));
        }
        if (place_.nodes > 0 && place_.bytes > 4096)
            burst_.emplace(2 * burst_bytes() * static_cast<std::size_t>(run.world.ranks));
    }

    double run() {
        if (members_.empty()) return left_s();
        calibrate();
        describe();
        Prng order_seed(run_.seed * 1'000'003 + static_cast<std::uint64_t>(place_.contest));
        std::vector<std::size_t> order(members_.size());
        std::iota(order.begin(), order.end(), 0);
        int number = 0;
        for (int i = 0; i < contest_.repetitions; ++i) {
            for (std::size_t k = order.size(); k > 1; --k)
                std::swap(order[k - 1], order[order_seed.below(k)]);
            for (const std::size_t one : order) write(*members_[one], i, number++);
            run_.progress(static_cast<double>(i + 1) / contest_.repetitions, doing());
            if (is_enough(i + 1)) break;
        }
        return left_s();
    }

  private:
    std::string doing() const {
        return place_.scenario + ": " + place_.collective() +
               (place_.bytes > 1 ? " " + size_text(place_.bytes) : "");
    }
    double left_s() const { return std::max(0.0, static_cast<double>(end_ns_ - now_ns()) * 1e-9); }
    bool computes(const Cell& cell) const {
        return cell.compute.who.holds(run_.world.rank, cell.late.who);
    }
    // Whether any rank does; where nobody does, there is nothing to overlap with.
    static bool is_overlapped(const Cell& cell) {
        return cell.compute.who.kind != Ranks::Kind::none;
    }

    // The library that ran last has an advantage, and ranks leave one library's barrier closer
    // together than the other's. So both may be called, in alternating order.
    void barrier() {
        const auto ours = [&] { must(weft_barrier(run_.world.comm), "weft_barrier"); };
        const bool both = place_.barrier == BarrierOf::both;
        if (mpi_ == nullptr || place_.barrier == BarrierOf::ours) return ours();
        is_mpi_last_ = !is_mpi_last_;
        if (both && is_mpi_last_) ours();
        mpi_->barrier();
        if (both && !is_mpi_last_) ours();
    }

    std::size_t burst_bytes() const {
        constexpr std::size_t of_a_link = 128 << 10;
        return of_a_link * static_cast<std::size_t>(place_.link.links);
    }
    // After a pause a rate limit lets a burst through at once. Every run begins without one.
    void use_up_burst() {
        if (!burst_) return;
        must(weft_barrier(run_.world.comm), "weft_barrier");
        must(weft_alltoall(burst_->data(), burst_->data() + burst_->size() / 2, burst_bytes(),
                           WEFT_BYTE, run_.world.comm),
             "weft_alltoall");
    }

    // The same for all members of a repetition.
    double late_us(const Cell& cell, int repetition) const {
        if (!cell.late.who.holds(run_.world.rank, cell.compute.who)) return 0;
        using Distribution = Late::Distribution;
        if (cell.late.distribution == Distribution::constant) return cell.late.us;
        Prng prng(run_.seed + static_cast<std::uint64_t>(repetition) * 7919 +
                  static_cast<std::uint64_t>(run_.world.rank) * 104'729 +
                  static_cast<std::uint64_t>(place_.contest) * 1'299'709);
        const double drawn = static_cast<double>(prng.below(1 << 30) + 1) / (1 << 30);
        return cell.late.distribution == Distribution::uniform ? cell.late.us * drawn
                                                               : -cell.late.us * std::log(drawn);
    }

    // A sleeping rank leaves its core to others; short times need a loop.
    static void pause(double us) {
        const std::int64_t end = now_ns() + static_cast<std::int64_t>(us * 1000);
        if (us >= 1000) sleep_until(end);
        while (now_ns() < end) {
        }
    }

    void compute(Member& member, Times& times) {
        const Progress& progress = member.cell.progress;
        if (!computes(member.cell)) return;
        if (progress.kind == Progress::Kind::until) {
            double tested = watch_.us();
            do {
                work_.run();
                tested = watch_.us();
            } while (!member.player->test());
            times.tests += watch_.us() - tested;  // the last one
            times.test_calls = 1;
            return;
        }
        if (progress.repeats) {
            do {
                work_.run();
                yield_fiber();
            } while (!has_ended_);
            return;
        }
        const std::int64_t pieces =
            progress.kind == Progress::Kind::tests   ? progress.number + 1
            : progress.kind == Progress::Kind::bytes ? member.cell.bytes / progress.number + 1
            : progress.kind == Progress::Kind::fiber && !progress.timer && !progress.arrival ? 20
                                                                                             : 1;
        bool is_pending = true;
        for (int i = 0; i < pieces; ++i) {
            work_.run(i, static_cast<int>(pieces));
            if (i + 1 == pieces) break;
            if (progress.kind == Progress::Kind::fiber) {
                yield_fiber();
            } else if (is_pending) {
                const double begin = watch_.us();
                is_pending = !member.player->test();
                times.tests += watch_.us() - begin;
                ++times.test_calls;
            }
        }
    }

    Times operate(Member& member, bool is_overlapped, double late) {
        if (!is_overlapped || member.cell.progress.kind != Progress::Kind::fiber)
            return operate_here(member, is_overlapped, late);
        Times times;
        run_as_fiber(member.cell.progress,
                     [&] { times = operate_here(member, is_overlapped, late); });
        return times;
    }

    // One operation.
    Times operate_here(Member& member, bool is_overlapped, double late) {
        Times times;
        member.prepare(run_.world, ++fill_seed_);
        use_up_burst();
        barrier();
        const double unexpected = member.player->unexpected_messages();
        if (late > 0) pause(late);
        const CpuTime cpu = cpu_time();
        const std::uint64_t allocations_begin = allocations();
        const double begin = watch_.us();
        member.start();
        times.start = watch_.us() - begin;
        if (counts_allocations())
            times.allocations = static_cast<double>(allocations() - allocations_begin);
        double waiting = begin + times.start;
        if (!is_overlapped) {
            member.player->wait();
        } else if (member.cell.progress.kind == Progress::Kind::fiber) {
            has_ended_ = false;
            const auto wait = [&] {
                member.player->wait();
                has_ended_ = true;
            };
            compute_beside_wait(member.cell.progress, wait, [&] {
                compute(member, times);
                waiting = watch_.us();
            });
        } else {
            compute(member, times);
            waiting = watch_.us();
            member.player->wait();
        }
        const double end = watch_.us();
        times.wait = end - waiting;
        times.total = end - begin;
        times.count_cpu_since(cpu);
        times.unexpected = member.player->unexpected_messages() - unexpected;
        times.begun = begin - origin_us_;
        times.done = end - origin_us_;
        member.check();
        return times;
    }

    // The same while a process of lowest priority uses what this core has left.
    Times operate_beside_spinner(Member& member) {
        Times times;
        member.prepare(run_.world, ++fill_seed_);
        const CoreTime core = measure_core_time(run_.world, work_us_, [&] {
            const double begin = watch_.us();
            const CpuTime cpu = cpu_time();
            member.start();
            times.start = watch_.us() - begin;
            work_.run();
            const double waiting = watch_.us();
            member.player->wait();
            times.wait = watch_.us() - waiting;
            times.total = watch_.us() - begin;
            times.count_cpu_since(cpu);
        });
        times.core = core.lost;
        member.check();
        return times;
    }

    double time_of_work() {
        barrier();
        const double begin = watch_.us();
        work_.run();
        return watch_.us() - begin;
    }

    Times repetition(Member& member, int number) {
        const Cell& cell = member.cell;
        const bool overlaps = is_overlapped(cell);
        const double alone =
            overlaps && computes(cell) ? time_of_work() : (overlaps ? (barrier(), 0.0) : 0.0);
        member.player->enter();
        operate(member, false, 0);  // not measured
        Times times;
        if (overlaps) {
            const double blocking = operate(member, false, 0).total;
            times = cell.compute.what == Compute::What::spinner
                        ? operate_beside_spinner(member)
                        : operate(member, true, late_us(cell, number));
            times.blocking = blocking;
            times.work = alone;
        } else {
            times = operate(member, false, late_us(cell, number));
            times.blocking = times.total;
        }
        member.player->leave();
        return times;
    }

    void calibrate() {
        // Enough to go through all pages of a ring in shared memory.
        constexpr std::int64_t warm_bytes = 8 << 20;
        const auto warm_ups =
            std::clamp<std::int64_t>(warm_bytes / std::max<std::int64_t>(place_.bytes, 1), 4, 128);
        constexpr double warm_up_us = 500'000;
        constexpr double pilots_us = 200'000;
        const Compute& wanted = place_.compute;
        const double step_us = Computation::calibrate_step_us(run_.world, wanted.what);
        double blocking_us = 0;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            Member& member = *members_[i];
            member.player->enter();
            // The first ones build schedules, open connections and touch pages. All members get
            // the same: connections become faster with use.
            double us = 0;
            const auto warm_up = [&](std::int64_t times) {
                for (std::int64_t k = 0; k < times; ++k) us = operate(member, false, 0).total;
                us = std::max(slowest(run_.world, us), 1.0);
            };
            warm_up(4);
            warm_up(std::min(warm_ups, static_cast<std::int64_t>(warm_up_us / us)) - 4);
            std::vector<double> samples;
            const int pilots = static_cast<int>(std::clamp(pilots_us / us, 3.0, 11.0));
            for (int k = 0; k < pilots; ++k) samples.push_back(operate(member, false, 0).total);
            member.resident_kib = slowest(run_.world, resident_kib());
            member.player->leave();
            if (i == 0) blocking_us = std::max(slowest(run_.world, median(samples)), 1.0);
        }
        if (!is_overlapped(place_)) return;
        work_us_ = wanted.us > 0 ? wanted.us : wanted.factor * blocking_us;
        if (wanted.what == Compute::What::spinner) work_us_ = 1.5 * work_us_ + 1000;
        work_ = Computation(wanted.what, work_us_, step_us);
    }

    void describe() {
        const std::string over = transports_in_use(run_.world);
        origin_us_ = watch_.us();
        must(weft_bcast(&origin_us_, sizeof origin_us_, WEFT_BYTE, 0, run_.world.comm),
             "weft_bcast");
        if (run_.world.rank != 0) return;
        for (const auto& member : members_) {
            Json line = sample_json(member->cell);
            line["transport"] = over;
            line["work_iterations"] = work_.steps();
            line["timer_ns"] = rounded(watch_.cost_ns());
            line["resident_kib"] = member->resident_kib;
            line["columns"] = columns;
            run_.samples.write(line);
        }
    }

    void write(Member& member, int number, int order) {
        std::vector<Times> all = gather(run_.world, std::vector<Times>{repetition(member, number)});
        if (run_.world.rank != 0) return;
        double last_begun = 0;
        for (const Times& times : all) last_begun = std::max(last_begun, times.begun);
        all.back().delivery = all.back().done - last_begun;
        Json ranks = Json::array();
        double total = 0;
        for (const Times& times : all) {
            total = std::max(total, times.total);
            Json row = Json::array();
            const double* value = &times.blocking;
            for (std::size_t i = 0; i < std::size(columns); ++i) row.push_back(rounded(value[i]));
            ranks.push_back(row);
        }
        member.totals.push_back(total);
        run_.samples.write({{"kind", "sample"},
                            {"cell", member.cell.id},
                            {"repetition", number},
                            {"order", order},
                            {"ranks", ranks}});
    }

    // Rank 0 decides for all.
    bool is_enough(int done) {
        if (done < repetitions_min) return false;
        unsigned char enough = 0;
        if (run_.world.rank == 0) {
            enough = now_ns() > end_ns_ ? 1 : 0;
            enough |= contest_.until > 0 && done >= 10 &&
                      std::ranges::all_of(members_, [&](const auto& member) {
                          const Interval interval = median_interval(member->totals);
                          return interval.high - interval.low <=
                                 2 * contest_.until * median(member->totals);
                      });
        }
        must(weft_bcast(&enough, 1, WEFT_BYTE, 0, run_.world.comm), "weft_bcast");
        return enough != 0;
    }

    const Run& run_;
    const Contest& contest_;
    const Cell& place_;
    const Stopwatch watch_;
    const std::int64_t end_ns_;
    std::vector<std::unique_ptr<Member>> members_;
    Player* mpi_ = nullptr;
    bool is_mpi_last_ = false;
    std::optional<PageBuffer> burst_;
    Computation work_;
    double work_us_ = 0;
    double origin_us_ = 0;
    std::uint64_t fill_seed_ = 0;
    bool has_ended_ = false;  // the wait beside which a fiber computes
};

}  // namespace

double measure(const Run& run, const Contest& contest, double budget_s) {
    return Runner(run, contest, budget_s).run();
}

}  // namespace weft::bench
