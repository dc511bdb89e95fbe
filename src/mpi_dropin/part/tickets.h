// Messages by which a process completes its persistent MPI requests: each is an empty receive from
// this process, whose message no other living request can receive. The ticket determines the
// communicator and the tag.
//
// Thread safety: any thread.
#pragma once

#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

// While the MPI is initialized: splits MPI_COMM_SELF. An error of the MPI.
int open_tickets();
// Returns an error of the MPI; then there is no ticket.
int take_ticket(int* ticket);
void give_back_ticket(int ticket);
void close_tickets();

// Makes the persistent receive; sends its message.
int open_receive(int ticket, MPI_Request* request);
void complete_receive(int ticket);

}  // namespace weft::dropin
