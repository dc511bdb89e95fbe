#include "mpi_dropin/part/operation_store.h"

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "mpi_dropin/part/handle_map.h"
#include "mpi_dropin/part/underneath.h"

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

namespace {

auto& by_handle = lasting<HandleMap<MPI_Request, Operation>>();
std::atomic<std::size_t> entered{0};  // the size of `all`
auto& owned = lasting<std::vector<std::unique_ptr<Operation>>>();
auto& unused_operations = lasting<std::vector<Operation*>>();
auto& ready = lasting<std::vector<Operation*>>();  // also unused, but with a generalized request

}  // namespace

bool has_operations() { return entered.load(std::memory_order_relaxed) != 0; }

Operation* OperationLookup::of(MPI_Request request) const { return by_handle.find(request); }

Operation& take_unused(bool is_generalized) {
    const Exclusive exclusive;
    std::vector<Operation*>& from = is_generalized && !ready.empty() ? ready : unused_operations;
    if (from.empty()) {
        // enter() and give_back() must not need memory: by then the operation has begun, or is
        // over.
        const std::size_t size = owned.size() + 1;
        by_handle.reserve(size);
        if (size > unused_operations.capacity()) unused_operations.reserve(2 * size);
        if (size > ready.capacity()) ready.reserve(2 * size);
        owned.push_back(std::make_unique<Operation>());
        return *owned.back();
    }
    Operation& operation = *from.back();
    from.pop_back();
    return operation;
}

void give_back(Operation& operation) {
    operation.send.release_types();
    operation.recv.release_types();
    forget(operation.combining);
    if (operation.comm) let_go(*operation.comm);
    operation.send.clear();
    operation.recv.clear();
    if (!operation.keeps_handle) operation.handle = MPI_REQUEST_NULL;
    operation.request = WEFT_REQUEST_NULL;
    operation.comm = nullptr;
    operation.is_persistent = operation.is_active = operation.is_over = operation.is_told =
        operation.is_hidden = operation.is_freed = false;
    operation.outcome = MPI_SUCCESS;
    operation.combining = nullptr;
    operation.stores = operation.fetches = false;
    operation.own = {};
    operation.waited_ns = operation.waiting_ns = 0;
    if (operation.is_constructor) {
        operation.is_constructor = false;
        operation.construction.reset();
        operation.made = MPI_COMM_NULL;
        operation.made_at = nullptr;
    }
    if (operation.ticket >= 0) give_back_ticket(std::exchange(operation.ticket, -1));
    const Exclusive exclusive;
    (operation.keeps_handle ? ready : unused_operations).push_back(&operation);
}

void enter(Operation& operation) {
    const Exclusive exclusive;
    by_handle.add(operation.handle, &operation);
    entered.store(by_handle.size(), std::memory_order_relaxed);
}

void leave(Operation& operation) {
    const Exclusive exclusive;
    by_handle.remove(operation.handle);
    entered.store(by_handle.size(), std::memory_order_relaxed);
}

void disown(Operation& operation) {
    operation.keeps_handle = false;
    Operation** const owner = std::exchange(operation.owner, nullptr);
    if (owner && !operation.is_hidden) *owner = nullptr;
}

std::vector<Operation*> pending_operations(const TakenComm* comm) {
    std::vector<Operation*> pending;
    const Exclusive exclusive;
    by_handle.for_each([&](Operation& operation) {
        if ((!comm || operation.comm == comm) && operation.is_active && !operation.is_over)
            pending.push_back(&operation);
    });
    return pending;
}

std::vector<Operation*> left_operations() {
    std::vector<Operation*> left;
    const Exclusive exclusive;
    by_handle.for_each([&](Operation& operation) {
        if (!operation.is_constructor) left.push_back(&operation);
    });
    return left;
}

void close_unused() {
    for (Operation* operation : ready) {
        leave(*operation);
        mpi.Grequest_complete(operation->handle);
        if (!operation->owner) continue;  // the program had freed it past our wrappers
        disown(*operation);
        mpi.Wait(&operation->handle, MPI_STATUS_IGNORE);
    }
    ready.clear();
}

}  // namespace weft::dropin
