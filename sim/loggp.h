// The LogGP machine: how long the schedules of all ranks take, by simulating every operation and
// message.
//
// A rank has a CPU, and a network interface with a sending and a receiving side. Each does one
// thing at a time, in the order in which it is asked; of things asked for at the same time, in the
// order in which they were found.
//   send      CPU: o + (s-1)O. Then the sending side: g + (s-1)G; its first byte takes L
//   message   receiving side: g + (s-1)G from the first byte; the last one has come after (s-1)G
//   receive   CPU: o + (s-1)O, when it is posted and the last byte has come
//   reduction, copy     CPU: the bytes by gamma, or by copy
// s-1 stands for 0 if a message is empty. Joins take no time. The receiver's CPU may have an o and
// O of its own. The sender's CPU may store all bytes into the network itself (MessageEnds): then
// the sending side begins after o, beside the CPU.
//
// A send ends with its part of the CPU, up to S bytes. A larger message first sends an empty one,
// in the same way; the receiver answers with another when the receive is posted; then the data
// follows, and the send ends when the last byte has left. A card (Progress) answers when the
// receive is posted, without a question.
//
// On a torus whose links go one way, a message is a flow over the links of its way, from the
// sender's interface to the receiver's. Flows that meet share links and interfaces by max-min
// fairness; a rank sends one message at a time. The first byte takes L and a time for each link.
// Ranks that share a node of the torus share its interface.
//
// Between nodes of several ranks without a torus, a message also goes through two links, out of the
// sender's node and into the receiver's, which all ranks of the node share; the receiving side gets
// all its bytes at once. Messages within a node have their own parameters, and their own sides of
// the interface (NodesParameters).
//
// Ranks may compute beside the collective (Progress); then a rank ends when both are over.
//
// model/loggp.h says where the model comes from.
#pragma once

#include <memory>
#include <vector>

#include "schedule/schedule.h"
#include "sim/disturbance.h"
#include "sim/outcome.h"
#include "sim/surroundings.h"

namespace weft::simulate {

// Thread safety: none.
class LogGpMachine {
  public:
    // `torus`: of as many nodes as there are; the caller keeps it. Null: no links are shared.
    explicit LogGpMachine(const LogGpParameters& parameters, const Disturbance& disturbance = {},
                          const TorusParameters* torus = nullptr);
    ~LogGpMachine();
    LogGpMachine(const LogGpMachine&) = delete;
    LogGpMachine& operator=(const LogGpMachine&) = delete;

    // Ranks share nodes, which have as many ranks as are added. On a torus, its links are used
    // instead of the nodes'. REQUIRES: no rank is added yet; if ranks share cores, no torus, and no
    // progress but the plain one, or a thread that shares its core, without noise.
    void set_nodes(const NodesParameters& nodes);

    // What the ends of a message between nodes do, if they do not do the same. REQUIRES: no
    // progress by a card, if the CPU sends; plain progress and no torus, if it receives along.
    void set_ends(const MessageEnds& ends);

    // Who advances the collective. Default: a CPU that does nothing else.
    void set_progress(const Progress& progress);

    // The next rank's schedule, which need not live longer.
    void add(const Schedule& schedule);

    // Once, after all ranks. Refuses schedules that do not end, with a sentence that names a rank.
    // Appends to `spans`, unless it is null, what ranks were doing.
    Result<LogGpOutcome> run(std::vector<BusySpan>* spans = nullptr);

    std::size_t structures() const;
    // What ranks keep for themselves: lanes, counters and clocks.
    std::size_t rank_memory_bytes() const;

  private:
    class Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace weft::simulate
