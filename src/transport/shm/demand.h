// Work on demand: whether a rank that computes is woken for a rank that waits.
//
// Waking the thread of a rank that computes costs that rank more than copying some hundred KiB. A
// thread that is armed on demand is therefore woken only when a rank waits for its rank's work.
// Without a pending demand, large transfers are deferred.
//
// A demand is a word in the addressee's segment, written by one peer: for whose wait it is, and how
// far that peer has read the addressee's records. With the addressee's next record the
// demand is void: the peer may need nothing more. A demand that the addressee has once seen valid
// is marked, and then holds until that wait ends: its thread must not fall asleep in the middle of
// a message. A rank with a pending demand passes it on to the peers whose messages it needs itself,
// for the same wait. The waiting rank ends all of these by one store.
//
// If several ranks wait, a rank passes their demands on as its own, for as long as any is pending.
// Demands that originate from this rank are ignored (no cycles): otherwise two ranks could keep
// each other at work (livelock).
//
// No lost wake-up: the peer stores the demand and then reads `armed`; the addressee stores `armed`
// and then reads the demands. All sequentially consistent: either the addressee sees the demand, or
// the peer sees that it sleeps. Each demand is delivered once: a thread that arms later sees
// it.
//
// Thread safety: none; a Demands belongs to one rank. They synchronise through the words alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/transport.h"

namespace weft::shm {

// In the lowest two bits of `armed`: which thread sleeps, and the events that wake it.
enum class Armed : std::uint32_t {
    nobody = 0,
    thread = static_cast<std::uint32_t>(Sleeper::thread),
    waiter = static_cast<std::uint32_t>(Sleeper::waiter),
    thread_on_demand = 3,  // demands wake it, and failure notices
};

inline Armed armed_kind(std::uint32_t armed) { return static_cast<Armed>(armed & 3); }

// The sleeper whose doorbell is rung for this state.
inline Sleeper sleeper_of(std::uint32_t armed) {
    const Armed kind = armed_kind(armed);
    return kind == Armed::thread_on_demand ? Sleeper::thread : static_cast<Sleeper>(kind);
}

// A wait of one of the node's ranks.
struct Wait {
    std::uint32_t rank = 0;    // its number among the ranks of the node
    std::uint32_t number = 0;  // 0: none

    explicit operator bool() const { return number != 0; }
    friend bool operator==(const Wait&, const Wait&) = default;
};

// A demand as a word; 0: none.
struct DemandWord {
    static constexpr std::uint64_t mark = 1;  // the addressee has seen it valid
    static constexpr std::uint32_t numbers = 1u << 23;
    static constexpr std::uint64_t position_unit = 128;  // records begin on multiples of it

    static std::uint64_t pack(Wait wait, std::uint64_t position) {
        return std::uint64_t{wait.rank} << 48 | position_bits(position) << 24 |
               std::uint64_t{wait.number} << 1;
    }
    static Wait wait(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word >> 48),
                static_cast<std::uint32_t>(word >> 1) % numbers};
    }
    static bool is_at(std::uint64_t word, std::uint64_t position) {
        return (word >> 24 & 0xff'ffff) == position_bits(position);
    }

  private:
    static std::uint64_t position_bits(std::uint64_t position) {
        return position / position_unit & 0xff'ffff;
    }
};

// `Atomic`: std::atomic, or a test's replacement.
template <template <class> class Atomic>
class Demands {
  public:
    // The words that a rank of the node shows to the others.
    struct Board {
        Atomic<std::uint32_t>* armed = nullptr;    // an Armed, and a number that differs each time
        Atomic<std::uint32_t>* wait = nullptr;     // the number of its wait; 0: it does not wait
        Atomic<std::uint64_t>* demands = nullptr;  // by rank of the node: that rank's demand on it
    };

    Demands() = default;
    // `own`: this rank's number among the ranks of the node.
    Demands(std::size_t own, std::vector<Board> boards)
        : own_(static_cast<std::uint32_t>(own)),
          boards_(std::move(boards)),
          said_(boards_.size()) {}

    // Demands of this rank on others -----------------------------------------------------------

    // The program waits: demands are for this wait until it ends.
    void begin_wait() {
        program_waits_ = true;
        begin_own();
    }
    void end_wait() {
        program_waits_ = false;
        end_own();
    }
    bool is_waiting() const { return program_waits_; }

    // Whether demand() with these arguments would do nothing.
    bool has_demanded(std::size_t peer, std::uint64_t taken, bool wakes) const {
        const Said& said = said_[peer];
        return said.word == DemandWord::pack(cause_, taken) && (said.is_delivered || !wakes);
    }

    // Demands something of this peer, whose records have been read up to `taken`; quietly, or so
    // that it is woken. For this rank's own wait, or for those that were found by is_demanded().
    // True: the peer's thread slept, and its doorbell is to be rung.
    bool demand(std::size_t peer, std::uint64_t taken, bool wakes) {
        Said& said = said_[peer];
        const std::uint64_t word = DemandWord::pack(cause_, taken);
        Atomic<std::uint64_t>& slot = boards_[peer].demands[own_];
        if (has_demanded(peer, taken, wakes)) return false;
        if (said.word == word) {
            if (slot.load(std::memory_order_seq_cst) != word) return said.deliver(false);
        } else {
            std::uint64_t old = said.word;
            if (!slot.compare_exchange_strong(old, word, std::memory_order_seq_cst)) {
                // The peer has marked it, and holds to it.
                if (DemandWord::wait(old) == cause_) {
                    said.word = word;
                    return said.deliver(false);
                }
                slot.store(word, std::memory_order_seq_cst);
            }
            said = {word, false};
            if (!wakes) return false;
        }
        std::uint32_t armed = boards_[peer].armed->load(std::memory_order_seq_cst);
        // If this fails, the peer is awake, or has looked at its demands since.
        return said.deliver(
            sleeper_of(armed) == Sleeper::thread &&
            boards_[peer].armed->compare_exchange_strong(armed, 0, std::memory_order_seq_cst));
    }

    // Nothing is needed from this peer any more.
    void withdraw(std::size_t peer) {
        if (said_[peer].word == 0) return;
        said_[peer] = {};
        boards_[peer].demands[own_].store(0, std::memory_order_release);
    }

    // Demands of others on this rank -------------------------------------------------------------

    // Whether any rank waits for this rank's work, the program itself included.
    // `written(peer)`: the position up to which records were written to that peer.
    template <class Written>
    bool is_demanded(Written written) {
        return find_cause([&](std::size_t peer) { return look(peer, written); });
    }

    // The thread is about to sleep. Without a pending demand it is armed on demand; else all
    // arrivals wake it, and pass_on() passes the demand on. False: there is no pending demand.
    // `count`: differs for each sleep.
    template <class Written, class PassOn>
    bool arm_on_demand(std::uint32_t count, Written written, PassOn pass_on) {
        if (!is_demanded(written)) {
            arm(Armed::thread_on_demand, count);
            if (!is_demanded(written)) return false;
        }
        arm(Armed::thread, count);
        // The wait found before may have ended, and another rank may wait since.
        if (is_demanded(written)) pass_on();
        return true;
    }

    void arm(Armed kind, std::uint32_t count) {
        boards_[own_].armed->store(count << 2 | static_cast<std::uint32_t>(kind),
                                   std::memory_order_seq_cst);
    }

    // No thread sleeps. A peer that does not see this yet rings needlessly, so no order is needed.
    void disarm() { boards_[own_].armed->store(0, std::memory_order_release); }

    // The peer is dead: its demands, and those of others for it, do not count any more.
    void forget(std::size_t peer) { boards_[peer] = {}; }

  protected:
    struct Said {
        std::uint64_t word = 0;
        bool is_delivered = false;  // the peer has seen it, or will before it sleeps

        bool deliver(bool rings) {
            is_delivered = true;
            return rings;
        }
    };

    void begin_own() {
        if (own_wait_ == 0) {
            own_wait_ = waits_ = waits_ % (DemandWord::numbers - 1) + 1;
            boards_[own_].wait->store(own_wait_, std::memory_order_release);
        }
        cause_ = {own_, own_wait_};
    }
    void end_own() {
        own_wait_ = 0;
        cause_ = {};
        boards_[own_].wait->store(0, std::memory_order_release);
    }

    // Finds out for whose wait this rank works, if for any. `seen(peer)`: for whose wait the peer
    // demands something.
    template <class Seen>
    bool find_cause(Seen seen) {
        if (program_waits_) return true;
        Wait found;
        bool several = false;
        for (std::size_t peer = 0; peer < boards_.size(); ++peer) {
            if (peer == own_ || !boards_[peer].armed) continue;
            const Wait wait = seen(peer);
            several |= wait && found && wait != found;
            if (wait) found = wait;
        }
        if (several) {
            begin_own();
        } else {
            if (own_wait_ != 0) end_own();
            cause_ = found;
        }
        return static_cast<bool>(found);
    }

    // Whether the wait is going on, and is another rank's.
    bool counts(Wait wait) const {
        return wait && wait.rank != own_ && wait.rank < boards_.size() &&
               boards_[wait.rank].wait != nullptr &&
               boards_[wait.rank].wait->load(std::memory_order_seq_cst) == wait.number;
    }

    // For whose wait the peer demands something; none: it does not, or the demand is void.
    template <class Written>
    Wait look(std::size_t peer, Written written) {
        Atomic<std::uint64_t>& slot = boards_[own_].demands[peer];
        std::uint64_t word = slot.load(std::memory_order_seq_cst);
        while (true) {
            const Wait wait = DemandWord::wait(word);
            if (!counts(wait)) return {};
            if ((word & DemandWord::mark) != 0) return wait;
            if (!DemandWord::is_at(word, written(peer))) return {};
            if (slot.compare_exchange_strong(word, word | DemandWord::mark,
                                             std::memory_order_seq_cst))
                return wait;
        }
    }

    std::uint32_t own_ = 0;
    std::vector<Board> boards_;
    std::vector<Said> said_;      // by peer: the last demand on it
    Wait cause_;                  // for whose wait demands are
    std::uint32_t waits_ = 0;     // the last number of an own wait
    std::uint32_t own_wait_ = 0;  // the number that this rank's board shows
    bool program_waits_ = false;  // else an own wait stands for several others
};

}  // namespace weft::shm
