#include "mpi_dropin/part/tickets.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/lasting.h"

namespace weft::dropin {
namespace {

constexpr int tags = 32768;  // every MPI has as many

auto& comms = lasting<std::vector<MPI_Comm>>();  // of this process alone
auto& unused = lasting<std::vector<int>>();
int next = 0;

MPI_Comm comm_of(int ticket) {
    const Exclusive exclusive;
    return comms[static_cast<std::size_t>(ticket / tags)];
}

// Makes the communicator of a ticket, if it is the first there.
int make_comm(std::size_t place) {
    {
        const Exclusive exclusive;
        if (place < comms.size() && comms[place] != MPI_COMM_NULL) return MPI_SUCCESS;
    }
    MPI_Comm made = MPI_COMM_NULL;
    // Not a duplicate: that would call the copy functions of the program's attributes.
    if (const int error = mpi.Comm_split(MPI_COMM_SELF, 0, 0, &made)) return error;
    {
        const Exclusive exclusive;
        if (place >= comms.size()) comms.resize(place + 1, MPI_COMM_NULL);
        // Another thread may have been faster.
        if (comms[place] == MPI_COMM_NULL) comms[place] = std::exchange(made, MPI_COMM_NULL);
    }
    if (made != MPI_COMM_NULL) mpi.Comm_disconnect(&made);
    return MPI_SUCCESS;
}

}  // namespace

int take_ticket(int* ticket) {
    {
        const Exclusive exclusive;
        if (!unused.empty()) {
            *ticket = unused.back();
            unused.pop_back();
            return MPI_SUCCESS;
        }
        *ticket = next++;
    }
    const int error = make_comm(static_cast<std::size_t>(*ticket / tags));
    if (error != MPI_SUCCESS) *ticket = -1;
    return error;
}

void give_back_ticket(int ticket) {
    const Exclusive exclusive;
    unused.push_back(ticket);
}

void close_tickets() {
    for (MPI_Comm& comm : comms) {
        if (comm != MPI_COMM_NULL) mpi.Comm_disconnect(&comm);
    }
    comms.clear();
}

int open_receive(int ticket, MPI_Request* request) {
    return mpi.Recv_init(nullptr, 0, MPI_BYTE, 0, ticket % tags, comm_of(ticket), request);
}

void complete_receive(int ticket) {
    mpi.Send(nullptr, 0, MPI_BYTE, 0, ticket % tags, comm_of(ticket));
}

}  // namespace weft::dropin
