#include "mpi_dropin/part/tickets.h"

#include <sched.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/lasting.h"

namespace weft::dropin {
namespace {

constexpr int tags = 32768;  // every MPI has that many

auto& comms = lasting<std::vector<MPI_Comm>>();  // of this process alone
auto& unused_tickets = lasting<std::vector<int>>();
int next = 0;
bool is_making = false;

MPI_Comm comm_of(int ticket) {
    const Exclusive exclusive;
    return comms[static_cast<std::size_t>(ticket / tags)];
}

// Makes another communicator of this process. Not by duplication: that would call the copy
// functions of the program's attributes.
int make_comm(MPI_Comm of) {
    MPI_Comm made = MPI_COMM_NULL;
    const int error = mpi.Comm_split(of, 0, 0, &made);
    // Those who use it raise errors on the program's communicator.
    if (error == MPI_SUCCESS) mpi.Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    const Exclusive exclusive;
    if (error == MPI_SUCCESS) comms.push_back(made);
    is_making = false;
    return error;
}

// Whether there is a communicator for a ticket; false: the caller must make it, and no other thread
// meanwhile, as MPI demands.
bool has_comm(std::size_t place) {
    for (;; sched_yield()) {
        const Exclusive exclusive;
        if (place < comms.size()) return true;
        if (!std::exchange(is_making, true)) return false;
    }
}

}  // namespace

int open_tickets() { return make_comm(MPI_COMM_SELF); }

int take_ticket(int* ticket) {
    {
        const Exclusive exclusive;
        if (!unused_tickets.empty()) {
            *ticket = unused_tickets.back();
            unused_tickets.pop_back();
            return MPI_SUCCESS;
        }
        *ticket = next++;
    }
    while (!has_comm(static_cast<std::size_t>(*ticket / tags))) {
        if (const int error = make_comm(comms[0])) {
            *ticket = -1;
            return error;
        }
    }
    return MPI_SUCCESS;
}

void give_back_ticket(int ticket) {
    const Exclusive exclusive;
    unused_tickets.push_back(ticket);
}

void close_tickets() {
    for (MPI_Comm& comm : comms) mpi.Comm_disconnect(&comm);
    comms.clear();
}

int open_receive(int ticket, MPI_Request* request) {
    return mpi.Recv_init(nullptr, 0, MPI_BYTE, 0, ticket % tags, comm_of(ticket), request);
}

void complete_receive(int ticket) {
    mpi.Send(nullptr, 0, MPI_BYTE, 0, ticket % tags, comm_of(ticket));
}

}  // namespace weft::dropin
