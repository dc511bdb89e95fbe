// All ranks of a simulation: counters, lanes and clocks, in little memory.
//
// A rank's words are the counters of missing predecessors, four in a word if they are bytes, then its lanes to peers,
// then those from peers.
// Thread safety: none.
#pragma once

#include <algorithm>
#include <deque>
#include <memory_resource>
#include <span>
#include <unordered_map>
#include <vector>

#include "schedule/repeat_state.h"
#include "sim/huge_pages.h"
#include "sim/structure.h"

namespace weft::simulate {

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
    // Finds, for every lane, its number at the receiver. Refuses one that nobody receives from, and a rank
    // with too many operations.
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

    // REQUIRES: the rank has repeats.
    std::span<std::uint32_t> missing(SimulatedRank& rank) const {
        return {rank.words, counters_of(rank)};
    }
    // One predecessor less; whether it was the last. REQUIRES: the rank has no repeats.
    static bool count_down(SimulatedRank& rank, std::uint32_t counter) {
        if (rank.structure->counts_in_bytes())
            return --reinterpret_cast<std::uint8_t*>(rank.words)[counter] == 0;
        return --rank.words[counter] == 0;
    }
    static const void* place_of(const SimulatedRank& rank, std::uint32_t counter) {
        return rank.words + (rank.structure->counts_in_bytes() ? counter / 4 : counter);
    }

    // Null: it is outside repeats.
    RepeatState* state_of(SimulatedRank& rank, Instance instance) {
        return rank.repeats == 0 ? nullptr : repeat_at(repeats_[rank.repeats - 1], instance);
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

    // REQUIRES: the rank has some.
    std::vector<RepeatState>& repeats(const SimulatedRank& rank) {
        return repeats_[rank.repeats - 1];
    }

  private:
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
