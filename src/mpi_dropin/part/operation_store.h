// The living operations, and the MPI requests by which the program knows them.
//
// Thread safety: any thread.
#pragma once

#include <weft/weft.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "mpi_dropin/part/communicators.h"
#include "mpi_dropin/part/datatypes.h"
#include "mpi_dropin/part/packed_buffer.h"
#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

// A call that Weft has taken, and its buffers.
struct Operation {
    MPI_Request handle = MPI_REQUEST_NULL;
    weft_request request = WEFT_REQUEST_NULL;
    TakenComm* comm = nullptr;  // kept
    MpiCollective collective = MpiCollective::Barrier;
    int function = 0;
    bool is_persistent = false;
    bool is_active = false;
    bool is_over = false;  // Weft's operation is
    bool is_told = false;  // and the MPI knows
    bool is_hidden = false;
    bool is_freed = false;                // by the program, while it was active
    Operation* next_abandoned = nullptr;  // then
    bool keeps_handle = false;    // a generalized request that is in the map, whether in use or not
    Operation** owner = nullptr;  // ... in which it knows this operation
    int outcome = MPI_SUCCESS;
    int ticket = -1;  // of the message that completes a persistent request
    CombiningByMpi* combining = nullptr;
    std::size_t bytes = 0;  // of the call, as statistics count them
    bool stores = false;    // recv's copy goes to the program at the end
    bool fetches = false;   // ... and comes from there at the start
    // Not a collective but the MPI's own Comm_idup: the communicator is taken when the request has
    // completed.
    bool is_constructor = false;

    PackedBuffer send, recv;
    // A rank's part for itself, of which it sends less than it expects: moved from copy to copy,
    // not by Weft.
    struct OwnPart {
        std::size_t from = 0, to = 0, bytes = 0;
    } own{};
    std::vector<std::size_t> elements;  // of the blocks of a reduce_scatter

    std::int64_t started_ns = 0;     // with statistics
    std::int64_t waited_ns = 0;      // since the program began to wait for it
    std::int64_t waiting_ns = 0;     // its share of the time inside waits
    std::int64_t wait_began_ns = 0;  // of a wait for any of several that goes on; 0: there is none

    std::optional<CommConstruction> construction{};  // until it is taken
    MPI_Comm made = MPI_COMM_NULL;                   // if the MPI returns it at once,
    MPI_Comm* made_at = nullptr;                     // otherwise it is read here
};

// Messages by which a process completes its persistent MPI requests: each is an empty receive from
// this process, whose message no other living request can receive. The ticket determines the
// communicator and the tag.
//
// Thread safety: any thread.

// While the MPI is initialized: splits MPI_COMM_SELF. An error of the MPI.
int open_tickets();
// Returns an error of the MPI; then there is no ticket.
int take_ticket(int* ticket);
void give_back_ticket(int ticket);
void close_tickets();

// Makes the persistent receive; sends its message.
int open_receive(int ticket, MPI_Request* request);
void complete_receive(int ticket);

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
