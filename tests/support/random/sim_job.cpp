#include "support/random/sim_job.h"

#include <algorithm>
#include <list>
#include <memory>
#include <numeric>
#include <sstream>
#include <vector>

#include "lab/sim/sim.h"
#include "lab/wrap/forwarding.h"
#include "support/fiber.h"
#include "support/random/process_calls.h"
#include "support/random/rank_run.h"
#include "support/random/settings.h"

namespace weft::test::random {
namespace {

constexpr std::uint64_t first_made_context = 3;  // of communicators that the program makes
constexpr const char* notices = "(context 0,";   // always awaited: a communicator broke
constexpr std::size_t planted_bytes_min = 100;

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

class SimCalls final : public ProcessCalls {
  public:
    SimCalls(Process& process, End& end) : ProcessCalls(process), end_(end) {}

    void run_in(Fiber* fiber) { fiber_ = fiber; }
    bool take_computed() { return std::exchange(computed_, false); }

    weft_status set_engine(weft_engine) override { return WEFT_OK; }  // the others have threads
    int64_t deadline(int64_t) override { return 0; }
    void compute(int amount) override {
        for (int turns = 1 + amount / 2000; turns > 0; --turns) {
            computed_ = true;
            fiber_->pause();
        }
    }

  protected:
    void begin_call(bool blocks) override { end_.begin_call(blocks); }
    void end_call() override { end_.end_call(); }

  private:
    End& end_;
    Fiber* fiber_ = nullptr;
    bool computed_ = false;
};

struct Member {
    End* end = nullptr;
    std::unique_ptr<Process> process;
    std::unique_ptr<SimCalls> calls;
    std::unique_ptr<RankRun> run;
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
    SimJob(const Case& c, const Program& program, Plant plant)
        : network_(c.ranks, c.seed, options_of(c.seed)),
          random_(c.seed ^ 0x5eed),
          entered_(barriers_of(program, c.ranks)) {
        const Settings settings = Settings::of(c);
        const RunOptions options{.algorithms_forced = !settings.forced.empty(),
                                 .may_poll = false,
                                 .plant = plant == Plant::operation,
                                 .entered = &entered_};
        for (Rank rank = 0; rank < c.ranks; ++rank) {
            Member& m = members_.emplace_back();
            auto end = std::make_unique<End>(network_, rank, plant);
            m.end = end.get();
            Process::Parts parts;
            parts.rank = rank;
            parts.ranks = c.ranks;
            parts.routes.assign(static_cast<std::size_t>(c.ranks), end.get());
            parts.transports.push_back(std::move(end));
            parts.settings.selector = settings.selector();
            parts.checks_calls = settings.checks_calls;
            parts.engine.kind = EngineKind::manual;
            m.process = std::make_unique<Process>(std::move(parts));
            m.calls = std::make_unique<SimCalls>(*m.process, *m.end);
            m.run = std::make_unique<RankRun>(*m.calls, c, program, options);
            m.fiber = std::make_unique<Fiber>([run = m.run.get()] { run->run(); });
            m.end->run_in(m.fiber.get());
            m.calls->run_in(m.fiber.get());
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
                m.fiber->resume();
                moved |= m.calls->take_computed() || m.fiber->has_ended();
            } else {
                Engine::Hold hold(m.process->engine());
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
            if (failure_.empty()) failure_ = m.run->wrong();
        }
        if (failure_.empty() && hangs) {
            failure_ = "nothing moves any more; ranks are in";
            for (const Member& m : members_) {
                if (!m.fiber->has_ended()) failure_ += "\n  " + m.run->where();
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

    SimNetwork network_;
    Prng random_;
    std::map<BarrierName, std::atomic<int>> entered_;
    std::vector<Member> members_;
    std::string failure_;
};

}  // namespace

Outcome run_simulated(const Case& c, Plant plant) {
    const Program program = generate(c);
    SimJob job(c, program, plant);
    std::string failure = job.run();
    return {std::move(failure), operations_of(program), job.history()};
}

}  // namespace weft::test::random
