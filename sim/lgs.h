// LogGOPSim's machine, result for result: `weft simulate --compat=lgs`.
//
// A rank has CPUs, and NICs with one side that sends and one that receives; each is described by
// the time when it is free again. Events happen in the order of (time, number). One whose resources
// are not free yet comes back when they are, with its old number.
//   calc     takes its time on the CPU
//   send     o + (s-1)O on the CPU, g + (s-1)G on the NIC; the message comes o + L after the start
//   recv     costs nothing: it takes a message that has come, or is posted
//   message  o + max((s-1)O, (s-1)G) on the receiver's CPU of the sender's number, g + (s-1)G on
//            the NIC, whether a receive is posted or not
// A send of more than S bytes ends when its message has met its receive, any other at once.
//
// Kept, because results depend on them: times are unsigned, so (s-1)G of an empty message is -G; a
// matched sender's CPU and NIC are those with the numbers of the event that matched; what a CPU has
// freed begins on another CPU when that is free, even earlier than it was freed; O does not delay
// the message. Otherwise than there, operations freed together keep their order (it sorts more than
// 16 unstably).
//
// Torsten Hoefler, Timo Schneider, Andrew Lumsdaine: LogGOPSim - Simulating Large-Scale
// Applications in the LogGOPS Model, 2010, doi:10.1145/1851476.1851564
#pragma once

#include <cstdint>
#include <vector>

#include "sim/goal.h"

namespace weft::simulate {

// Times in one unit, by convention ns.
struct LgsParameters {
    std::uint64_t L = 2500;   // latency
    std::uint64_t o = 1500;   // of a CPU, per message, at both ends
    std::uint64_t g = 1000;   // of a NIC, per message
    std::uint64_t G = 6;      // of a NIC, per byte
    std::uint64_t O = 0;      // of a CPU, per byte
    std::uint64_t S = 65535;  // bytes; larger messages wait for their receive
};

struct LgsOutcome {
    std::uint64_t events = 0;        // operations and messages
    std::uint64_t steps = 0;         // how often one was looked at
    std::vector<std::uint64_t> end;  // by rank: when its last CPU is free
};

// Refuses a program in which a message or a receive is left, or an operation never starts, with a
// sentence that names the rank; and one whose times together do not fit into 63 bits.
Result<LgsOutcome> simulate_lgs(const GoalProgram& program, const LgsParameters& parameters);

}  // namespace weft::simulate
