// Who sleeps in a process, for whom the transports are armed, and whom a piece of news wakes: the
// state alone, without threads, descriptors or a clock. What it says is carried out by Sleepers
// (engine/sleepers.h). tests/unit/engine_sleep_test.cpp explores all orders of the steps of a few
// threads and a peer that use it: no wake-up is lost.
//
// Thread safety: none; the engine's lock covers it.
#pragma once

#include <cstdint>

#include "transport/transport.h"

namespace weft {

// What the leader does: the thread of the program that is in a wait and advances all runs.
enum class LeaderState : std::uint8_t {
    none,     // there is no leader
    awake,    // it polls, spins or yields; the lock may be free
    driving,  // it is in the executor, and holds the lock
    asleep,   // on the transports, which wake it
    resting,  // until the progress thread, on a core set aside, notifies it
};

// What wakes the sleeper for whom the transports are armed.
enum class Arming : std::uint8_t {
    all,        // whatever arrives
    on_demand,  // demands and failure notices
    rung,       // nothing any more: it was woken, or need not sleep. Arm again before it sleeps.
};

class SleepState {
  public:
    // --- The leader ---

    bool is_led() const { return leader_ != LeaderState::none; }
    bool leader_is_awake() const {
        return leader_ == LeaderState::awake || leader_ == LeaderState::driving;
    }
    bool leader_sleeps() const {
        return leader_ == LeaderState::asleep || leader_ == LeaderState::resting;
    }
    bool leader_rests() const { return leader_ == LeaderState::resting; }
    void set_leader(LeaderState leader) { leader_ = leader; }
    // The leader returns from the executor. False: a function of the program ran there meanwhile,
    // and now another thread leads.
    bool end_driving() {
        if (leader_ != LeaderState::driving) return false;
        leader_ = LeaderState::awake;
        return true;
    }
    // The calling thread, if it is the leader and in the executor, leads no more.
    bool give_up_lead() {
        if (leader_ != LeaderState::driving) return false;
        leader_ = LeaderState::none;
        return true;
    }

    // --- Whom arrivals wake ---

    // The thread that arrivals must wake while the lock is free; none: a thread of the program is
    // awake and looks, or nothing that arrives needs a thread. `is_needed`: something does.
    Sleeper in_charge(bool is_needed) const {
        switch (leader_) {
            case LeaderState::asleep: return Sleeper::waiter;
            case LeaderState::resting: return Sleeper::thread;
            case LeaderState::none: return is_needed ? Sleeper::thread : Sleeper::none;
            default: return Sleeper::none;
        }
    }
    Sleeper armed() const { return armed_; }
    bool is_armed() const { return armed_ != Sleeper::none; }
    Arming arming() const { return arming_; }
    // The transports were armed. `is_quiet`: nothing had come for this sleeper before.
    void note_armed(Sleeper sleeper, bool on_demand, bool is_quiet) {
        armed_ = sleeper;
        arming_ = !is_quiet ? Arming::rung : on_demand ? Arming::on_demand : Arming::all;
    }
    // A peer that wakes a sleeper takes the arming away.
    void note_rung(Sleeper sleeper) {
        if (armed_ == sleeper) arming_ = Arming::rung;
    }
    // What was armed may be too little now.
    void arm_again() { arming_ = Arming::rung; }

    // --- Whom news wakes ---

    // Threads of the program that wait for the leader.
    bool has_followers() const { return followers_ > 0; }
    // Whether any thread sleeps that news may wake.
    bool has_audience() const { return has_followers() || leader_sleeps(); }
    void begin_following() { ++followers_; }
    void end_following() { --followers_; }
    // A wait falls asleep and something is to be done, by no run: its end ends the wait, too.
    void await_drain() { waiter_needs_drain_ = true; }
    bool awaits_drain() const { return waiter_needs_drain_; }
    // Before the lock is given up. `happened` counts what a wait may wait for. True: there is news,
    // for the leader if it sleeps and for all followers.
    template <class HasWork>
    bool take_news(std::uint64_t happened, HasWork has_work) {
        const bool is_drained = waiter_needs_drain_ && !has_work();
        if (happened == notified_happened_ && !is_drained) return false;
        notified_happened_ = happened;
        waiter_needs_drain_ = false;
        return true;
    }
    // Waits must look again though nothing has happened.
    void make_news(std::uint64_t happened) { notified_happened_ = happened - 1; }

  protected:
    LeaderState leader_ = LeaderState::none;
    Sleeper armed_ = Sleeper::none;
    Arming arming_ = Arming::all;
    bool waiter_needs_drain_ = false;
    int followers_ = 0;
    std::uint64_t notified_happened_ = 0;
};

}  // namespace weft
