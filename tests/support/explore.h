// Explores all orders in which processes can access shared memory, one access at a time.
//
// A process is a function that shares only words of the simulated memory with the others, and is
// otherwise deterministic. So its state is the list of the results of its accesses: it is rerun
// with that list up to its next access, and states that were reached before are not explored again.
// It may say now and then which part of that list still matters. Accesses to words that no other
// process accesses, or that nobody changes, have no order: which ones these are is found by trying.
//
// Memory is sequentially consistent, or as on x86: a store that is not sequentially consistent goes
// into a buffer of its process, first in first out, and reaches memory at any later time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::test {

class Exploration {
  public:
    enum class Memory : std::uint8_t { sequential, buffered };

    struct Scenario {
        std::size_t words = 0;                         // of memory, initially 0 ...
        std::vector<std::uint64_t> initially{};        // ... or as the first of them are here
        std::vector<std::function<void()>> processes;  // end by returning
        Memory memory = Memory::sequential;
    };
    struct Found {
        std::size_t states = 0;
        std::size_t ends = 0;     // in which no process can go on
        std::size_t deepest = 0;  // accesses until an end, at most
        std::string failure;      // the first one found; "": none
        std::string trace;        // by process: what its accesses returned until then
    };

    // A process that can never go on is stuck: a failure if it called must_end().
    static Found run(const Scenario& scenario);

    // In a process -------------------------------------------------------------------------------
    static std::uint64_t load(std::size_t word);
    static void store(std::size_t word, std::uint64_t value, std::memory_order order);
    // Returns the previous value; stores nothing if that is not `expected`.
    static std::uint64_t compare_exchange(std::size_t word, std::uint64_t expected,
                                          std::uint64_t value);
    static std::uint64_t exchange(std::size_t word, std::uint64_t value);
    // One of 0 ... n - 1; all are explored.
    static std::size_t choose(std::size_t n);
    // Blocks until the word is not 0; resets it. Returns what it was.
    static std::uint64_t sleep(std::size_t word);
    // From here on the process depends only on this, and on what accesses return. The digest stands
    // for the process's state, including its position in the code.
    static void is_at(std::uint64_t digest);
    // Between these two calls no other process runs.
    static void begin_at_once();
    static void end_at_once();
    // Ends the exploration unless it holds.
    static void check(bool holds, const char* what);
    // From here on the process must not be stuck forever; or it may.
    static void must_end();
    static void may_end();
};

// Replaces std::atomic: a word of the simulated memory.
template <class T>
class SimulatedAtomic {
  public:
    SimulatedAtomic() = default;
    explicit SimulatedAtomic(std::size_t word) : word_(word) {}

    T load(std::memory_order) const { return static_cast<T>(Exploration::load(word_)); }
    void store(T value, std::memory_order order) { Exploration::store(word_, value, order); }
    bool compare_exchange_strong(T& expected, T value, std::memory_order) {
        const T before = static_cast<T>(Exploration::compare_exchange(word_, expected, value));
        const bool is_same = before == expected;
        expected = before;
        return is_same;
    }

  private:
    std::size_t word_ = 0;
};

}  // namespace weft::test
