// The living operations, and the MPI requests by which the program knows them.
//
// Thread safety: any thread.
#pragma once

#include <vector>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/operation.h"

namespace weft::dropin {

// Whether the program has, or had, a request of any operation: if not, completion functions go
// straight to the MPI.
bool has_operations();
// Finds the operations of requests. While it lives, other threads neither enter nor leave any.
class OperationLookup {
  public:
    // Null: a request that only the MPI knows.
    Operation* of(MPI_Request request) const;

  private:
    const Exclusive exclusive_;
};
inline Operation* operation_of(MPI_Request request) {
    return has_operations() ? OperationLookup().of(request) : nullptr;
}

// A new one, in its first state; with a generalized request, if it needs one and one is left.
Operation& take_unused(bool is_generalized);
// It is over: resets it to its first state, except for the memory of its arrays and a generalized
// request.
void give_back(Operation& operation);

// operation_of() finds it from now on; or no longer.
void enter(Operation& operation);
void leave(Operation& operation);
// The MPI frees the generalized request of an operation that has left.
void disown(Operation& operation);

// Operations that have begun and are not known to be over. Null: on any communicator.
std::vector<Operation*> pending_operations(const TakenComm* comm);

// Operations that the program has not completed or freed.
std::vector<Operation*> left_operations();
// Completes the generalized requests of operations that are not in use.
void close_unused();

}  // namespace weft::dropin
