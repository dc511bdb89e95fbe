#include "support/explore.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/assert.h"

namespace weft::test {
namespace {

constexpr std::size_t depth_max = 2000;  // deeper: some process goes on forever

struct Access {
    enum class Kind : std::uint8_t { load, store, compare_exchange, exchange, choose, sleep };
    Kind kind = Kind::load;
    std::size_t word = 0;
    std::uint64_t expected = 0;
    std::uint64_t value = 0;  // of choose: how many
    bool is_buffered = false;
};

struct Pause {};  // thrown: the process has reached its next access
struct Broken {
    const char* what;
};

// The process that is run up to its next access.
struct Replay {
    const std::vector<std::uint64_t>* results = nullptr;
    std::size_t next = 0;
    Access access;
    bool must_end = false;
    bool is_at_once = false;
    std::size_t place = 0;  // this many results are part of the digest
    std::uint64_t digest = 0;
};
thread_local Replay replay;

std::uint64_t result_of(const Access& access) {
    if (replay.next < replay.results->size()) return (*replay.results)[replay.next++];
    replay.access = access;
    throw Pause{};
}

struct Process {
    std::vector<std::uint64_t> results;
    std::vector<std::pair<std::size_t, std::uint64_t>> buffer;  // stores on their way
    std::optional<Access> next;                                 // none: it has ended
    bool must_end = false;
    bool is_at_once = false;
    std::size_t place = 0;
    std::uint64_t digest = 0;
};

struct State {
    std::vector<std::uint64_t> memory;
    std::vector<Process> processes;
};

struct Hash {
    std::uint64_t a = 0x243f6a8885a308d3u;
    std::uint64_t b = 0x13198a2e03707344u;
    void add(std::uint64_t v) {
        a = (a ^ v) * 0x9e3779b97f4a7c15u;
        a ^= a >> 29;
        b = (b + v) * 0xd6e8feb86659fd93u;
        b ^= b >> 32;
    }
    friend bool operator==(const Hash&, const Hash&) = default;
};
struct HashOfHash {
    std::size_t operator()(const Hash& hash) const { return hash.a; }
};

Hash hash_of(const State& state) {
    Hash hash;
    for (const std::uint64_t word : state.memory) hash.add(word);
    for (const Process& process : state.processes) {
        hash.add(process.digest);
        hash.add(process.must_end);
        hash.add(process.results.size() - process.place);
        for (std::size_t i = process.place; i < process.results.size(); ++i)
            hash.add(process.results[i]);
        hash.add(process.buffer.size());
        for (const auto& [word, value] : process.buffer) {
            hash.add(word);
            hash.add(value);
        }
    }
    return hash;
}

// Which processes have accessed a word so far, in all explorations of a scenario.
struct Usage {
    std::uint32_t accessed_by = 0;  // a bit for each process
    bool is_changed = false;

    bool has_order() const { return is_changed && !std::has_single_bit(accessed_by); }
};

bool changes(const Access& access) {
    return access.kind != Access::Kind::load && access.kind != Access::Kind::choose;
}

class Explorer {
  public:
    Explorer(const Exploration::Scenario& scenario, std::vector<Usage>& usage)
        : scenario_(scenario), usage_(usage) {}

    // False: ordered accesses were mistaken for unordered ones.
    bool run() {
        State first;
        first.memory = scenario_.initially;
        first.memory.resize(scenario_.words);
        first.processes.resize(scenario_.processes.size());
        for (std::size_t p = 0; p < first.processes.size(); ++p) go_on(first, p);
        visit(std::move(first), 0);
        return !was_wrong_;
    }
    Exploration::Found found;

  private:
    // Runs the process up to its next access.
    void go_on(State& state, std::size_t p) {
        Process& process = state.processes[p];
        replay = Replay{};
        replay.results = &process.results;
        process.next.reset();
        try {
            scenario_.processes[p]();
        } catch (const Pause&) {
            process.next = replay.access;
        } catch (const Broken& broken) {
            fail(state, std::string("process ") + std::to_string(p) + ": " + broken.what);
        }
        process.must_end = replay.must_end;
        process.is_at_once = replay.is_at_once;
        process.place = replay.place;
        process.digest = replay.digest;
    }

    static bool can_go_on(const State& state, std::size_t p) {
        const Process& process = state.processes[p];
        if (!process.next) return false;
        const Access& access = *process.next;
        const bool needs_empty_buffer = access.kind == Access::Kind::compare_exchange ||
                                        access.kind == Access::Kind::exchange ||
                                        (access.kind == Access::Kind::store && !access.is_buffered);
        if (needs_empty_buffer && !process.buffer.empty()) return false;
        return access.kind != Access::Kind::sleep || state.memory[access.word] != 0;
    }

    // Whether its next access can be performed first without missing any order.
    bool comes_first(const Process& process) const {
        if (!process.next) return false;
        if (process.is_at_once) return true;
        const Access& access = *process.next;
        return access.kind != Access::Kind::choose && access.kind != Access::Kind::sleep &&
               !access.is_buffered && process.buffer.empty() && !usage_[access.word].has_order();
    }

    void note(std::size_t p, const Access& access) {
        if (access.kind == Access::Kind::choose) return;
        Usage& usage = usage_[access.word];
        const bool had_order = usage.has_order();
        usage.accessed_by |= std::uint32_t{1} << p;
        usage.is_changed |= changes(access);
        was_wrong_ |= usage.has_order() && !had_order;
    }

    void visit(State state, std::size_t depth) {
        bool is_running = true;
        while (is_running) {
            is_running = false;
            for (std::size_t p = 0; p < state.processes.size() && !is_running; ++p) {
                if (!comes_first(state.processes[p])) continue;
                const Access access = *state.processes[p].next;
                WEFT_ASSERT(access.kind != Access::Kind::choose &&
                            access.kind != Access::Kind::sleep);
                is_running = true;
                note(p, access);
                auto& buffer = state.processes[p].buffer;
                if (access.is_buffered || !buffer.empty()) {
                    // Performed at once: no store stays in the buffer.
                    for (const auto& [word, value] : buffer) state.memory[word] = value;
                    buffer.clear();
                }
                Access unbuffered = access;
                unbuffered.is_buffered = false;
                state.processes[p].results.push_back(perform(state, p, unbuffered, 0));
                go_on(state, p);
            }
        }
        if (was_wrong_ || !found.failure.empty() || !seen_.insert(hash_of(state)).second) return;
        ++found.states;
        if (depth > depth_max) return fail(state, "it goes on forever");
        bool is_end = true;
        for (std::size_t p = 0; p < state.processes.size(); ++p) {
            const Process& process = state.processes[p];
            if (!process.buffer.empty()) {
                is_end = false;
                State after = state;
                auto& buffer = after.processes[p].buffer;
                after.memory[buffer.front().first] = buffer.front().second;
                buffer.erase(buffer.begin());
                visit(std::move(after), depth + 1);
            }
            if (!can_go_on(state, p)) continue;
            const Access& access = *process.next;
            is_end = false;
            note(p, access);
            const std::uint64_t ways = access.kind == Access::Kind::choose ? access.value : 1;
            for (std::uint64_t way = 0; way < ways; ++way) {
                State after = state;
                after.processes[p].results.push_back(perform(after, p, access, way));
                go_on(after, p);
                visit(std::move(after), depth + 1);
            }
        }
        if (!is_end) return;
        ++found.ends;
        found.deepest = std::max(found.deepest, depth);
        for (std::size_t p = 0; p < state.processes.size(); ++p) {
            const Process& process = state.processes[p];
            if (process.next && process.must_end)
                fail(state, "process " + std::to_string(p) + " sleeps forever");
        }
    }

    static std::uint64_t perform(State& state, std::size_t p, const Access& access,
                                 std::uint64_t way) {
        std::uint64_t& word = state.memory[access.word];
        Process& process = state.processes[p];
        switch (access.kind) {
            case Access::Kind::load:
                for (auto at = process.buffer.rbegin(); at != process.buffer.rend(); ++at)
                    if (at->first == access.word) return at->second;
                return word;
            case Access::Kind::store:
                if (access.is_buffered)
                    process.buffer.emplace_back(access.word, access.value);
                else
                    word = access.value;
                return 0;
            case Access::Kind::compare_exchange: {
                const std::uint64_t before = word;
                if (before == access.expected) word = access.value;
                return before;
            }
            case Access::Kind::exchange: return std::exchange(word, access.value);
            case Access::Kind::choose: return way;
            case Access::Kind::sleep: return std::exchange(word, 0);
        }
        return 0;
    }

    void fail(const State& state, const std::string& what) {
        if (!found.failure.empty()) return;
        found.failure = what;
        for (const Process& process : state.processes) {
            for (const std::uint64_t result : process.results)
                found.trace += std::to_string(result) + " ";
            found.trace += "\n";
        }
    }

    const Exploration::Scenario& scenario_;
    std::vector<Usage>& usage_;
    bool was_wrong_ = false;
    std::unordered_set<Hash, HashOfHash> seen_;
};

thread_local bool memory_is_buffered = false;

}  // namespace

Exploration::Found Exploration::run(const Scenario& scenario) {
    memory_is_buffered = scenario.memory == Memory::buffered;
    std::vector<Usage> usage(scenario.words);
    while (true) {
        Explorer explorer(scenario, usage);
        if (explorer.run()) return explorer.found;
    }
}

std::uint64_t Exploration::load(std::size_t word) {
    return result_of({.kind = Access::Kind::load, .word = word});
}
void Exploration::store(std::size_t word, std::uint64_t value, std::memory_order order) {
    (void)result_of({.kind = Access::Kind::store,
                     .word = word,
                     .value = value,
                     .is_buffered = memory_is_buffered && order != std::memory_order_seq_cst});
}
std::uint64_t Exploration::compare_exchange(std::size_t word, std::uint64_t expected,
                                            std::uint64_t value) {
    return result_of({.kind = Access::Kind::compare_exchange,
                      .word = word,
                      .expected = expected,
                      .value = value});
}
std::uint64_t Exploration::exchange(std::size_t word, std::uint64_t value) {
    return result_of({.kind = Access::Kind::exchange, .word = word, .value = value});
}
std::size_t Exploration::choose(std::size_t n) {
    return result_of({.kind = Access::Kind::choose, .value = n});
}
std::uint64_t Exploration::sleep(std::size_t word) {
    return result_of({.kind = Access::Kind::sleep, .word = word});
}
void Exploration::is_at(std::uint64_t digest) {
    replay.place = replay.next;
    replay.digest = digest;
}
void Exploration::begin_at_once() { replay.is_at_once = true; }
void Exploration::end_at_once() { replay.is_at_once = false; }
void Exploration::check(bool holds, const char* what) {
    if (!holds) throw Broken{what};
}
void Exploration::must_end() { replay.must_end = true; }
void Exploration::may_end() { replay.must_end = false; }

}  // namespace weft::test
