// All ranks of a simulation: counters, lanes and clocks, in little memory.
//
// A rank's words are the counters of missing predecessors, four in a word if they are bytes, then
// its lanes to peers, then those from peers.
// Thread safety: none.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <memory_resource>
#include <span>
#include <unordered_map>
#include <vector>

#include "schedule/repeats.h"
#include "sim/structure.h"

namespace weft::simulate {

// Memory in huge pages: a simulation of many ranks reads it in no order, and looking up the
// addresses of small pages would take longer than the reads.
class HugePages final : public std::pmr::memory_resource {
    static constexpr std::size_t page_bytes = std::size_t{2} << 20;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes < page_bytes) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
        void* const memory = std::pmr::new_delete_resource()->allocate(bytes, page_bytes);
        (void)madvise(memory, bytes, MADV_HUGEPAGE);  // without it, it is slower
        return memory;
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(memory, bytes,
                                                    bytes < page_bytes ? alignment : page_bytes);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

struct alignas(64) SimulatedRank {
    const Structure* structure = nullptr;
    std::uint32_t* words = nullptr;
    std::int64_t cpu_free_ps = 0;
    std::int64_t send_free_ps = 0;
    std::int64_t recv_free_ps = 0;
    std::int64_t cpu_ps = 0;
    std::int64_t end_ps = 0;
    std::uint32_t left = 0;     // operations not over, in all iterations
    std::uint32_t repeats = 0;  // their number + 1; 0: none
};
static_assert(sizeof(SimulatedRank) == 64);

struct SimulatedLane {
    std::uint32_t peer;
    std::uint32_t lane;  // its number there
};

// Messages of a lane come in order, and so are receives posted.
struct ArrivalLane {
    std::uint32_t posted = 0;  // receives
    std::uint32_t come = 0;    // messages
    // Messages of which the first byte has come. Before all is connected: the peer.
    std::uint32_t coming = 0;
};

class SimulatedRanks {
  public:
    // Where messages of more bytes are, lanes know where they come from.
    explicit SimulatedRanks(std::int64_t eager_bytes_max) : eager_bytes_max_(eager_bytes_max) {}

    // Also lanes without large messages. REQUIRES: no rank is added yet.
    void know_all_sources() { knows_all_sources_ = true; }

    // The next rank's schedule.
    void add(const Schedule& schedule);
    // Finds, for every lane, its number at the receiver. Refuses one without a receiver, and
    // a rank with too many operations.
    Status connect();
    // Refuses what has not ended.
    Status check_end();

    std::size_t size() const { return ranks_.size(); }
    SimulatedRank& operator[](std::size_t rank) { return ranks_[rank]; }
    const SimulatedRank& operator[](std::size_t rank) const { return ranks_[rank]; }
    std::size_t structures() const { return table_.size(); }
    // What all ranks keep, without what they share.
    std::size_t memory_bytes() const {
        return ranks_.size() * sizeof(SimulatedRank) + words_bytes_;
    }
    std::int64_t bytes_max() const { return bytes_max_; }        // of a message
    std::int64_t op_bytes_max() const { return op_bytes_max_; }  // of any operation

    SimulatedLane& to(SimulatedRank& rank, std::size_t lane) const {
        std::uint32_t* const lanes = rank.words + counters_of(rank);
        return *reinterpret_cast<SimulatedLane*>(lanes + lane * words_of<SimulatedLane>);
    }
    ArrivalLane& from(SimulatedRank& rank, std::size_t lane) const {
        std::uint32_t* const lanes = rank.words + counters_of(rank) +
                                     rank.structure->sends().lanes() * words_of<SimulatedLane>;
        return *reinterpret_cast<ArrivalLane*>(lanes + lane * arrival_words(*rank.structure));
    }
    // Where its messages come from. REQUIRES: one of them is large, or know_all_sources().
    static SimulatedLane& source(ArrivalLane& lane) {
        return *reinterpret_cast<SimulatedLane*>(&lane + 1);
    }
    static const SimulatedLane& source(const ArrivalLane& lane) {
        return *reinterpret_cast<const SimulatedLane*>(&lane + 1);
    }

    // An operation is over: adds those that waited for it alone to `ready`.
    void complete(SimulatedRank& rank, Instance instance, std::int64_t now_ps,
                  std::vector<Instance>& ready) {
        end(rank, now_ps);
        const Schedule& schedule = rank.structure->schedule();
        const auto release_one = [&](Instance after) { release(rank, after, ready); };
        RepeatState* const state = state_of(rank, instance);
        if (!state) {
            for (const Edge edge : schedule.after_completion(instance)) release_one(edge.to);
            if (rank.repeats == 0) return;
            for (RepeatState& next : repeats_[rank.repeats - 1]) {
                if (next.repeat().entry == instance) next.begin(missing(rank), release_one);
            }
            return;
        }
        const RepeatState::Position at = state->position(instance);
        for (const Edge edge : schedule.after_completion(at.op))
            state->follow(edge, at.iteration, release_one);
        state->complete(at.iteration, missing(rank), release_one);
    }
    // The end of an operation that no other waits for. REQUIRES: !is_awaited()
    static void end(SimulatedRank& rank, std::int64_t time_ps) {
        --rank.left;
        rank.end_ps = std::max(rank.end_ps, time_ps);
    }
    static bool is_awaited(const SimulatedRank& rank, Instance instance) {
        return rank.repeats > 0 || !rank.structure->schedule().after_completion(instance).empty();
    }
    // A message is posted: the lane's next one may be.
    void issue(SimulatedRank& rank, Instance instance, OpInstance at,
               std::vector<Instance>& ready) {
        const Edge next = rank.structure->schedule().after_issue(at.op);
        if (next.to == Schedule::no_issue) return;
        if (RepeatState* const state = state_of(rank, instance))
            state->follow(next, at.iteration, [&](Instance after) { release(rank, after, ready); });
        else
            release(rank, next.to, ready);
    }
    // Brings what complete() will need into the cache. REQUIRES: the rank has no repeats.
    void fetch_after(SimulatedRank& rank, OpId op, int depth) const {
        const Structure& structure = *rank.structure;
        for (const Edge edge : structure.schedule().after_completion(op)) {
            const std::uint32_t counter = structure.counter_of(edge.to);
            if (counter != Structure::no_counter)
                __builtin_prefetch(rank.words +
                                   (structure.counts_in_bytes() ? counter / 4 : counter));
            const OpKind kind = structure.schedule().ops()[edge.to].kind;
            if (kind == OpKind::send)
                __builtin_prefetch(&to(rank, structure.lane_of(edge.to)));
            else if (depth > 0)
                fetch_after(rank, edge.to, depth - 1);
        }
    }

    OpInstance position(SimulatedRank& rank, Instance instance) {
        const RepeatState* const state = state_of(rank, instance);
        if (!state) return {instance, 0};
        const RepeatState::Position at = state->position(instance);
        return {at.op, at.iteration};
    }
    Instance instance(SimulatedRank& rank, OpInstance at) {
        if (rank.repeats == 0) return at.op;
        for (const RepeatState& state : repeats_[rank.repeats - 1]) {
            if (state.repeat().holds(at.op)) return state.instance(at.op, at.iteration);
        }
        return at.op;
    }

  private:
    // Null: it is outside repeats.
    RepeatState* state_of(SimulatedRank& rank, Instance instance) {
        return rank.repeats == 0 ? nullptr : repeat_at(repeats_[rank.repeats - 1], instance);
    }
    std::span<std::uint32_t> missing(SimulatedRank& rank) const {
        return {rank.words, counters_of(rank)};
    }
    // One predecessor less: it is over, or posted.
    static void release(SimulatedRank& rank, Instance instance, std::vector<Instance>& ready) {
        std::uint32_t counter = instance;
        if (rank.repeats == 0) {
            counter = rank.structure->counter_of(instance);
            if (counter == Structure::no_counter) return ready.push_back(instance);
        }
        const bool is_last = rank.structure->counts_in_bytes()
                                 ? --reinterpret_cast<std::uint8_t*>(rank.words)[counter] == 0
                                 : --rank.words[counter] == 0;
        if (is_last) ready.push_back(instance);
    }

    template <class Record>
    static constexpr std::size_t words_of = sizeof(Record) / sizeof(std::uint32_t);

    // A lane from a peer that may have large messages, or any, also says where they come from.
    bool has_sources(const Structure& structure) const {
        return knows_all_sources_ || structure.bytes_max() > eager_bytes_max_;
    }
    std::size_t arrival_words(const Structure& structure) const {
        return words_of<ArrivalLane> + (has_sources(structure) ? words_of<SimulatedLane> : 0);
    }

    // In words.
    static std::uint32_t counters_of(const Structure& structure) {
        return structure.counts_in_bytes() ? (structure.counters() + 3) / 4 : structure.counters();
    }
    std::uint32_t counters_of(const SimulatedRank& rank) const {
        if (rank.repeats == 0) return counters_of(*rank.structure);
        const RepeatState& last = repeats_[rank.repeats - 1].back();
        const auto rows = static_cast<std::uint32_t>(std::min<std::int64_t>(
            last.repeat().iterations, 2 * std::int64_t{last.repeat().window}));
        return last.first_instance() + rows * last.repeat().ops;
    }

    static constexpr std::uint32_t rank_instances_max = 0xffffffffu;
    static constexpr std::uint32_t no_lane = 0xffffffffu;
    static constexpr std::uint32_t few_lanes = 64;

    using FoundLanes = std::unordered_map<std::uint64_t, std::uint32_t>;
    std::uint32_t find_lane(SimulatedRank& rank, std::uint32_t number, std::uint32_t sender,
                            std::uint32_t guess, FoundLanes& found) const;

    const std::int64_t eager_bytes_max_;
    bool knows_all_sources_ = false;
    StructureTable table_;
    HugePages huge_pages_;
    std::pmr::monotonic_buffer_resource memory_{&huge_pages_};  // of ranks' words
    std::pmr::vector<SimulatedRank> ranks_{&huge_pages_};
    std::deque<std::vector<RepeatState>> repeats_;  // by number: of a rank
    std::size_t words_bytes_ = 0;
    std::int64_t bytes_max_ = 0;
    std::int64_t op_bytes_max_ = 0;
    std::uint64_t instances_max_ = 0;  // of a rank's operations, in all iterations
};

}  // namespace weft::simulate
