// The LogGP machine: how long the schedules of all ranks take, by simulating every operation and message.
//
// A rank has a CPU and a network interface with one side that sends and one that receives. Each does one
// thing at a time, in the order in which it is asked; of things asked for at the same time, in the order
// in which they were found.
//   send      CPU: o + (s-1)O. Then the sending side: g + (s-1)G, from its start the first byte takes L
//   message   receiving side: g + (s-1)G from the first byte; the last one has come after (s-1)G
//   receive   CPU: o + (s-1)O, when it is posted and the last byte has come
//   reduction, copy     CPU: the bytes by gamma, or by copy
// The receiver's CPU may have an o and O of its own, and the sender's may store all bytes into the network itself:
// then the sending side begins after o, beside the CPU.
// A send is over with its part of the CPU. Where s > S, it first sends an empty message in the same way;
// the receiver answers with another when the receive is posted; the data follows, and the send is over
// when the last byte has left. A card (progress.h) answers when the receive is posted, without a question. s - 1 stands
// for 0 if a message is empty. Joins take no time.
//
// On a torus whose links go one way, a message is a flow over the links of its way, from the sender's
// interface to the receiver's. Flows that meet share links and interfaces by max-min fairness; a rank sends
// one message at a time. The first byte takes L and a time for each link. Ranks that share a node of the torus share its
// interface.
//
// Of nodes with several ranks and no torus, a message to another node also goes through two links, out of the sender's node
// and into the receiver's, which all ranks of the node share; the receiving side gets all its bytes at once.
// A message within a node has parameters, and sides of an interface, of its own (nodes.h).
//
// Ranks may compute beside the collective (progress.h); then a rank ends when both are over.
//
// model/loggp.h says where the model comes from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/loggp.h"
#include "schedule/schedule.h"
#include "shape/torus.h"
#include "sim/disturbance.h"
#include "sim/nodes.h"
#include "sim/profile.h"
#include "sim/progress.h"

namespace weft::simulate {

using model::LogGpParameters;
using model::time_max_ps;  // later ones are refused

struct LogGpOutcome {
    std::uint64_t events = 0;          // operations other than joins, and messages
    std::vector<std::int64_t> end_ps;  // by rank: when its last operation is over
    std::vector<std::int64_t> cpu_ps;  // by rank: how long its CPU was busy with the collective
    // By rank: for how long, from its start to its end, the program's CPU did nothing; nor was it taken away.
    std::vector<std::int64_t> waiting_ps;
    std::vector<std::int64_t>
        disturbed_ps;  // by rank: its late start, and noise while it worked; or empty
};

// One rank at each node, unless ranks share nodes.
struct TorusParameters {
    Torus torus;
    std::int64_t link_byte_ps = 6'000;  // of a link; an interface takes G
    std::int64_t hop_ps = 0;            // for each link on the way
};

// What one part of a rank does for a while.
struct BusySpan {
    enum class Unit : std::uint8_t { cpu, sending, receiving, card };
    enum class Work : std::uint8_t { send, recv, reduction, copy, question, answer, list };
    std::uint32_t rank;
    Unit unit;
    Work work;
    std::int64_t begin_ps;
    std::int64_t end_ps;
};

// Thread safety: none.
class LogGpMachine {
  public:
    // `torus`: of as many nodes as there are; the caller keeps it. Null: no links are shared.
    explicit LogGpMachine(const LogGpParameters& parameters, const Disturbance& disturbance = {},
                          const TorusParameters* torus = nullptr);
    ~LogGpMachine();
    LogGpMachine(const LogGpMachine&) = delete;
    LogGpMachine& operator=(const LogGpMachine&) = delete;

    // Ranks share nodes, which have as many ranks as are added. On a torus, its links are used instead of the nodes'.
    // REQUIRES: no rank is added yet; if ranks share cores, no torus, and no progress but the plain one, or a thread that
    // shares its core, without noise.
    void set_nodes(const NodesParameters& nodes);

    // What the ends of a message between nodes do, if they do not do the same. REQUIRES: no progress by a card, if the
    // CPU sends; plain progress and no torus, if it receives along.
    void set_ends(const MessageEnds& ends);

    // Who advances the collective; if nobody says, a CPU that does nothing else.
    void set_progress(const Progress& progress);

    // The next rank's schedule, which need not live longer.
    void add(const Schedule& schedule);

    // Once, after all ranks. Refuses schedules that do not end, with a sentence that names a rank. Appends to
    // `spans`, unless it is null, what ranks were doing.
    Result<LogGpOutcome> run(std::vector<BusySpan>* spans = nullptr);

    std::size_t structures() const;
    // What ranks keep for themselves: lanes, counters and clocks.
    std::size_t rank_memory_bytes() const;

  private:
    class Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace weft::simulate
