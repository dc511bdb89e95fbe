// What a process has of other jobs: bridges to their processes (transport/bridges.h), which groups
// with an out-of-band exchange make (process/join/across.cpp). Their processes are named by random
// numbers; in this process they have numbers behind the ranks of its job.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "run/executor.h"
#include "shape/topology.h"
#include "transport/bridges.h"

namespace weft {

class Outside {
  public:
    struct Bridge {
        std::uint64_t id = 0;                  // random, the same in all its processes
        std::vector<std::uint64_t> processes;  // by rank of the group that made it
        std::optional<EngineKind> engine;      // of all of them then; none: they differed
        // By rank of that group; of this process, its rank in its job.
        std::vector<Rank> numbers{};
        std::uint32_t users = 0;  // communicators
        const Bridges::Bridge* transports = nullptr;
    };

    // `nodes`: by rank of the job, its node's place in `node_names`. `cores`: shape/topology.h.
    Outside(Executor& executor, Engine& engine, Topology& topology, std::vector<Rank> nodes,
            std::vector<std::string> node_names, std::vector<Rank> cores, std::uint64_t process)
        : executor_(executor),
          engine_(engine),
          topology_(topology),
          nodes_(std::move(nodes)),
          node_names_(std::move(node_names)),
          cores_(std::move(cores)),
          process_(process) {}
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

    // This process; random.
    std::uint64_t process() const { return process_; }
    // Numbers the groups, for their names.
    std::uint64_t count_group() { return ++groups_; }

    // The bridges that reach all these processes, the last one that was made first.
    std::vector<std::uint64_t> reaching(std::span<const std::uint64_t> processes) const;
    // REQUIRES: it is there.
    Bridge& find(std::uint64_t id);
    // A new bridge, and by rank the node of each of its processes. Refused if a thread asked for
    // signals, which one of its transports cannot send, or if there are no descriptors. May throw.
    // Then nothing has happened.
    Status add(Bridge bridge, std::unique_ptr<Bridges::Bridge> transports, Rank own_rank,
               std::span<const std::string> nodes);
    // A communicator uses the bridge, or has ended.
    void begin_use(std::uint64_t id) { ++find(id).users; }
    void end_use(std::uint64_t id) { --find(id).users; }
    // Bridges that no communicator uses, but the last ones, which may be used again. The caller
    // ends them, which may block, without the engine.
    std::vector<std::unique_ptr<Bridges::Bridge>> take_unused();

  private:
    static constexpr std::size_t unused_max = 4;

    Executor& executor_;
    Engine& engine_;
    Topology& topology_;
    std::vector<Rank> nodes_;  // by number: its node's place in node_names_
    std::vector<std::string> node_names_;
    std::vector<Rank> cores_;  // by rank of the job; empty: nothing is known
    const std::uint64_t process_;
    std::uint64_t groups_ = 0;
    std::unique_ptr<Bridges> bridges_;  // null: none was made yet
    std::vector<Bridge> known_;         // in the order in which they were made
};

}  // namespace weft
