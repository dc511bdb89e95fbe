// Executes the schedules of all ranks and compares the data with the promise of their call, with guards
// around every buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "offload/task_lists.h"
#include "reduce/reduce.h"
#include "schedule/postcondition.h"
#include "schedule/schedule.h"
#include "support/interpret.h"

namespace weft::test {

// Elements of 8 bytes, and how they are combined.
struct Arithmetic {
    const char* name;
    Reduction reduction;
    std::uint64_t (*operand)(Rank rank, std::int64_t index);
    // Null: combining rounds. There is no sequential order to compare with, but all ranks agree.
    std::uint64_t (*combine)(std::uint64_t left, std::uint64_t right);
};

extern const Arithmetic sum_of_integers;
extern const Arithmetic sum_of_reals;
extern const Arithmetic composition;  // of affine functions: does not commute
extern const Arithmetic mixing;       // neither commutes nor associates

// The one that exposes every order of combination that the promise forbids.
const Arithmetic& strictest(const Postcondition& promise);

class Execution {
  public:
    Execution(const Postcondition& promise, const Arithmetic& arithmetic);

    // Executes the schedules in an order that depends on the seed. Returns what went wrong, or nothing. Call it once.
    std::string run(std::span<const Schedule> schedules, std::uint64_t seed);
    std::string run(std::span<const Tasks> tasks, std::uint64_t seed);
    // The same, executed by `carry_out`, which gets the buffers by rank.
    std::string run(const std::function<Interpretation(std::span<const Buffers>)>& carry_out);

  private:
    using Memory = std::vector<std::byte>;  // with guards on both sides

    Memory& memory(const Holding& held);
    std::uint64_t read(const Holding& held, std::int64_t at);
    std::uint64_t expected(const Holding& held, std::int64_t at);
    bool is_right(const Holding& held, std::int64_t at);

    const Postcondition& promise_;
    const Arithmetic& arithmetic_;
    std::vector<Memory> send_;
    std::vector<Memory> recv_;
};

}  // namespace weft::test
