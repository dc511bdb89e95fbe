#include "support/random/sim_job.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <numeric>
#include <sstream>
#include <vector>

#include "base/clock.h"
#include "engine/user_threads.h"
#include "lab/sim/sim.h"
#include "lab/wrap/forwarding.h"
#include "support/fiber.h"
#include "support/in_call.h"
#include "support/random/process_calls.h"
#include "support/random/rank_run.h"
#include "support/random/settings.h"
#include "support/world.h"

namespace weft::test::random {
namespace {

constexpr std::uint64_t first_made_context = 3;  // of communicators that the program makes
constexpr const char* notices = "(context 0,";   // always awaited: a communicator broke
constexpr std::size_t planted_bytes_min = 100;
constexpr std::size_t fibers_per_rank = 8;

struct Held {
    Held(SimNetwork& network, Rank rank) : sim(network, rank) {}
    SimTransport sim;
};

// A rank's end of the network. While the rank waits, a poll that brings nothing passes the turn to
// others.
class End : private Held, public ForwardingTransport {
  public:
    End(SimNetwork& network, Rank rank, Plant plant)
        : Held(network, rank),
          ForwardingTransport(sim),
          rank_(rank),
          ranks_(network.ranks()),
          plant_(plant) {}

    void run_in(Fiber* fiber) { fiber_ = fiber; }
    void begin_call(bool blocks) { blocks_ = blocks; }
    void end_call() { blocks_ = second_look_ = false; }

    // From now on every peer looks dead, so that a rank that waits for one gives up.
    void cut() { cut_ = true; }
    // Whether the rank has done anything since the last call.
    bool take_moved() { return std::exchange(moved_, false); }

    Posted post_send(const Lane& lane, Bytes data, Token token) override {
        if (second_look_) return Posted::busy;
        if (lane.stream.context() >= first_made_context && data.size() >= planted_bytes_min) {
            if (plant_ == Plant::lost) return Posted::done;
            if (plant_ == Plant::corrupted) {
                std::vector<std::byte>& copy = copies_.emplace_back(data.begin(), data.end());
                copy[0] ^= std::byte{1};
                data = copy;
            }
        }
        moved_ = true;  // also when it is busy: it will try again
        return inner_.post_send(lane, data, token);
    }
    Posted receive(const Lane& lane, MutBytes data, const Combination* combination,
                   Token token) override {
        if (second_look_) return Posted::busy;
        moved_ = true;
        return ForwardingTransport::receive(lane, data, combination, token);
    }
    std::size_t poll(std::span<Completion> done) override {
        if (second_look_) return 0;
        if (std::size_t n = look(done)) return n;
        if (!blocks_) return 0;
        fiber_->pause();
        return look(done);
    }

    bool arm(Sleeper sleeper) override { return sleeper == Sleeper::none; }  // never sleeps
    // The engine looks a second time if, by the clock, it has not for a while. What it sees must
    // not depend on that.
    void acknowledge(Sleeper) override { second_look_ = !blocks_; }

  private:
    std::size_t look(std::span<Completion> done) {
        std::size_t n = inner_.poll(done);
        for (; cut_ && n < done.size() && told_ < ranks_; ++told_) {
            if (told_ != rank_) done[n++] = {{}, WEFT_BROKEN_RANK, told_};
        }
        moved_ |= n > 0;
        return n;
    }

    Rank rank_;
    Rank ranks_;
    Plant plant_;
    Fiber* fiber_ = nullptr;
    bool blocks_ = false;
    bool second_look_ = false;
    bool cut_ = false;
    bool moved_ = false;
    Rank told_ = 0;
    std::list<std::vector<std::byte>> copies_;
};

class SimCalls : public ProcessCalls {
  public:
    SimCalls(Process& process, End& end) : ProcessCalls(process), end_(end) {}

    void run_in(Fiber* fiber) { fiber_ = fiber; }
    bool take_computed() { return std::exchange(computed_, false); }

    weft_status set_engine(weft_engine) override { return WEFT_OK; }  // the others have threads
    int64_t deadline(int64_t) override { return 0; }
    void compute(int amount) override {
        for (int turns = 1 + amount / 2000; turns > 0; --turns) {
            computed_ = true;
            pause();
        }
    }

  protected:
    void begin_call(bool blocks) override { end_.begin_call(blocks); }
    void end_call() override { end_.end_call(); }
    virtual void pause() { fiber_->pause(); }

    End& end_;

  private:
    Fiber* fiber_ = nullptr;
    bool computed_ = false;
};

// Several user-level threads of a rank. Its fiber runs them: each that is ready in turn; when all wait it sleeps, and
// others have their turns.
class SimThreads {
  public:
    SimThreads(Process& process, End& end) : process_(process), end_(end) {}

    void add(std::function<void()> body) {
        all_.push_back(std::make_unique<Fiber>(std::move(body)));
        ready_.push_back(all_.back().get());
    }
    // The rank's fiber has its turn.
    void resume(Fiber& fiber) {
        UserThreads::attached = &threads_;
        fiber.resume();
        UserThreads::attached = nullptr;
    }

    // In the rank's fiber, until all have ended.
    void run(Fiber& fiber) {
        while (std::ranges::any_of(all_, [](const auto& one) { return !one->has_ended(); })) {
            for (std::size_t left = ready_.size(); left > 0; --left) {
                current_ = ready_.front();
                ready_.pop_front();
                current_->resume();
                current_ = nullptr;
            }
            if (!ready_.empty()) {
                look();
                fiber.pause();
            } else if (threads_.has_waits()) {
                end_.begin_call(/*blocks=*/true);
                process_.engine().sleep_for(threads_);
                end_.end_call();
            }
        }
    }
    // In one of them: the others run, and time passes.
    void yield() {
        ready_.push_back(current_);
        current_->pause();
    }

  private:
    void suspend() {
        end_.end_call();
        current_->pause();
        end_.begin_call(/*blocks=*/false);
    }
    // Once; the clock says when it may.
    void look() {
        while (!threads_.is_time_to_look(ticks())) cpu_relax();
        process_.engine().look_for(threads_);
        end_.end_call();
    }
    static SimThreads& of(void* state) { return *static_cast<SimThreads*>(state); }

    Process& process_;
    End& end_;
    std::vector<std::unique_ptr<Fiber>> all_;
    std::deque<Fiber*> ready_;
    Fiber* current_ = nullptr;
    UserThreads threads_{{
        .current = [](void* self) -> void* { return of(self).current_; },
        .suspend = [](void* self) { of(self).suspend(); },
        .resume = [](void* self,
                     void* thread) { of(self).ready_.push_back(static_cast<Fiber*>(thread)); },
        .yield = [](void* self) { of(self).yield(); },
        .spawn = nullptr,
        .state = this,
    }};
};

// Of a user-level thread, on a communicator of its own.
class SimThreadCalls final : public SimCalls {
  public:
    SimThreadCalls(Process& process, End& end, SimThreads& threads)
        : SimCalls(process, end), threads_(threads) {}

    // In the rank's fiber; collective.
    void make_world() { WEFT_ASSERT(comm_dup(SimCalls::world(), &world_) == WEFT_OK); }

    weft_comm world() override { return world_; }

  protected:
    void begin_call(bool blocks) override { end_.begin_call(blocks && world_ == WEFT_COMM_NULL); }
    void pause() override { threads_.yield(); }

  private:
    SimThreads& threads_;
    weft_comm world_ = WEFT_COMM_NULL;
};

struct Member {
    End* end = nullptr;
    std::unique_ptr<Process> process;
    std::vector<std::unique_ptr<SimCalls>> calls;
    std::vector<std::unique_ptr<RankRun>> runs;
    std::unique_ptr<SimThreads> threads;  // null: one run, in the rank's fiber
    std::unique_ptr<Fiber> fiber;
};

SimOptions options_of(std::uint64_t seed) {
    SimOptions options;
    options.buffering = static_cast<Buffering>(seed % 3);
    options.busy_one_in = seed % 4 == 0 ? 5 : 0;
    options.done_at_once = seed % 2 == 0;
    return options;
}

class SimJob {
  public:
    // Every rank runs the program; several: each in a user-level thread.
    SimJob(const Case& c, const std::vector<Program>& programs, Plant plant)
        : case_(c),
          programs_(programs),
          network_(c.ranks, c.seed, options_of(c.seed)),
          random_(c.seed ^ 0x5eed) {
        const Settings settings = Settings::of(c);
        for (const Program& program : programs) {
            entered_.push_back(barriers_of(program, c.ranks));
            options_.push_back({.algorithms_forced = !settings.forced.empty(),
                                .may_poll = false,
                                .plant = plant == Plant::operation,
                                .entered = &entered_.back()});
        }
        members_.reserve(static_cast<std::size_t>(c.ranks));
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            Member& m = members_.emplace_back();
            auto end = std::make_unique<End>(network_, rank, plant);
            m.end = end.get();
            Process::Parts parts;
            parts.rank = rank;
            parts.ranks = c.ranks;
            parts.routes.assign(static_cast<std::size_t>(c.ranks), end.get());
            parts.transports.push_back(std::move(end));
            parts.nodes = nodes_of(c.ranks, c.seed);
            if (!settings.torus.empty()) parts.torus.emplace(settings.torus);
            parts.settings.selector = settings.selector();
            parts.checks_calls = settings.checks_calls;
            parts.engine.kind = EngineKind::manual;
            m.process = std::make_unique<Process>(std::move(parts));
            if (programs.size() == 1) {
                m.calls.push_back(std::make_unique<SimCalls>(*m.process, *m.end));
                add_run(m);
                m.fiber = std::make_unique<Fiber>([run = m.runs[0].get()] { run->run(); });
                m.calls[0]->run_in(m.fiber.get());
            } else {
                m.threads = std::make_unique<SimThreads>(*m.process, *m.end);
                m.fiber = std::make_unique<Fiber>([this, &m] { run_threads(m); });
            }
            m.end->run_in(m.fiber.get());
        }
    }

    std::string run() {
        int still = 0;
        while (
            std::ranges::any_of(members_, [](const Member& m) { return !m.fiber->has_ended(); })) {
            still = turn() ? 0 : still + 1;
            WEFT_ASSERT(still < 1000);
            if (failure_.empty()) look_for_failure(still >= 3);
        }
        look_for_failure(false);
        return failure_;
    }

    std::uint64_t history() const { return network_.history_hash(); }

  private:
    // Of the last calls.
    void add_run(Member& m) {
        const std::size_t at = m.runs.size();
        m.runs.push_back(
            std::make_unique<RankRun>(*m.calls[at], case_, programs_[at], options_[at]));
    }

    // In the rank's fiber.
    void run_threads(Member& m) {
        for (std::size_t i = 0; i < programs_.size(); ++i) {
            auto calls = std::make_unique<SimThreadCalls>(*m.process, *m.end, *m.threads);
            calls->make_world();
            m.calls.push_back(std::move(calls));
            add_run(m);
            m.threads->add([run = m.runs[i].get()] { run->run(); });
        }
        m.threads->run(*m.fiber);
    }

    // Time passes, and every rank has its turn. False: nothing has moved.
    bool turn() {
        bool moved = network_.advance();
        std::vector<std::size_t> order(members_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t i = order.size(); i > 1; --i) {
            std::swap(order[i - 1], order[random_.below(i)]);
        }
        for (std::size_t i : order) {
            Member& m = members_[i];
            if (!m.fiber->has_ended()) {
                if (m.threads) {
                    m.threads->resume(*m.fiber);
                } else {
                    m.fiber->resume();
                }
                moved |= m.fiber->has_ended();
                for (const auto& calls : m.calls) moved |= calls->take_computed();
            } else {
                InCall in_call(m.process->engine());
                m.process->engine().progress();
                m.end->end_call();
            }
            moved |= m.end->take_moved();
        }
        return moved;
    }

    // Once something has gone wrong, makes the ranks give up.
    void look_for_failure(bool hangs) {
        for (const Member& m : members_) {
            for (const auto& run : m.runs) {
                if (failure_.empty()) failure_ = run->wrong();
            }
        }
        if (failure_.empty() && hangs) {
            failure_ = "nothing moves any more; ranks are in";
            for (const Member& m : members_) {
                if (m.fiber->has_ended()) continue;
                for (const auto& run : m.runs) failure_ += "\n  " + run->where();
            }
            failure_ += "\npending:";
            std::istringstream lines(network_.pending());
            for (std::string line; std::getline(lines, line);) {
                if (line.find(notices) == std::string::npos) failure_ += "\n  " + line;
            }
        }
        if (failure_.empty()) return;
        for (const Member& m : members_) m.end->cut();
    }

    const Case& case_;
    const std::vector<Program>& programs_;
    SimNetwork network_;
    Prng random_;
    std::deque<std::map<BarrierName, std::atomic<int>>> entered_;  // by program
    std::vector<RunOptions> options_;
    std::vector<Member> members_;
    std::string failure_;
};

}  // namespace

Outcome run_simulated(const Case& c, Plant plant) {
    std::vector<Program> programs = {generate(c)};
    if (c.transport == "sim_fibers") {
        Case other = c;
        other.keeps_all = true;
        while (programs.size() < fibers_per_rank) {
            ++other.seed;
            programs.push_back(generate(other));
        }
    }
    SimJob job(c, programs, plant);
    std::string failure = job.run();
    int operations = 0;
    for (const Program& program : programs) operations += operations_of(program);
    return {std::move(failure), operations, job.history()};
}

}  // namespace weft::test::random
