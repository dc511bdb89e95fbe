#include "mpi_dropin/part/operation_store.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/handle_map.h"
#include "mpi_dropin/part/lasting.h"
#include "mpi_dropin/part/tickets.h"

namespace weft::dropin {
namespace {

auto& all = lasting<HandleMap<MPI_Request, Operation>>();
std::atomic<std::size_t> living{0};
auto& owned = lasting<std::vector<std::unique_ptr<Operation>>>();
auto& unused = lasting<std::vector<Operation*>>();
auto& ready = lasting<std::vector<Operation*>>();  // also unused, but with a generalized request

void count_living(std::ptrdiff_t change) {
    living.store(living.load(std::memory_order_relaxed) + static_cast<std::size_t>(change),
                 std::memory_order_relaxed);
}

}  // namespace

bool has_operations() { return living.load(std::memory_order_relaxed) != 0; }

Operation* operation_of(MPI_Request request) {
    if (request == MPI_REQUEST_NULL || !has_operations()) return nullptr;
    const Exclusive exclusive;
    return all.find(request);
}

bool is_kept(MPI_Request request) {
    const Exclusive exclusive;
    const Operation* const operation = all.find(request);
    return operation && operation->keeps_handle && !operation->is_active;
}

Operation& take_unused(bool is_generalized) {
    const Exclusive exclusive;
    count_living(1);
    std::vector<Operation*>& from = is_generalized && !ready.empty() ? ready : unused;
    if (from.empty()) {
        owned.push_back(std::make_unique<Operation>());
        unused.reserve(owned.size());
        ready.reserve(owned.size());
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
        operation.is_hidden = false;
    operation.outcome = MPI_SUCCESS;
    operation.combining = nullptr;
    operation.stores = operation.fetches = false;
    operation.waited_ns = operation.waiting_ns = 0;
    if (operation.is_constructor) {
        operation.is_constructor = false;
        operation.construction.reset();
        operation.made = MPI_COMM_NULL;
        operation.made_at = nullptr;
    }
    if (operation.ticket >= 0) give_back_ticket(std::exchange(operation.ticket, -1));
    const Exclusive exclusive;
    count_living(-1);
    (operation.keeps_handle ? ready : unused).push_back(&operation);
}

void enter(Operation& operation) {
    const Exclusive exclusive;
    all.add(operation.handle, &operation);
}

void leave(Operation& operation) {
    const Exclusive exclusive;
    all.remove(operation.handle);
}

std::vector<Operation*> pending_operations(const TakenComm* comm) {
    std::vector<Operation*> pending;
    const Exclusive exclusive;
    all.for_each([&](Operation& operation) {
        if ((!comm || operation.comm == comm) && operation.is_active && !operation.is_over)
            pending.push_back(&operation);
    });
    return pending;
}

std::vector<Operation*> left_operations() {
    std::vector<Operation*> left;
    const Exclusive exclusive;
    all.for_each([&](Operation& operation) {
        if (!operation.is_constructor) left.push_back(&operation);
    });
    return left;
}

void close_unused() {
    for (Operation* operation : ready) {
        leave(*operation);
        mpi.Grequest_complete(operation->handle);
        mpi.Wait(&operation->handle, MPI_STATUS_IGNORE);
        operation->keeps_handle = false;
    }
    ready.clear();
}

}  // namespace weft::dropin
