// Calls that a rank cannot make as they are, though other ranks may: mistakes of the program on one
// rank. The MPI may make them, or report an error there. The other ranks are told
// (weft_comm_refuse_call), so that none waits forever.
//
// Thread safety: any thread.
#pragma once

#include <functional>

#include "mpi_dropin/part/operations.h"

namespace weft::dropin {

struct ProgramCall {
    MpiCollective collective;
    Form form;
    Arguments arguments;
    MPI_Comm comm;
    MPI_Request* request;
};

// Makes a call that take() has refused in the way in which the MPI makes it, or raises the MPI's
// own error. `ask` calls the MPI's nonblocking function. Returns what the call returns.
int take_or_refuse(const ProgramCall& call, WrongArguments refusal,
                   const std::function<int(MPI_Request*)>& ask);

}  // namespace weft::dropin
