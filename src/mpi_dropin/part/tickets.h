// Messages by which a process completes its persistent requests of the MPI: a receive of nothing from itself, that no
// other living request can get the message of. Its ticket says the communicator and the tag.
//
// Thread safety: any thread.
#pragma once

#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

// While the MPI is initialized: splits MPI_COMM_SELF. An error of the MPI.
int open_tickets();
// An error of the MPI; then there is no ticket.
int take_ticket(int* ticket);
void give_back_ticket(int ticket);
void close_tickets();

// Makes the persistent receive; sends its message.
int open_receive(int ticket, MPI_Request* request);
void complete_receive(int ticket);

}  // namespace weft::dropin
