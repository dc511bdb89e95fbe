// The parts of the checker. Each adds its findings; later ones assume that earlier ones have none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedule/check/values.h"
#include "schedule/check/verdict.h"
#include "schedule/postcondition.h"
#include "schedule/schedule.h"

namespace weft::checking {

// The first few findings.
class Findings {
  public:
    void add(Flaw flaw, std::string sentence) {
        if (list_.size() < shown_max) list_.push_back({flaw, std::move(sentence)});
    }
    bool empty() const { return list_.empty(); }
    bool full() const { return list_.size() == shown_max; }
    std::vector<Finding> take() { return std::move(list_); }

  private:
    static constexpr std::size_t shown_max = 4;
    std::vector<Finding> list_;
};

// "operation 3 of rank 1 (recv recv[0..8) <- rank 0)", with the iteration if it is in a repeat.
std::string name_of(const Schedule& schedule, OpId op, std::int64_t iteration);

inline bool reads(const Op& op) { return op.reads(); }
inline bool writes(const Op& op) { return op.writes(); }
// Whether the operation may also overwrite the operand that it reads.
inline bool spoils(const Op& op) { return op.kind == OpKind::reduce_right; }

// The schedules belong together, no edge enters or leaves a repeat, regions lie in their buffers.
void check_structure(std::span<const Schedule> schedules, const Postcondition& promise,
                     Findings& findings);

// Sends and receives meet in pairs of equal size.
void check_lanes(std::span<const Schedule> schedules, Findings& findings);

// No two unordered operations conflict.
void check_hazards(const Schedule& schedule, Findings& findings);

// The contents of one rank's buffers.
struct Buffers {
    Memory send;
    Memory recv;
    Memory scratch;

    Memory& of(Buffer buffer) {
        return buffer == Buffer::send ? send : buffer == Buffer::recv ? recv : scratch;
    }
};

// Runs all ranks to their end or to a deadlock; `buffers` then hold the result. Returns the number
// of operations executed.
std::int64_t play(std::span<const Schedule> schedules, const Postcondition& promise,
                  std::vector<Buffers>& buffers, Terms& terms, Findings& findings);

void check_result(const Postcondition& promise, std::vector<Buffers>& buffers, Terms& terms,
                  Findings& findings);

}  // namespace weft::checking
