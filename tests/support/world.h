// A job of simulated ranks in one thread: the library's own processes over the simulated network,
// which is declared to be a torus (squarest_torus).
// The seed decides every delay and reordering, and which ranks share a node.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/sim/sim.h"
#include "process/process.h"
#include "support/call.h"

namespace weft::test {

// Nodes of uneven sizes, or one, whose ranks need not be consecutive: marks, by rank.
std::vector<Rank> nodes_of(Rank ranks, std::uint64_t seed);

class World {
  public:
    // Wraps a rank's transport before the process gets it.
    using Wrap = std::function<std::unique_ptr<Transport>(Rank, std::unique_ptr<Transport>)>;

    World(Rank ranks, std::uint64_t seed, SimOptions options = {},
          const CommunicatorSettings& settings = {}, const Wrap& wrap = {},
          bool checks_calls = false);

    Rank ranks() const { return static_cast<Rank>(processes_.size()); }
    SimNetwork& network() { return network_; }
    Process& process(Rank rank) { return *processes_[static_cast<std::size_t>(rank)]; }
    Communicator& world(Rank rank) { return process(rank).world(); }

    // Starts a call on a rank's world communicator; a refusal fails the test.
    Request* start(Rank rank, const Call& call);

    // Lets a little time pass; every rank polls once, in a random order. False: nothing more will
    // happen by itself.
    bool step();

    // Lets time pass until every one of these requests is done, and settles them. Returns their
    // codes; a request that can never be done fails the test with a list of which rank waits for
    // which.
    std::vector<weft_status> finish(const std::vector<std::pair<Rank, Request*>>& requests);

    // Starts a call on every rank in a random order, with time passing in between, and finishes
    // them.
    std::vector<weft_status> run_all(const std::function<Call(Rank)>& call_of);

  private:
    SimNetwork network_;
    Prng random_;
    std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace weft::test
