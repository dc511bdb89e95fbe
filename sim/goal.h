// Programs in GOAL, the language of LogGOPSim: the sends, receives and calculations of every rank,
// and what each waits for. This is the text that `weft schedule --format goal` writes.
//
//   num_ranks 2
//   rank 0 {
//   s: send 8b to 1 tag 3
//   c: calc 500
//   c requires s
//   }
//   rank 1 { r: recv 8b from -1 tag -1
//   }
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schedule/schedule.h"

namespace weft::simulate {

inline constexpr Rank any_source = -1;
inline constexpr std::uint32_t any_tag = 0xffffffffu;

enum class GoalKind : std::uint8_t { send, recv, calc };

struct GoalOp {
    GoalKind kind = GoalKind::calc;
    std::uint8_t cpu = 0;
    std::uint8_t nic = 0;
    Rank peer = 0;  // of a receive: or any_source
    std::uint32_t tag = 0;
    std::uint32_t line = 0;  // of the text
    std::uint64_t size = 0;  // bytes; of a calculation: its time
};

// Operations are numbered by rank, in the order of the text.
struct GoalOrder {
    std::uint32_t before;
    std::uint32_t after;
    bool by_start;  // `after` waits for `before` to start (irequires), not to end (requires)
};

struct GoalRank {
    std::vector<GoalOp> ops;
    std::vector<GoalOrder> orders;
};

using GoalProgram = std::vector<GoalRank>;  // by rank

// Refuses a text that is no GOAL with a sentence that names the line. Comments stand where a
// statement could begin. What follows the last rank is not read.
Result<GoalProgram> read_goal(std::string_view text);

// The program as schedules, for the LogGP machine.
//
// A calculation of n ns becomes a copy of n bytes; one of 0 ns a join, which needs no CPU. Messages
// of a lane keep their order: a later one does not overtake an earlier one that still waits for
// something. Refuses, with a sentence that names the line, what schedules do not have: irequires,
// several CPUs or NICs, receives from any rank, messages to oneself, and messages between two ranks
// that are received in another order, by their tags, or with another size than they are sent.
Result<std::vector<Schedule>> schedules_of(const GoalProgram& program);

}  // namespace weft::simulate
