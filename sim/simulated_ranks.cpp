#include "sim/simulated_ranks.h"

namespace weft::simulate {

void SimulatedRanks::add(const Schedule& schedule) {
    const Interned interned = table_.intern(schedule);
    const Structure& structure = *interned.structure;
    SimulatedRank& rank = ranks_.emplace_back();
    rank.structure = &structure;
    bytes_max_ = std::max(bytes_max_, structure.bytes_max());
    op_bytes_max_ = std::max(op_bytes_max_, structure.op_bytes_max());
    instances_max_ = std::max(instances_max_, structure.instances());
    if (instances_max_ > rank_instances_max) return;  // connect() refuses it
    rank.left = static_cast<std::uint32_t>(structure.instances());

    std::uint32_t counters = counters_of(structure);
    const Schedule& shared = structure.schedule();
    if (!shared.repeats().empty()) {
        std::vector<std::uint32_t> missing(structure.counters());
        std::vector<RepeatState>& states = repeats_.emplace_back();
        for (const Repeat& repeat : shared.repeats()) states.emplace_back(shared, repeat, missing);
        counters = static_cast<std::uint32_t>(missing.size());
        rank.repeats = static_cast<std::uint32_t>(repeats_.size());
        words_bytes_ += sizeof states + states.size() * sizeof(RepeatState);
    }
    const std::size_t words = counters + interned.to.size() * words_of<SimulatedLane> +
                              interned.from.size() * arrival_words(structure);
    rank.words = static_cast<std::uint32_t*>(memory_.allocate(words * sizeof(std::uint32_t), 8));
    std::fill_n(rank.words, words, 0);
    words_bytes_ += words * sizeof(std::uint32_t);
    for (OpId op = 0; op < shared.ops().size(); ++op) {
        const std::uint32_t counter = structure.counter_of(op);
        if (counter == Structure::no_counter) continue;
        const std::uint32_t missing = shared.in_degree()[op];
        if (structure.counts_in_bytes())
            reinterpret_cast<std::uint8_t*>(rank.words)[counter] =
                static_cast<std::uint8_t>(missing);
        else
            rank.words[counter] = missing;
    }
    for (std::size_t i = 0; i < interned.to.size(); ++i)
        to(rank, i).peer = static_cast<std::uint32_t>(interned.to[i]);
    for (std::size_t i = 0; i < interned.from.size(); ++i)
        from(rank, i).coming = static_cast<std::uint32_t>(interned.from[i]);
}

Status SimulatedRanks::connect() {
    if (instances_max_ > rank_instances_max)
        return failure(WEFT_REFUSED_ARGUMENT,
                       "a rank has %llu operations; expected at most %u, with larger segments",
                       static_cast<unsigned long long>(instances_max_), rank_instances_max);
    FoundLanes found;  // by rank and peer, for ranks with many lanes
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        for (std::uint32_t i = 0; i < ranks_[r].structure->sends().lanes(); ++i) {
            SimulatedLane& lane = to(ranks_[r], i);
            if (lane.peer >= ranks_.size())
                return failure(WEFT_REFUSED_ARGUMENT,
                               "rank %u sends to rank %u, which has no schedule", r, lane.peer);
            SimulatedRank& peer = ranks_[lane.peer];
            lane.lane = find_lane(peer, lane.peer, r, i, found);
            if (lane.lane == no_lane)
                return failure(WEFT_REFUSED_ARGUMENT,
                               "rank %u sends to rank %u, which receives nothing from it", r,
                               lane.peer);
            if (has_sources(*peer.structure)) source(from(peer, lane.lane)) = {r, i};
        }
    }
    for (SimulatedRank& rank : ranks_) {
        for (std::size_t i = 0; i < rank.structure->recvs().lanes(); ++i) from(rank, i).coming = 0;
    }
    return ok;
}

// The number of `rank`'s lane from `sender`; probably `guess`.
std::uint32_t SimulatedRanks::find_lane(SimulatedRank& rank, std::uint32_t number,
                                        std::uint32_t sender, std::uint32_t guess,
                                        FoundLanes& found) const {
    const auto lanes = static_cast<std::uint32_t>(rank.structure->recvs().lanes());
    if (guess < lanes && from(rank, guess).coming == sender) return guess;
    if (lanes <= few_lanes) {
        for (std::uint32_t i = 0; i < lanes; ++i) {
            if (from(rank, i).coming == sender) return i;
        }
        return no_lane;
    }
    const auto key = [&](std::uint32_t peer) { return std::uint64_t{number} << 32 | peer; };
    if (!found.contains(key(from(rank, 0).coming))) {
        for (std::uint32_t i = 0; i < lanes; ++i) found.emplace(key(from(rank, i).coming), i);
    }
    const auto it = found.find(key(sender));
    return it == found.end() ? no_lane : it->second;
}

Status SimulatedRanks::check_end() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].left > 0)
            return failure(WEFT_REFUSED_ARGUMENT,
                           "deadlock: rank %u waits for ever, with %u operations left", r,
                           ranks_[r].left);
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        for (std::uint32_t i = 0; i < ranks_[r].structure->sends().lanes(); ++i) {
            const SimulatedLane& lane = to(ranks_[r], i);
            const ArrivalLane& arrivals = from(ranks_[lane.peer], lane.lane);
            if (arrivals.come > arrivals.posted)
                return failure(WEFT_REFUSED_ARGUMENT,
                               "rank %u has no receive for a message from rank %u", lane.peer, r);
        }
    }
    return ok;
}

}  // namespace weft::simulate
