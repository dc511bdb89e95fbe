// Work on demand in a simulated shared memory: every order of every access, for small jobs.
//
// A model of a rank's engine and transport uses the protocol as they do; the words are simulated.
// Checked: who waits, and lacks only what ranks that sleep could do, gets it; and a rank works for
// others exactly while somebody waits for it. Protocols with a mistake must not pass.
#include "transport/shm/demand.h"

#include "support/explore.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::shm_demand_test {

using shm::Armed;
using shm::DemandWord;
using shm::Wait;
using Memory = Exploration::Memory;

using Protocol = shm::Demands<SimulatedAtomic>;

// A message of an operation. It is sent when its sender has started the operation and has got so
// many messages from another rank.
struct Message {
    std::size_t from, to;
    std::size_t operation;
    bool is_notice = false;
    struct Need {
        std::size_t from = 0, count = 0;
    } needs{};
};

// What the program of a rank does, one after the other.
struct Step {
    enum class Kind : std::uint8_t {
        start,
        wait,
        compute,  // some time; meanwhile the thread may be woken
    } kind;
    std::size_t operation = 0;
    // After a start: whether the rank must find itself undemanded.
    bool is_undemanded = false;
    bool is_at_once = false;  // before anybody else does something
};
constexpr Step start(std::size_t operation) { return {Step::Kind::start, operation}; }
constexpr Step start_undemanded(std::size_t operation) {
    return {Step::Kind::start, operation, true};
}
constexpr Step start_first(std::size_t operation) {
    return {.kind = Step::Kind::start, .operation = operation, .is_at_once = true};
}
constexpr Step wait(std::size_t operation) { return {Step::Kind::wait, operation}; }
constexpr Step compute() { return {Step::Kind::compute}; }

struct Job {
    std::vector<std::vector<Step>> programs;  // at the end of its program a rank computes for ever
    std::vector<Message> messages;            // between two ranks: in this order
};

// Where the words are.
class Words {
  public:
    explicit Words(std::size_t ranks) : ranks_(ranks) {}
    std::size_t armed(std::size_t rank) const { return rank; }
    std::size_t wait(std::size_t rank) const { return ranks_ + rank; }
    std::size_t bell(std::size_t rank, Sleeper sleeper) const {
        return (sleeper == Sleeper::thread ? 2 : 3) * ranks_ + rank;
    }
    std::size_t demand(std::size_t on, std::size_t by) const { return (4 + on) * ranks_ + by; }
    std::size_t written(std::size_t from, std::size_t to) const {
        return (4 + ranks_ + from) * ranks_ + to;
    }
    std::size_t count() const { return (4 + 2 * ranks_) * ranks_; }

  private:
    std::size_t ranks_;
};

// The protocol, its state included in a process's.
template <class P>
struct Open : P {
    using P::P;
    template <class Add>
    void digest(Add add) const {
        for (const auto& said : this->said_) {
            add(said.word);
            add(said.is_delivered);
        }
        add(this->cause_.rank);
        add(this->cause_.number);
        add(this->waits_);
        add(this->own_wait_);
        add(this->program_waits_);
    }
};

template <class P>
class ModelRank {
  public:
    ModelRank(const Job& job, std::size_t own)
        : job_(job), own_(own), ranks_(job.programs.size()), words_(ranks_) {
        std::vector<typename P::Board> boards(ranks_);
        words_of_.reserve(ranks_);
        for (std::size_t r = 0; r < ranks_; ++r) {
            auto& w = words_of_.emplace_back();
            w.armed = SimulatedAtomic<std::uint32_t>(words_.armed(r));
            w.wait = SimulatedAtomic<std::uint32_t>(words_.wait(r));
            for (std::size_t by = 0; by < ranks_; ++by)
                w.demands.emplace_back(words_.demand(r, by));
            boards[r] = {&w.armed, &w.wait, w.demands.data()};
        }
        demands_ = Open<P>(own, std::move(boards));
        written_.resize(ranks_);
        taken_.resize(ranks_);
        to_wake_.resize(ranks_);
    }

    void run() {
        for (const Step& step : job_.programs[own_]) {
            Exploration::end_at_once();
            ++step_;
            be_at(0);
            if (step.is_at_once) Exploration::begin_at_once();
            switch (step.kind) {
                case Step::Kind::start:
                    started_ |= std::size_t{1} << step.operation;
                    arm(Armed::nobody);
                    while (progress()) {
                    }
                    if (step.is_undemanded)
                        Exploration::check(!is_demanded(), "demanded, but nobody waits for it");
                    sleep_until_rung(false);
                    break;
                case Step::Kind::wait:
                    lead(step.operation);
                    sleep_until_rung(false);
                    break;
                case Step::Kind::compute:
                    while (Exploration::choose(2) == 1) sleep_until_rung(true);
                    break;
            }
        }
        Exploration::end_at_once();
        ++step_;
        while (true) sleep_until_rung(true);
    }

  private:
    void be_at(std::uint64_t place) {
        std::uint64_t hash = place + 1;
        auto add = [&](std::uint64_t value) {
            hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 31;
        };
        demands_.digest(add);
        add(step_);
        add(started_);
        add(sleeps_);
        for (std::size_t peer = 0; peer < ranks_; ++peer) {
            add(written_[peer]);
            add(taken_[peer]);
            add(static_cast<std::uint64_t>(to_wake_[peer]));
        }
        Exploration::is_at(hash);
    }
    struct BoardWords {
        SimulatedAtomic<std::uint32_t> armed, wait;
        std::vector<SimulatedAtomic<std::uint64_t>> demands;
    };
    static std::uint64_t position(std::size_t records) {
        return records * DemandWord::position_unit;
    }
    auto written() {
        return [this](std::size_t peer) { return position(written_[peer]); };
    }
    bool is_demanded() { return demands_.is_demanded(written()); }

    bool is_started(std::size_t operation) const { return started_ >> operation & 1; }
    const Message& message(std::size_t from, std::size_t to, std::size_t number) const {
        for (const Message& m : job_.messages)
            if (m.from == from && m.to == to && number-- == 0) return m;
        static constexpr Message none{};
        return none;
    }
    // Messages of operations that this rank has started and that have not come.
    bool lacks(std::size_t peer, std::size_t operation, bool any_operation) const {
        std::size_t left = taken_[peer];
        for (const Message& m : job_.messages) {
            if (m.from != peer || m.to != own_) continue;
            if (left > 0) {
                --left;
                continue;
            }
            if (any_operation ? is_started(m.operation) : m.operation == operation) return true;
        }
        return false;
    }
    bool has_all_of(std::size_t operation) const {
        for (std::size_t peer = 0; peer < ranks_; ++peer)
            if (lacks(peer, operation, false)) return false;
        return true;
    }

    // One message at most is sent: a transfer takes several calls. False: nothing moved.
    bool progress() {
        bool moved = false;
        for (std::size_t peer = 0; peer < ranks_; ++peer) {
            if (peer == own_) continue;
            const std::size_t now = Exploration::load(words_.written(peer, own_));
            moved |= now != taken_[peer];
            taken_[peer] = now;
        }
        for (std::size_t peer = 0; peer < ranks_; ++peer) {
            std::size_t number = 0;
            for (const Message& m : job_.messages) {
                if (m.from != own_ || m.to != peer || number++ < written_[peer]) continue;
                if (!is_started(m.operation) || taken_[m.needs.from] < m.needs.count) break;
                Exploration::store(words_.written(own_, peer), ++written_[peer],
                                   std::memory_order_seq_cst);
                to_wake_[peer] |= m.is_notice ? 2 : 1;
                return true;
            }
        }
        return moved;
    }

    void arm(Armed kind) {
        if (kind == Armed::nobody) {
            demands_.disarm();
        } else {
            demands_.arm(kind, ++sleeps_);
        }
    }
    void ring(std::size_t peer, Sleeper sleeper) {
        Exploration::exchange(words_.bell(peer, sleeper), 1);
    }
    void wake_peers() {
        for (std::size_t peer = 0; peer < ranks_; ++peer) {
            const int news = std::exchange(to_wake_[peer], 0);
            if (news == 0) continue;
            auto armed = static_cast<std::uint32_t>(Exploration::load(words_.armed(peer)));
            if (shm::armed_kind(armed) == Armed::nobody) continue;
            if (shm::armed_kind(armed) == Armed::thread_on_demand && (news & 2) == 0) continue;
            if (Exploration::compare_exchange(words_.armed(peer), armed, 0) == armed)
                ring(peer, shm::sleeper_of(armed));
        }
    }
    // Something has come that keeps a sleeper awake.
    bool sees(bool notices_only) {
        for (std::size_t peer = 0; peer < ranks_; ++peer) {
            if (peer == own_) continue;
            const std::size_t now = Exploration::load(words_.written(peer, own_));
            for (std::size_t i = taken_[peer]; i < now; ++i)
                if (!notices_only || message(peer, own_, i).is_notice) return true;
        }
        return false;
    }

    void demand_all(bool wakes) {
        for (std::size_t peer = 0; peer < ranks_; ++peer) {
            if (peer == own_) continue;
            if (!lacks(peer, 0, true))
                demands_.withdraw(peer);
            else if (demands_.demand(peer, position(taken_[peer]), wakes))
                ring(peer, Sleeper::thread);
        }
    }

    // The thread until its next sleep; `is_asleep`: first until it is woken. Also what a call of
    // the program does that leaves it to the thread.
    void sleep_until_rung(bool is_asleep) {
        if (is_asleep) {
            be_at(1);
            Exploration::sleep(words_.bell(own_, Sleeper::thread));
            arm(Armed::nobody);
        }
        while (true) {
            be_at(2);
            bool was_demanded = is_demanded();
            while (progress()) {
                if (!was_demanded) continue;
                was_demanded = is_demanded();
                Exploration::check(was_demanded || !owes(), "not demanded in mid-transfer");
            }
            const bool all_wakes =
                demands_.arm_on_demand(++sleeps_, written(), [this] { demand_all(true); });
            be_at(all_wakes ? 3 : 4);
            if (!sees(!all_wakes)) break;
            arm(Armed::nobody);
        }
        be_at(5);
        wake_peers();
    }
    // A message of the first operation is to be sent, to rank 0, which waits for it.
    bool owes() const {
        std::size_t owed = 0;
        for (const Message& m : job_.messages)
            owed += m.from == own_ && m.to == 0 && m.operation == 0;
        return own_ != 0 && written_[0] < owed;
    }

    void lead(std::size_t operation) {
        Exploration::must_end();
        arm(Armed::nobody);
        while (true) {
            be_at(6);
            while (progress()) {
            }
            if (has_all_of(operation)) break;
            be_at(7);
            demands_.begin_wait();
            demand_all(false);
            be_at(8);
            while (progress()) {
            }
            if (has_all_of(operation)) break;
            be_at(9);
            demand_all(true);
            arm(Armed::waiter);
            be_at(10);
            if (!sees(false)) {
                be_at(11);
                wake_peers();
                be_at(12);
                Exploration::sleep(words_.bell(own_, Sleeper::waiter));
            }
            arm(Armed::nobody);
        }
        demands_.end_wait();
        Exploration::may_end();
    }

    const Job& job_;
    std::size_t own_;
    std::size_t ranks_;
    Words words_;
    std::vector<BoardWords> words_of_;
    Open<P> demands_;
    std::size_t step_ = 0;
    std::size_t started_ = 0;
    std::vector<std::size_t> written_, taken_;
    std::vector<int> to_wake_;
    std::uint32_t sleeps_ = 0;
};

template <class P>
Exploration::Found explore(const Job& job, Memory memory) {
    Exploration::Scenario scenario;
    scenario.words = Words(job.programs.size()).count();
    scenario.memory = memory;
    for (std::size_t r = 0; r < job.programs.size(); ++r)
        scenario.processes.emplace_back([&job, r] { ModelRank<P>(job, r).run(); });
    return Exploration::run(scenario);
}

// Rank 0 waits for a large message of rank 1, which computes; it comes in two pieces.
const Job transfer{.programs = {{start(0), wait(0)}, {start(0)}},
                   .messages = {{.from = 0, .to = 1, .operation = 0},
                                {.from = 1, .to = 0, .operation = 0, .needs = {0, 1}},
                                {.from = 1, .to = 0, .operation = 0, .needs = {0, 1}}}};

// As before; rank 1 may start before or after, and makes another call in between.
const Job transfer_and_call{.programs = {{start(0), wait(0)}, {start(0), compute(), start(1)}},
                            .messages = {{.from = 0, .to = 1, .operation = 0},
                                         {.from = 1, .to = 0, .operation = 0, .needs = {0, 1}}}};

// A barrier, then an operation that nobody waits for.
const Job barrier_and_start{
    .programs = {{start(0), wait(0), start(1)}, {start(0), wait(0), start_undemanded(1)}},
    .messages = {{.from = 0, .to = 1, .operation = 0},
                 {.from = 1, .to = 0, .operation = 0},
                 {.from = 1, .to = 0, .operation = 1},
                 {.from = 0, .to = 1, .operation = 1, .needs = {1, 2}}}};

// Rank 0 waits once, for a transfer; rank 1 learns that this wait has ended, and starts again.
const Job after_the_wait{
    .programs = {{start(0), wait(0), start(1)}, {start(0), wait(1), start_undemanded(2)}},
    .messages = {{.from = 0, .to = 1, .operation = 0},
                 {.from = 1, .to = 0, .operation = 0, .needs = {0, 1}},
                 {.from = 0, .to = 1, .operation = 1}}};

// Both send each other; only rank 0 waits.
const Job exchange{.programs = {{start(0), wait(0)}, {start(0)}},
                   .messages = {{.from = 0, .to = 1, .operation = 0},
                                {.from = 1, .to = 0, .operation = 0},
                                {.from = 0, .to = 1, .operation = 0, .needs = {1, 1}},
                                {.from = 1, .to = 0, .operation = 0, .needs = {0, 1}}}};

// Rank 0 waits for rank 1, which needs something of rank 2; both compute.
const Job chain{.programs = {{start(0), wait(0)}, {start(0)}, {start_first(0)}},
                .messages = {{.from = 1, .to = 2, .operation = 0},
                             {.from = 2, .to = 1, .operation = 0, .needs = {1, 1}},
                             {.from = 1, .to = 0, .operation = 0, .needs = {2, 1}}}};

// The sender's start sends a part; the rest needs an answer to it.
const Job two_steps{.programs = {{start(0), wait(0)}, {start(0)}},
                    .messages = {{.from = 1, .to = 0, .operation = 0},
                                 {.from = 0, .to = 1, .operation = 0, .needs = {1, 1}},
                                 {.from = 1, .to = 0, .operation = 0, .needs = {0, 1}}}};

// Ranks 0 and 1 wait for rank 2; what rank 1 waits for also needs rank 0, which computes by then.
const Job two_waits{.programs = {{start_first(0), start_first(1), wait(0)},
                                 {start_first(1), wait(1)},
                                 {start_first(0), start_first(1)}},
                    .messages = {{.from = 2, .to = 0, .operation = 0},
                                 {.from = 2, .to = 0, .operation = 1},
                                 {.from = 0, .to = 2, .operation = 1, .needs = {2, 2}},
                                 {.from = 2, .to = 1, .operation = 1, .needs = {0, 1}}}};

struct Case {
    const char* name;
    const Job* job;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Orders : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Jobs, Orders,
                         ::testing::Values(Case{"transfer", &transfer},
                                           Case{"transfer_and_call", &transfer_and_call},
                                           Case{"barrier_and_start", &barrier_and_start},
                                           Case{"after_the_wait", &after_the_wait},
                                           Case{"exchange", &exchange},
                                           Case{"two_steps", &two_steps}, Case{"chain", &chain},
                                           Case{"two_waits", &two_waits}),
                         [](const auto& c) { return c.param.name; });

TEST_P(Orders, no_demand_is_lost_and_none_is_invented) {
    const Exploration::Found found = explore<Protocol>(*GetParam().job, Memory::sequential);
    EXPECT_EQ(found.failure, "") << found.trace;
    EXPECT_GT(found.ends, 0u);
}

TEST(StoreBuffers, lose_no_demand) {
    std::vector<const Job*> jobs = {&transfer, &exchange, &two_steps};
    if (runs_all()) jobs.insert(jobs.end(), {&chain, &two_waits});
    for (const Job* job : jobs) EXPECT_EQ(explore<Protocol>(*job, Memory::buffered).failure, "");
}

// Protocols with a mistake ---------------------------------------------------------------------------

// As the protocol; what is overridden in `Self` takes the place of its own.
template <class Self>
struct Mistaken : Protocol {
    using Protocol::Protocol;

    template <class Written>
    bool is_demanded(Written written) {
        return find_cause([&](std::size_t peer) { return self().see(peer, written); });
    }
    template <class Written, class PassOn>
    bool arm_on_demand(std::uint32_t count, Written written, PassOn pass_on) {
        if (!is_demanded(written)) {
            self().arm(Armed::thread_on_demand, count);
            if (!is_demanded(written)) return false;
        }
        self().arm(Armed::thread, count);
        if (is_demanded(written)) pass_on();
        return true;
    }

    template <class Written>
    Wait see(std::size_t peer, Written written) {
        return look(peer, written);
    }
    std::uint64_t word_of(std::size_t peer) {
        return boards_[own_].demands[peer].load(std::memory_order_seq_cst);
    }

  private:
    Self& self() { return static_cast<Self&>(*this); }
};

struct NoMistake : Mistaken<NoMistake> {
    using Mistaken::Mistaken;
};
// A demand holds until its wait ends, whatever was written to the peer.
struct IgnoresPositions : Mistaken<IgnoresPositions> {
    using Mistaken::Mistaken;
    template <class Written>
    Wait see(std::size_t peer, Written) {
        const Wait wait = DemandWord::wait(word_of(peer));
        return counts(wait) ? wait : Wait{};
    }
};
// Every record makes a demand void.
struct NeverMarks : Mistaken<NeverMarks> {
    using Mistaken::Mistaken;
    template <class Written>
    Wait see(std::size_t peer, Written written) {
        const std::uint64_t word = word_of(peer);
        const Wait wait = DemandWord::wait(word);
        return counts(wait) && DemandWord::is_at(word, written(peer)) ? wait : Wait{};
    }
};
// What is marked holds for ever.
struct IgnoresEnds : Mistaken<IgnoresEnds> {
    using Mistaken::Mistaken;
    template <class Written>
    Wait see(std::size_t peer, Written written) {
        const Wait wait = look(peer, written);
        const std::uint64_t word = word_of(peer);
        return wait || (word & DemandWord::mark) == 0 ? wait : DemandWord::wait(word);
    }
};
// Reads the demands and then arms.
struct ArmsLast : Protocol {
    using Protocol::Protocol;
    template <class Written, class PassOn>
    bool arm_on_demand(std::uint32_t count, Written written, PassOn pass_on) {
        const bool demanded = is_demanded(written);
        if (demanded) pass_on();
        arm(demanded ? Armed::thread : Armed::thread_on_demand, count);
        return demanded;
    }
};
// The store of `armed` may be late.
struct ArmsWeakly : Mistaken<ArmsWeakly> {
    using Mistaken::Mistaken;
    void arm(Armed kind, std::uint32_t count) {
        boards_[own_].armed->store(count << 2 | static_cast<std::uint32_t>(kind),
                                   std::memory_order_release);
    }
};
// Reads `armed` and then demands.
struct LooksFirst : Protocol {
    using Protocol::Protocol;
    bool demand(std::size_t peer, std::uint64_t taken, bool wakes) {
        if (!wakes || has_demanded(peer, taken, wakes)) return false;
        const std::uint32_t armed = boards_[peer].armed->load(std::memory_order_seq_cst);
        const bool rings = Protocol::demand(peer, taken, wakes);
        return rings && shm::sleeper_of(armed) == Sleeper::thread;
    }
};
// Does not renew a demand when something has come that was not enough.
struct DemandsOnce : Protocol {
    using Protocol::Protocol;
    bool demand(std::size_t peer, std::uint64_t taken, bool wakes) {
        const bool is_renewed = DemandWord::wait(said_[peer].word) == cause_;
        return !(is_renewed && said_[peer].is_delivered) && Protocol::demand(peer, taken, wakes);
    }
};
// Does not ring: whoever is asleep stays so.
struct OnlyQuiet : Protocol {
    using Protocol::Protocol;
    bool demand(std::size_t peer, std::uint64_t taken, bool) {
        return Protocol::demand(peer, taken, false);
    }
};
// Does not pass demands on.
struct KeepsDemands : Protocol {
    using Protocol::Protocol;
    template <class Written, class PassOn>
    bool arm_on_demand(std::uint32_t count, Written written, PassOn) {
        return Protocol::arm_on_demand(count, written, [] {});
    }
};

template <class P>
std::string failure_of(const Job& job, Memory memory = Memory::sequential) {
    return explore<P>(job, memory).failure;
}

TEST(Mistakes, are_found) {
    const std::string mid_transfer = "process 1: not demanded in mid-transfer";
    const std::string invented = "process 1: demanded, but nobody waits for it";
    const std::string lost = "process 0 sleeps forever";
    EXPECT_EQ(failure_of<NoMistake>(transfer), "");
    EXPECT_EQ(failure_of<IgnoresPositions>(barrier_and_start), invented);
    EXPECT_EQ(failure_of<NeverMarks>(transfer), mid_transfer);
    EXPECT_EQ(failure_of<IgnoresEnds>(after_the_wait), invented);
    EXPECT_EQ(failure_of<ArmsLast>(transfer), lost);
    EXPECT_EQ(failure_of<ArmsWeakly>(transfer), "");
    EXPECT_EQ(failure_of<ArmsWeakly>(transfer, Memory::buffered), lost);
    EXPECT_EQ(failure_of<LooksFirst>(transfer), lost);
    EXPECT_EQ(failure_of<DemandsOnce>(two_steps), lost);
    EXPECT_EQ(failure_of<OnlyQuiet>(transfer), lost);
    EXPECT_EQ(failure_of<KeepsDemands>(chain), lost);
}

// One step after the other --------------------------------------------------------------------------

// The words of a few ranks, and what they have written to each other.
class DemandSteps : public ::testing::Test {
  protected:
    static constexpr std::size_t ranks = 4;
    using Real = shm::Demands<std::atomic>;

    DemandSteps() {
        for (std::size_t r = 0; r < ranks; ++r) {
            std::vector<Real::Board> boards;
            for (Words& w : words) boards.push_back({&w.armed, &w.wait, w.demands.data()});
            demands.emplace_back(r, std::move(boards));
        }
    }
    bool is_demanded(std::size_t rank) {
        return demands[rank].is_demanded([&](std::size_t peer) { return written[rank][peer]; });
    }
    // The thread sleeps; true: all that comes wakes it. It lacks something of `of`.
    bool arm(std::size_t rank, std::size_t of = ranks) {
        return demands[rank].arm_on_demand(
            ++sleeps, [&](std::size_t peer) { return written[rank][peer]; },
            [&] {
                if (of < ranks) demand(rank, of);
            });
    }
    // True: the peer was woken.
    bool demand(std::size_t rank, std::size_t peer, bool wakes = true) {
        return demands[rank].demand(peer, taken[rank][peer], wakes);
    }

    struct Words {
        std::atomic<std::uint32_t> armed{0}, wait{0};
        std::array<std::atomic<std::uint64_t>, ranks> demands{};
    };
    std::array<Words, ranks> words;
    std::vector<Real> demands;
    std::uint64_t written[ranks][ranks] = {};
    std::uint64_t taken[ranks][ranks] = {};
    std::uint32_t sleeps = 0;
};

TEST_F(DemandSteps, a_demand_wakes_once) {
    EXPECT_FALSE(arm(1));
    demands[0].begin_wait();
    EXPECT_FALSE(demand(0, 1, false)) << "quietly";
    EXPECT_TRUE(demand(0, 1));
    EXPECT_FALSE(demand(0, 1));
    EXPECT_TRUE(arm(1)) << "it sees that it is demanded";
    EXPECT_FALSE(demand(0, 1));
    taken[0][1] += 128;
    EXPECT_FALSE(demand(0, 1)) << "it holds to what it has seen";
    demands[0].end_wait();
    EXPECT_FALSE(arm(1));
    demands[0].begin_wait();
    EXPECT_TRUE(demand(0, 1)) << "another wait";
}

TEST_F(DemandSteps, a_record_makes_a_demand_void_that_was_not_seen) {
    demands[0].begin_wait();
    demand(0, 1);
    written[1][0] += 128;
    EXPECT_FALSE(is_demanded(1));
    taken[0][1] += 128;
    demand(0, 1);
    EXPECT_TRUE(is_demanded(1));
    written[1][0] += 128;
    EXPECT_TRUE(is_demanded(1)) << "it was seen before";
    demands[0].withdraw(1);
    EXPECT_FALSE(is_demanded(1));
}

TEST_F(DemandSteps, a_demand_is_passed_on_for_several_waits) {
    EXPECT_FALSE(arm(3));
    demands[0].begin_wait();
    demands[1].begin_wait();
    demand(0, 2);
    EXPECT_TRUE(arm(2, 3));
    EXPECT_TRUE(arm(3)) << "woken by rank 2";
    EXPECT_TRUE(demand(1, 2)) << "woken to pass on this one, too";
    EXPECT_TRUE(arm(2, 3));
    EXPECT_TRUE(arm(3));
    demands[0].end_wait();
    EXPECT_TRUE(is_demanded(3)) << "rank 2 sleeps and cannot say that it is for rank 1 now";
    EXPECT_TRUE(arm(2, 3));
    EXPECT_TRUE(is_demanded(3));
    demands[1].end_wait();
    EXPECT_FALSE(is_demanded(3));
    EXPECT_FALSE(is_demanded(2));
}

TEST_F(DemandSteps, a_demand_that_went_round_in_a_circle_does_not_count) {
    demands[0].begin_wait();
    demand(0, 1);
    EXPECT_TRUE(arm(1, 2));
    EXPECT_TRUE(arm(2, 1));
    EXPECT_TRUE(arm(2, 0));
    EXPECT_TRUE(is_demanded(1));
    demands[0].end_wait();
    for (std::size_t r = 0; r < 3; ++r) EXPECT_FALSE(is_demanded(r)) << r;
    // Rank 0 computes now; it was demanded for its own wait.
    demands[0].begin_wait();
    demand(0, 1);
    EXPECT_TRUE(arm(1, 0));
    EXPECT_NE(words[0].demands[1].load(), 0u);
    demands[0].end_wait();
    EXPECT_FALSE(arm(0));
}

TEST_F(DemandSteps, who_is_dead_demands_nothing) {
    demands[0].begin_wait();
    demand(0, 1);
    EXPECT_TRUE(arm(1, 2));
    EXPECT_TRUE(is_demanded(2));
    for (std::size_t r : {1, 2, 3}) demands[r].forget(0);
    EXPECT_FALSE(is_demanded(1));
    EXPECT_FALSE(is_demanded(2)) << "passed on for a wait that nobody ends";
}

TEST_F(DemandSteps, a_number_is_not_used_for_two_waits) {
    std::uint32_t before = 0;
    for (int i = 0; i < 100; ++i) {
        demands[0].begin_wait();
        EXPECT_NE(words[0].wait.load(), 0u);
        EXPECT_NE(words[0].wait.load(), before);
        before = words[0].wait.load();
        demands[0].end_wait();
        EXPECT_EQ(words[0].wait.load(), 0u);
    }
}

}  // namespace weft::test::shm_demand_test
