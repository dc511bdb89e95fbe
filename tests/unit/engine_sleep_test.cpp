// No wake-up is lost within a process: every order of every step of a few threads and a peer.
//
// The threads decide by SleepState, and take the steps of the engine: what a call leaves behind, a
// wait that leads or follows, the progress thread. Simulated are the lock, the descriptors, and the
// words that a transport shares with the peer. Checked: who waits is woken when what it waits for
// can be had, and so is the peer, if it waits for an answer. Engines with a mistake must not pass.
// (What a demand is, and that none is lost between ranks: shm_demand_test.cpp.)
#include "engine/sleep_state.h"

#include <bit>

#include "support/explore.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::engine_sleep_test {

// A message of the peer, for a run.
struct Message {
    enum class Effect : std::uint8_t { ends_run, is_answered, none } effect;
    unsigned run = 0;
};
constexpr Message ends(unsigned run) { return {Message::Effect::ends_run, run}; }
constexpr Message answered(unsigned run) { return {Message::Effect::is_answered, run}; }
constexpr Message part_of(unsigned run) { return {Message::Effect::none, run}; }

// What a thread of the program does, one after the other. At its end it computes for ever.
struct Step {
    enum class Kind : std::uint8_t { start, wait, wait_briefly, sleep_outside } kind;
    unsigned run = 0;
};
constexpr Step start(unsigned run) { return {Step::Kind::start, run}; }
constexpr Step wait(unsigned run) { return {Step::Kind::wait, run}; }
// What is owed to the peer is no run, but waits may be for it.
constexpr unsigned nothing_owed = 3;
// Its deadline has passed after two looks.
constexpr Step wait_briefly(unsigned run) { return {Step::Kind::wait_briefly, run}; }
// Until the descriptor of a queue is readable, for which the run was marked.
constexpr Step sleep_outside(unsigned run) { return {Step::Kind::sleep_outside, run}; }

// What the peer does.
enum class PeerStep : std::uint8_t {
    send,       // its next message
    demand,     // it wakes the progress thread of this process
    expect,     // it waits for an answer
    make_room,  // for what is owed to it
    compute,    // until its next message is demanded
};

struct Program {
    std::vector<std::vector<Step>> threads;
    std::vector<Message> messages;
    std::vector<PeerStep> peer;
    bool has_progress_thread = true;
    bool on_demand = false;  // it is woken by demands only
    bool rests = false;      // waits leave everything to it
    bool demands = false;    // what it waits for: the peer computes
    bool owes = false;       // something, from the beginning on: there is no room at the peer
};

enum class Mistake : std::uint8_t {
    none,
    looks_before_arming,        // for what has come
    leaves_unarmed,             // a call, for the progress thread
    keeps_what_has_come,        // a call, in its last round
    keeps_news_from_followers,  // whoever ends their runs
    keeps_news_from_leader,     // the progress thread
    leads_no_more_in_silence,   // a wait that ends
    forgets_to_arm_again,       // a mark, where the thread works on demand
    sleeps_when_drained,        // a leader whose arming has done what was owed
    leaves_demands_to_leader,   // a start, while the leader sleeps
};

namespace word {

constexpr std::size_t lock = 0;     // 0: held; else what it protects
constexpr std::size_t written = 1;  // messages, by the peer
constexpr std::size_t armed = 2;    // as shm::Armed
constexpr std::size_t demand = 3;
constexpr std::size_t thread_bell = 4;
constexpr std::size_t waiter_bell = 5;
constexpr std::size_t peer_bell = 6;
constexpr std::size_t queue = 7;   // its descriptor
constexpr std::size_t room = 8;    // at the peer
constexpr std::size_t lacked = 9;  // by run: its message was demanded of the peer
constexpr std::size_t followers = lacked + nothing_owed;
constexpr std::size_t count = followers + 2;

}  // namespace word

constexpr std::uint64_t armed_on_demand = 3;

// In a bell: why it was rung.
constexpr std::uint64_t by_unpark = 1;
constexpr std::uint64_t by_descriptor = 2;

void ring(std::size_t bell, std::uint64_t why) {
    std::uint64_t before = Exploration::load(bell);
    while (true) {
        const std::uint64_t now = Exploration::compare_exchange(bell, before, before | why);
        if (now == before) return;
        before = now;
    }
}

// The peer wakes the sleeper for whom the transport is armed, if this may wake it.
void wake_sleeper(bool demands) {
    const std::uint64_t armed = Exploration::load(word::armed);
    const auto waiter = static_cast<std::uint64_t>(Sleeper::waiter);
    if (armed == 0 || (demands ? armed == waiter : armed == armed_on_demand)) return;
    if (Exploration::compare_exchange(word::armed, armed, 0) != armed) return;
    ring(armed == waiter ? word::waiter_bell : word::thread_bell, by_descriptor);
}

void run_peer(const std::vector<PeerStep>& steps, const std::vector<Message>& messages) {
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        Exploration::is_at(i);
        switch (steps[i]) {
            case PeerStep::send:
                ++written;
                Exploration::store(word::written, written, std::memory_order_seq_cst);
                wake_sleeper(/*demands=*/false);
                break;
            case PeerStep::demand:
                Exploration::store(word::demand, 1, std::memory_order_seq_cst);
                wake_sleeper(/*demands=*/true);
                break;
            case PeerStep::expect:
                Exploration::must_end();
                Exploration::sleep(word::peer_bell);
                Exploration::may_end();
                Exploration::store(word::demand, 0, std::memory_order_release);
                break;
            case PeerStep::make_room:
                Exploration::store(word::room, 1, std::memory_order_seq_cst);
                wake_sleeper(/*demands=*/false);
                break;
            case PeerStep::compute: Exploration::sleep(word::lacked + messages[written].run); break;
        }
    }
}

// What the lock protects, as one word.
struct Protected : SleepState {
    unsigned started = 0;  // runs, a bit for each
    unsigned done = 0;
    unsigned marked = 0;       // of them, for the queue
    unsigned taken = 0;        // messages
    bool owes = false;         // something to the peer
    bool is_readable = false;  // the queue's descriptor

    std::uint64_t pack() const {
        std::uint64_t packed = 0;
        const auto put = [&](std::uint64_t value, unsigned bits) {
            Exploration::check(value < std::uint64_t{1} << bits, "the model has too few bits");
            packed = packed << bits | value;
        };
        put(static_cast<std::uint64_t>(leader_), 3);
        put(static_cast<std::uint64_t>(armed_), 2);
        put(static_cast<std::uint64_t>(arming_), 2);
        put(waiter_needs_drain_, 1);
        put(static_cast<std::uint64_t>(followers_), 4);
        put(notified_happened_, 4);
        put(started, 4);
        put(done, 4);
        put(marked, 4);
        put(taken, 4);
        put(is_readable, 1);
        put(owes, 1);
        put(1, 1);  // the lock is free
        return packed;
    }
    void unpack(std::uint64_t packed) {
        const auto take = [&](unsigned bits) {
            const std::uint64_t value = packed & ((std::uint64_t{1} << bits) - 1);
            packed >>= bits;
            return static_cast<unsigned>(value);
        };
        take(1);
        owes = take(1) != 0;
        is_readable = take(1) != 0;
        taken = take(4);
        marked = take(4);
        done = take(4);
        started = take(4);
        notified_happened_ = take(4);
        followers_ = static_cast<int>(take(4));
        waiter_needs_drain_ = take(1) != 0;
        arming_ = static_cast<Arming>(take(2));
        armed_ = static_cast<Sleeper>(take(2));
        leader_ = static_cast<LeaderState>(take(3));
    }
};

// A thread of the process: of the program, or the progress thread.
class ModelThread {
  public:
    ModelThread(const Program& program, Mistake mistake, std::size_t number)
        : program_(program), mistake_(mistake), number_(number) {}

    void run_program() {
        for (const Step& step : program_.threads[number_]) {
            ++step_;
            be_at(0);
            lock();
            switch (step.kind) {
                case Step::Kind::start:
                    begin(step.run);
                    after_call(/*has_started=*/true);
                    break;
                case Step::Kind::wait:
                    Exploration::must_end();
                    wait(step.run);
                    after_call();
                    Exploration::may_end();
                    break;
                case Step::Kind::wait_briefly:
                    if (!s_.is_led()) lead(step.run, /*gives_up=*/true);
                    after_call();
                    break;
                case Step::Kind::sleep_outside:
                    mark(step.run);
                    after_call();
                    Exploration::must_end();
                    be_at(1);
                    Exploration::sleep(word::queue);
                    Exploration::may_end();
                    break;
            }
        }
        be_at(2);
    }

    void run_progress_thread() {
        lock();
        while (true) {
            const bool is_demanded = !program_.on_demand || has_demand();
            const bool moved = !s_.leader_is_awake() && needs_attention() && progress();
            if (mistake_ != Mistake::keeps_news_from_leader) notify_waiters();
            if (s_.in_charge(needs_attention()) == Sleeper::thread) {
                if ((is_demanded && moved) || !arm(Sleeper::thread)) {
                    unlock();
                    be_at(3);
                    lock();
                    continue;
                }
            } else if (!s_.is_led()) {
                disarm();
            }
            if (mistake_ != Mistake::keeps_news_from_leader) notify_waiters();
            sleep(Sleeper::thread);
        }
    }

  private:
    // From here on only this, and what is shared, matters. The lock is free.
    void be_at(std::uint64_t place) { Exploration::is_at(step_ * 100 + place); }

    void lock() { s_.unpack(Exploration::sleep(word::lock)); }
    void unlock() {
        if ((s_.done & s_.marked) != 0 && !std::exchange(s_.is_readable, true))
            Exploration::store(word::queue, 1, std::memory_order_seq_cst);
        Exploration::store(word::lock, s_.pack(), std::memory_order_seq_cst);
    }

    static unsigned bit(unsigned run) { return 1u << run; }
    bool is_done(unsigned run) const {
        return run == nothing_owed ? !s_.owes : (s_.done & bit(run)) != 0;
    }
    bool is_pending() const { return (s_.started & ~s_.done) != 0 || s_.owes; }
    bool needs_attention() const { return program_.has_progress_thread && is_pending(); }
    bool is_awaited_outside() const { return (s_.marked & ~s_.done) != 0; }
    std::uint64_t happened() const { return static_cast<std::uint64_t>(std::popcount(s_.done)); }
    bool has_demand() const { return is_awaited_outside() || Exploration::load(word::demand) != 0; }
    bool has_come() const { return Exploration::load(word::written) != s_.taken; }

    // --- The executor ---

    void begin(unsigned run) {
        s_.started |= bit(run);
        for (unsigned i = 0; i < s_.taken; ++i)
            if (program_.messages[i].run == run) take(program_.messages[i]);
    }
    void take(const Message& message) {
        if ((s_.started & bit(message.run)) == 0) return;  // unexpected
        if (message.effect == Message::Effect::ends_run) s_.done |= bit(message.run);
        if (message.effect == Message::Effect::is_answered) ring(word::peer_bell, by_descriptor);
    }
    bool progress() {
        const auto written = static_cast<unsigned>(Exploration::load(word::written));
        const bool moved = written != s_.taken;
        while (s_.taken < written) take(program_.messages[s_.taken++]);
        drain();
        return moved;
    }
    // Polls do it, and the last look before a sleep.
    void drain() {
        if (s_.owes && Exploration::load(word::room) != 0) s_.owes = false;
    }

    // --- The rooms of the engine ---

    bool arm(Sleeper sleeper) {
        const bool on_demand = program_.on_demand && sleeper == Sleeper::thread;
        if (sleeper == Sleeper::none) {
            Exploration::store(word::armed, 0, std::memory_order_release);
            s_.note_armed(sleeper, false, true);
            return true;
        }
        bool is_quiet = !has_come();
        if (on_demand && !has_demand()) {
            Exploration::store(word::armed, armed_on_demand, std::memory_order_seq_cst);
            if (!has_demand()) {
                s_.note_armed(sleeper, on_demand, true);
                return true;
            }
        }
        Exploration::store(word::armed, static_cast<std::uint64_t>(sleeper),
                           std::memory_order_seq_cst);
        if (mistake_ != Mistake::looks_before_arming) is_quiet = !has_come();
        drain();
        s_.note_armed(sleeper, on_demand, is_quiet);
        return is_quiet;
    }
    void disarm() {
        if (s_.is_armed()) arm(Sleeper::none);
    }

    static std::size_t bell_of(Sleeper sleeper) {
        return sleeper == Sleeper::thread ? word::thread_bell : word::waiter_bell;
    }
    static void unpark(Sleeper sleeper) { ring(bell_of(sleeper), by_unpark); }
    void unpark_followers() {
        if (!s_.has_followers()) return;
        for (std::size_t i = 0; i < program_.threads.size(); ++i)
            ring(word::followers + i, by_unpark);
    }
    void sleep(Sleeper sleeper) {
        unlock();
        be_at(4);
        const std::uint64_t why = Exploration::sleep(bell_of(sleeper));
        be_at(5 + why);
        lock();
        if ((why & by_descriptor) != 0) s_.note_rung(sleeper);
    }

    void notify_waiters() {
        if (!s_.take_news(happened(), [this] { return s_.owes; })) return;
        if (mistake_ != Mistake::keeps_news_from_followers) unpark_followers();
        if (s_.leader_sleeps()) unpark(Sleeper::waiter);
    }

    // In a wait: what the process lacks.
    void demand() {
        for (unsigned run = 0; program_.demands && run < nothing_owed; ++run) {
            if ((s_.started & ~s_.done & bit(run)) != 0)
                Exploration::store(word::lacked + run, 1, std::memory_order_seq_cst);
        }
    }

    void after_call(bool has_started = false) {
        notify_waiters();
        bool moves = false;
        constexpr int last_round = 1;
        for (int round = 0; mistake_ != Mistake::leaves_unarmed; ++round) {
            const Sleeper sleeper = s_.in_charge(needs_attention());
            const bool on_demand = program_.on_demand && sleeper == Sleeper::thread;
            const bool is_armed_well = s_.arming() != Arming::rung && !s_.owes &&
                                       (s_.arming() == Arming::on_demand) == on_demand;
            if (sleeper == s_.armed() && (sleeper == Sleeper::none || is_armed_well)) break;
            if (round == 0) moves = s_.owes;
            const bool is_last = round == last_round;
            if ((is_last || !moves) && arm(sleeper)) break;
            if (is_last) {
                if (sleeper != Sleeper::none && mistake_ != Mistake::keeps_what_has_come)
                    unpark(sleeper);
                break;
            }
            disarm();
            moves = progress();
            notify_waiters();
        }
        if (has_started && s_.leader_sleeps() && mistake_ != Mistake::leaves_demands_to_leader)
            demand();
        if (s_.has_audience()) notify_waiters();
        unlock();
    }

    void mark(unsigned run) {
        s_.marked |= bit(run);
        if (program_.on_demand && mistake_ != Mistake::forgets_to_arm_again) s_.arm_again();
    }

    void wait(unsigned run) {
        while (!is_done(run)) {
            if (s_.is_led())
                follow();
            else
                lead(run, /*gives_up=*/false);
        }
    }
    void follow() {
        const bool owed = s_.owes;
        drain();
        notify_waiters();
        if (owed && !s_.owes) return;
        s_.begin_following();
        if (s_.owes) s_.await_drain();
        const std::size_t bell = word::followers + number_;
        Exploration::store(bell, 0, std::memory_order_seq_cst);
        unlock();
        be_at(10);
        Exploration::sleep(bell);
        be_at(11);
        lock();
        s_.end_following();
    }
    void lead(unsigned run, bool gives_up) {
        s_.set_leader(LeaderState::awake);
        disarm();
        bool has_yielded = false;
        while (true) {
            s_.set_leader(LeaderState::driving);
            const bool moved = progress();
            Exploration::check(s_.end_driving(), "another thread leads");
            if (s_.has_followers()) notify_waiters();
            if (is_done(run) || (gives_up && has_yielded)) break;
            if (moved) continue;
            if (!std::exchange(has_yielded, true)) {
                unlock();
                be_at(12);
                lock();
                continue;
            }
            demand();
            const bool owed = s_.owes && mistake_ != Mistake::sleeps_when_drained;
            if (arm(program_.rests ? Sleeper::thread : Sleeper::waiter) && (!owed || s_.owes)) {
                s_.set_leader(program_.rests ? LeaderState::resting : LeaderState::asleep);
                if (s_.owes) s_.await_drain();
                sleep(Sleeper::waiter);
                s_.set_leader(LeaderState::awake);
            }
            arm(Sleeper::none);
        }
        s_.set_leader(LeaderState::none);
        if (mistake_ != Mistake::leads_no_more_in_silence) unpark_followers();
    }

    const Program& program_;
    const Mistake mistake_;
    const std::size_t number_;
    std::uint64_t step_ = 0;
    Protected s_;
};

Exploration::Found explore(const Program& program, Mistake mistake = Mistake::none,
                           Exploration::Memory memory = Exploration::Memory::sequential) {
    Exploration::Scenario scenario;
    scenario.words = word::count;
    Protected initially;
    initially.owes = program.owes;
    scenario.initially = {initially.pack()};
    scenario.memory = memory;
    for (std::size_t i = 0; i < program.threads.size(); ++i) {
        scenario.processes.emplace_back(
            [&program, mistake, i] { ModelThread(program, mistake, i).run_program(); });
    }
    scenario.processes.emplace_back([&program] { run_peer(program.peer, program.messages); });
    if (program.has_progress_thread) {
        scenario.processes.emplace_back(
            [&program, mistake] { ModelThread(program, mistake, 0).run_progress_thread(); });
    }
    return Exploration::run(scenario);
}

using enum PeerStep;

const Program alone{.threads = {{start(0), wait(0)}},
                    .messages = {ends(0)},
                    .peer = {send},
                    .has_progress_thread = false};

const Program alone_with_a_thread{
    .threads = {{start(0), wait(0)}}, .messages = {part_of(0), ends(0)}, .peer = {send, send}};

const Program two_waits{.threads = {{start(0), wait(0)}, {start(1), wait(1)}},
                        .messages = {ends(1), ends(0)},
                        .peer = {send, send},
                        .has_progress_thread = false};

// What the first one waits for comes only when the second one has gone on.
const Program two_waits_in_turn{.threads = {{start(0), wait(0)}, {start(1), wait(1), start(2)}},
                                .messages = {ends(1), answered(2), ends(0)},
                                .peer = {send, send, expect, send},
                                .has_progress_thread = false};

const Program two_waits_with_a_thread{.threads = {{start(0), wait(0)}, {start(1), wait(1)}},
                                      .messages = {ends(0), ends(1)},
                                      .peer = {send, send}};

// The first one, which may lead, gives up.
const Program a_wait_beside_a_brief_one{
    .threads = {{start(0), wait_briefly(0)}, {start(1), wait(1)}},
    .messages = {ends(1)},
    .peer = {send},
    .has_progress_thread = false};

// The second thread computes.
const Program a_start_beside_a_wait{.threads = {{start(0), wait(0)}, {start(1)}},
                                    .messages = {answered(1), ends(0)},
                                    .peer = {send, expect, send}};

// On a core set aside, the progress thread does everything.
const Program resting{.threads = {{start(0), wait(0)}, {start(1), wait(1)}},
                      .messages = {ends(1), ends(0)},
                      .peer = {send, send},
                      .rests = true};

const Program computing{
    .threads = {{start(0)}}, .messages = {part_of(0), answered(0)}, .peer = {send, send, expect}};

const Program computing_after_a_wait{.threads = {{start(0), wait(0), start(1)}},
                                     .messages = {ends(0), answered(1)},
                                     .peer = {send, send, expect}};

// Only the peer's demand wakes the progress thread.
const Program computing_on_demand{.threads = {{start(0)}},
                                  .messages = {answered(0)},
                                  .peer = {send, demand, expect},
                                  .on_demand = true};

const Program computing_on_demand_after_a_wait{.threads = {{start(0), wait(0), start(1)}},
                                               .messages = {ends(0), answered(1)},
                                               .peer = {send, send, demand, expect},
                                               .on_demand = true};

const Program outside{
    .threads = {{start(0), sleep_outside(0)}}, .messages = {ends(0)}, .peer = {send}};

const Program outside_on_demand{.threads = {{start(0), sleep_outside(0)}},
                                .messages = {part_of(0), ends(0)},
                                .peer = {send, send},
                                .on_demand = true};

// A thread waits inside, another one outside.
const Program inside_and_outside{.threads = {{start(0), wait(0)}, {start(1), sleep_outside(1)}},
                                 .messages = {ends(1), ends(0)},
                                 .peer = {send, send},
                                 .on_demand = true};

const Program draining{.threads = {{wait(nothing_owed)}},
                       .messages = {},
                       .peer = {make_room},
                       .has_progress_thread = false,
                       .owes = true};

const Program draining_with_a_thread{
    .threads = {{wait(nothing_owed)}}, .messages = {}, .peer = {make_room}, .owes = true};

// What the first one waits for comes only when the second one has gone on.
const Program draining_beside_a_wait{
    .threads = {{start(0), wait(0)}, {wait(nothing_owed), start(1)}},
    .messages = {answered(1), ends(0)},
    .peer = {send, make_room, expect, send},
    .has_progress_thread = false,
    .owes = true};

// The peer computes. The second one may start when the first one sleeps.
const Program two_waits_that_demand{.threads = {{start(0), wait(0)}, {start(1), wait(1)}},
                                    .messages = {ends(1), ends(0)},
                                    .peer = {compute, send, compute, send},
                                    .has_progress_thread = false,
                                    .demands = true};

struct Case {
    const char* name;
    const Program* program;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class EngineSleep : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Programs, EngineSleep,
    ::testing::Values(Case{"alone", &alone}, Case{"alone_with_a_thread", &alone_with_a_thread},
                      Case{"two_waits", &two_waits}, Case{"two_waits_in_turn", &two_waits_in_turn},
                      Case{"two_waits_with_a_thread", &two_waits_with_a_thread},
                      Case{"a_wait_beside_a_brief_one", &a_wait_beside_a_brief_one},
                      Case{"a_start_beside_a_wait", &a_start_beside_a_wait},
                      Case{"resting", &resting}, Case{"computing", &computing},
                      Case{"computing_after_a_wait", &computing_after_a_wait},
                      Case{"computing_on_demand", &computing_on_demand},
                      Case{"computing_on_demand_after_a_wait", &computing_on_demand_after_a_wait},
                      Case{"outside", &outside}, Case{"outside_on_demand", &outside_on_demand},
                      Case{"inside_and_outside", &inside_and_outside}, Case{"draining", &draining},
                      Case{"draining_with_a_thread", &draining_with_a_thread},
                      Case{"draining_beside_a_wait", &draining_beside_a_wait},
                      Case{"two_waits_that_demand", &two_waits_that_demand}),
    [](const auto& c) { return c.param.name; });

TEST_P(EngineSleep, NoWakeUpIsLost) {
    const Exploration::Found found = explore(*GetParam().program);
    EXPECT_EQ(found.failure, "") << found.trace;
    EXPECT_GT(found.ends, 0u);
    if (!runs_all()) return;
    EXPECT_EQ(explore(*GetParam().program, Mistake::none, Exploration::Memory::buffered).failure,
              "");
}

TEST(EngineSleepMistakes, AreFound) {
    const struct {
        Mistake mistake;
        const Program* program;
    } all[] = {
        {Mistake::looks_before_arming, &alone},
        {Mistake::leaves_unarmed, &computing},
        {Mistake::keeps_what_has_come, &computing},
        {Mistake::keeps_news_from_followers, &two_waits_in_turn},
        {Mistake::keeps_news_from_leader, &resting},
        {Mistake::leads_no_more_in_silence, &a_wait_beside_a_brief_one},
        {Mistake::forgets_to_arm_again, &outside_on_demand},
        {Mistake::sleeps_when_drained, &draining},
        {Mistake::sleeps_when_drained, &draining_beside_a_wait},
        {Mistake::leaves_demands_to_leader, &two_waits_that_demand},
    };
    for (const auto& [mistake, program] : all) {
        const std::string failure = explore(*program, mistake).failure;
        EXPECT_NE(failure.find("sleeps forever"), std::string::npos)
            << "mistake " << static_cast<int>(mistake) << ": " << failure;
    }
}

}  // namespace weft::test::engine_sleep_test
