// One rank while the checker executes it: which operations may run, and which ranks it knows to
// have entered the call.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/repeats.h"
#include "schedule/schedule.h"

namespace weft::checking {

struct ReadyInstance {
    Rank rank;
    Instance instance;
};

// The ranks that must have entered before each instance runs, and before the rank leaves.
class Knowledge {
  public:
    Knowledge(Rank rank, Rank ranks, std::size_t instances);

    void forget(Instance instance);
    void learn(Instance instance, const Knowledge& other, Instance from) {
        merge(of(instance), other.of(from));
    }
    void finish(Instance instance) { merge(at_end_.data(), of(instance)); }
    bool at_end(Rank rank) const {
        return at_end_[static_cast<std::size_t>(rank) / 64] >> (rank % 64) & 1;
    }

  private:
    std::uint64_t* of(Instance instance) { return bits_.data() + instance * words_; }
    const std::uint64_t* of(Instance instance) const { return bits_.data() + instance * words_; }
    void merge(std::uint64_t* into, const std::uint64_t* from) const {
        for (std::size_t i = 0; i < words_; ++i) into[i] |= from[i];
    }

    Rank own_;
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
    std::vector<std::uint64_t> at_end_;
};

class Player {
  public:
    // Appends instances that become ready to `ready`. `learns`: keeps Knowledge, which costs
    // memory.
    Player(const Schedule& schedule, bool learns, std::vector<ReadyInstance>& ready);

    const Schedule& schedule() const { return *schedule_; }

    RepeatState::Position place(Instance instance) const;
    Op op(Instance instance) const;

    void start();
    void issued(Instance instance);
    void completed(Instance instance);

    bool has_completed(OpId outside_of_repeats) const {
        return missing_[outside_of_repeats] == done;
    }
    // A message brings what its sender knew when it sent it.
    void hear(Instance recv, const Player& sender, Instance send) {
        if (!knowledge_.empty()) knowledge_[0].learn(recv, sender.knowledge_[0], send);
    }
    bool knows_at_end(Rank rank) const { return knowledge_[0].at_end(rank); }

  private:
    static constexpr std::uint32_t done = 0xffffffffu;

    void release(Instance instance, Instance because_of);
    void follow(Edge edge, Instance from);

    const Schedule* schedule_;
    std::vector<ReadyInstance>* ready_;
    std::vector<std::uint32_t> missing_;  // by instance: edges still missing; `done`: completed
    std::vector<RepeatState> repeats_;
    std::vector<Knowledge> knowledge_;  // one, or none
};

}  // namespace weft::checking
