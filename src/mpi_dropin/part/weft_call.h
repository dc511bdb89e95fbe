// A collective as Weft gets it: blocks in bytes, reductions in elements.
#pragma once

#include <weft/weft.h>

#include <cstddef>
#include <cstdint>

#include "mpi_dropin/part/operation_store.h"
#include "mpi_dropin/part/statistics.h"

namespace weft::dropin {

constexpr WrongArguments unsuitable_op{MPI_ERR_OP,
                                       "an operation that is null or does not suit its type"};

bool combines(MpiCollective collective);
// Whether not all ranks know how many bytes a call moves.
bool has_local_sizes(MpiCollective collective);

// Whose a call is.
enum class Taker : std::uint8_t {
    weft,
    the_mpi,  // on all ranks
    nobody    // this rank cannot make it, though others may
};

// Describes the program's call to Weft, and its buffers in `operation`. `calls_back`: the MPI may
// combine. `refusal` says why it is nobody's.
Taker prepare(Operation& operation, const ProgramCall& program, bool calls_back, Copies copies,
              weft_call& call, WrongArguments& refusal);

// Starts it, or, if persistent, creates it.
weft_status begin(Operation& operation, weft_call& call);

}  // namespace weft::dropin
