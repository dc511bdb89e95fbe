#include "mpi_dropin/part/operations.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/handle_map.h"

namespace weft::dropin {
namespace {

HandleMap<MPI_Request, Operation> all;
std::atomic<std::size_t> living{0};
std::vector<std::unique_ptr<Operation>> owned;
std::vector<Operation*> unused;
std::vector<Operation*> ready;  // unused as well, with a generalized request
std::atomic<unsigned> finished_alone{0};
Settings settings;
MPI_Request never = MPI_REQUEST_NULL;

// A persistent request gets a message that no other living one gets: by its ticket, which says the communicator and
// the tag. There are at least 32768 tags.
constexpr int tags = 32768;
std::vector<MPI_Comm> own_selves;
std::vector<int> tickets;
int next_ticket = 0;

// An error of the MPI.
int take_ticket(int* ticket) {
    std::size_t place = 0;
    bool has_place = false;
    {
        const Exclusive exclusive;
        if (!tickets.empty()) {
            *ticket = tickets.back();
            tickets.pop_back();
            return MPI_SUCCESS;
        }
        *ticket = next_ticket++;
        place = static_cast<std::size_t>(*ticket / tags);
        has_place = place < own_selves.size();
    }
    if (has_place) return MPI_SUCCESS;
    MPI_Comm comm = MPI_COMM_NULL;
    const int error = mpi.Comm_dup(MPI_COMM_SELF, &comm);
    const Exclusive exclusive;
    if (own_selves.size() <= place) own_selves.resize(place + 1, MPI_COMM_NULL);
    own_selves[place] = comm;
    return error;
}

MPI_Comm own_self(int ticket) {
    const Exclusive exclusive;
    return own_selves[static_cast<std::size_t>(ticket / tags)];
}

// The three functions of a generalized request.
int describe_status(void*, MPI_Status* status) {
    fill(status);
    return MPI_SUCCESS;
}
int ignore_free(void*) { return MPI_SUCCESS; }
int ignore_cancel(void*, int) { return MPI_SUCCESS; }

void count_living(std::ptrdiff_t change) {
    living.store(living.load(std::memory_order_relaxed) + static_cast<std::size_t>(change),
                 std::memory_order_relaxed);
}

// With a generalized request, if it is to be one and there is one.
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

// Back to its first state, but for the memory of its arrays.
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
    operation.waited_ns = 0;
    operation.is_constructor = false;
    operation.construction.reset();
    operation.made = MPI_COMM_NULL;
    operation.made_at = nullptr;
    const int ticket = std::exchange(operation.ticket, -1);
    const Exclusive exclusive;
    if (ticket >= 0) tickets.push_back(ticket);
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

bool is_neighborly(Collective collective) { return collective >= Collective::Neighbor_allgather; }

bool combines(Collective collective) {
    return collective >= Collective::Reduce && collective <= Collective::Exscan;
}

bool has_local_sizes(Collective collective) {
    switch (collective) {
        case Collective::Gatherv:
        case Collective::Scatterv:
        case Collective::Allgatherv:
        case Collective::Alltoallv:
        case Collective::Alltoallw:
        case Collective::Reduce_scatter: return true;
        default: return is_neighborly(collective);
    }
}

// --- What Weft gets ---------------------------------------------------------------------------

struct Prepared {
    const void* send = nullptr;
    void* recv = nullptr;
    std::size_t count = 0;       // of a block
    std::size_t send_count = 0;  // of a rank's block where the others' differ
    weft_type type = WEFT_BYTE;
    weft_op op = WEFT_OP_NULL;
    int root = 0;
    std::uint64_t bytes = 0;
};

// A call that moves blocks: both buffers as bytes.
bool prepare_blocks(Operation& operation, const Arguments& arguments, Prepared& prepared) {
    const TakenComm& comm = *operation.comm;
    const bool is_root = comm.rank == arguments.root;
    const bool is_rooted = arguments.root != no_root;
    const bool is_gather =
        operation.collective == Collective::Gather || operation.collective == Collective::Gatherv;
    const bool is_scatter =
        operation.collective == Collective::Scatter || operation.collective == Collective::Scatterv;
    const bool sends_in_place = arguments.send.form != Blocks::Shape::none && !is_scatter &&
                                !is_neighborly(operation.collective) && (!is_gather || is_root) &&
                                arguments.send.at == MPI_IN_PLACE;
    const bool receives_in_place = is_scatter && is_root && arguments.recv.at == MPI_IN_PLACE;
    const bool uses_send = !sends_in_place && (!is_scatter || is_root);
    const bool uses_recv = !receives_in_place && (!is_gather || is_root);
    const auto ranks = static_cast<std::size_t>(comm.ranks);
    const bool has_neighbors = is_neighborly(operation.collective);
    const auto sent_blocks = has_neighbors ? static_cast<std::size_t>(comm.outdegree) : ranks;
    const auto received_blocks = has_neighbors ? static_cast<std::size_t>(comm.indegree) : ranks;
    if (uses_send && !operation.send.describe(arguments.send, sent_blocks)) return false;
    if (uses_recv && !operation.recv.describe(arguments.recv, received_blocks)) return false;

    prepared.send = sends_in_place ? WEFT_IN_PLACE : operation.send.at();
    prepared.recv = receives_in_place ? const_cast<void*>(WEFT_IN_PLACE) : operation.recv.at();
    prepared.root = is_rooted ? arguments.root : 0;
    prepared.send_count = operation.send.bytes();
    const bool is_bcast = operation.collective == Collective::Bcast;
    prepared.count = uses_send && arguments.send.form != Blocks::Shape::none
                         ? operation.send.bytes()
                         : operation.recv.bytes();
    // Both sides of a rank name the same bytes; where they do not, the MPI says what is wrong.
    if (uses_send && uses_recv && !has_local_sizes(operation.collective) && !is_bcast &&
        operation.send.bytes() != operation.recv.bytes()) {
        return false;
    }
    if (is_scatter && arguments.recv.form == Blocks::Shape::one)
        prepared.send_count = operation.recv.bytes();
    prepared.bytes = prepared.count;
    // Blocks of neighbors that do not exist stay as they are.
    operation.fetches =
        operation.recv.has_copy() && (sends_in_place || has_neighbors || (is_bcast && is_root));
    operation.stores = operation.recv.has_copy() && !(is_bcast && is_root);
    return true;
}

// A call whose elements the MPI combines: as bytes.
bool prepare_callbacks(Operation& operation, const Arguments& arguments, TypeFacts& type,
                       std::int64_t elements, Prepared& prepared) {
    const bool is_root = arguments.root == no_root || operation.comm->rank == arguments.root;
    const bool is_in_place = is_root && arguments.send.at == MPI_IN_PLACE;
    const bool has_blocks = operation.collective == Collective::Reduce_scatter ||
                            operation.collective == Collective::Reduce_scatter_block;
    if (!settings.calls_back || arguments.op == MPI_OP_NULL || type.size <= 0 ||
        type.size > WEFT_OPAQUE_MAX || !is_defined(arguments.op, type)) {
        return false;
    }
    const std::int64_t sent = operation.collective == Collective::Reduce_scatter_block
                                  ? elements * operation.comm->ranks
                                  : elements;
    std::int64_t received = elements;
    if (operation.collective == Collective::Reduce_scatter) {
        received = static_cast<std::int64_t>(
            operation.elements[static_cast<std::size_t>(operation.comm->rank)]);
    }
    if (is_in_place && has_blocks) received = sent;
    if (!is_in_place &&
        !operation.send.describe(Blocks::one(arguments.send.at, sent, type.handle), 1)) {
        return false;
    }
    if (is_root &&
        !operation.recv.describe(Blocks::one(arguments.recv.at, received, type.handle), 1)) {
        return false;
    }
    operation.combining = combining(arguments.op, type);
    if (!operation.combining) return false;
    prepared.op = op_of(*operation.combining);
    prepared.type = WEFT_OPAQUE(type.size);
    prepared.send = is_in_place ? WEFT_IN_PLACE : operation.send.at();
    prepared.recv = is_root ? operation.recv.at() : nullptr;
    // Rank 0 of an exscan gets nothing.
    operation.fetches =
        operation.recv.has_copy() && (is_in_place || operation.collective == Collective::Exscan);
    operation.stores = operation.recv.has_copy();
    return true;
}

// A call that combines elements.
bool prepare_reduction(Operation& operation, const Arguments& arguments, Prepared& prepared) {
    const TakenComm& comm = *operation.comm;
    const bool is_root = arguments.root == no_root || comm.rank == arguments.root;
    TypeFacts* const type = facts_of(arguments.recv.type);
    if (!type) return false;
    prepared.root = arguments.root == no_root ? 0 : arguments.root;
    const bool is_in_place = is_root && arguments.send.at == MPI_IN_PLACE;
    prepared.send = is_in_place ? WEFT_IN_PLACE : arguments.send.at;
    prepared.recv = is_root ? arguments.recv.at : nullptr;
    std::int64_t elements = arguments.recv.count;
    if (operation.collective == Collective::Reduce_scatter) {
        if (arguments.send.counts.is_null()) return false;
        operation.elements.resize(static_cast<std::size_t>(comm.ranks));
        for (std::size_t i = 0; i < operation.elements.size(); ++i) {
            if (arguments.send.counts[i] < 0) return false;
            operation.elements[i] = static_cast<std::size_t>(arguments.send.counts[i]);
            elements += arguments.send.counts[i];
        }
    }
    if (elements < 0) return false;
    prepared.count = static_cast<std::size_t>(elements);
    prepared.bytes = prepared.count * static_cast<std::size_t>(type->size);
    prepared.op = predefined_op(arguments.op);
    if (!prepared.op || !type->element) {
        return prepare_callbacks(operation, arguments, *type, elements, prepared);
    }
    prepared.type = *type->element;
    return true;
}

weft_status begin(Operation& operation, const Prepared& p) {
    weft_request* const request = &operation.request;
    weft_comm const comm = operation.comm->comm;
    const Layout& send = operation.send;
    const Layout& recv = operation.recv;
#define WEFT_BEGIN(name, ...)                                                 \
    (operation.is_persistent ? weft_##name##_init(__VA_ARGS__, comm, request) \
                             : weft_i##name(__VA_ARGS__, comm, request))
    switch (operation.collective) {
        case Collective::Barrier:
            return operation.is_persistent ? weft_barrier_init(comm, request)
                                           : weft_ibarrier(comm, request);
        case Collective::Bcast: return WEFT_BEGIN(bcast, p.recv, p.count, p.type, p.root);
        case Collective::Gather: return WEFT_BEGIN(gather, p.send, p.recv, p.count, p.type, p.root);
        case Collective::Gatherv:
            return WEFT_BEGIN(gatherv, p.send, p.send_count, p.recv, recv.counts(), recv.displs(),
                              p.type, p.root);
        case Collective::Scatter:
            return WEFT_BEGIN(scatter, p.send, p.recv, p.count, p.type, p.root);
        case Collective::Scatterv:
            return WEFT_BEGIN(scatterv, p.send, send.counts(), send.displs(), p.recv, p.send_count,
                              p.type, p.root);
        case Collective::Allgather: return WEFT_BEGIN(allgather, p.send, p.recv, p.count, p.type);
        case Collective::Allgatherv:
            return WEFT_BEGIN(allgatherv, p.send, p.send_count, p.recv, recv.counts(),
                              recv.displs(), p.type);
        case Collective::Alltoall: return WEFT_BEGIN(alltoall, p.send, p.recv, p.count, p.type);
        case Collective::Alltoallv:
        case Collective::Alltoallw:  // as bytes
            return WEFT_BEGIN(alltoallv, p.send, send.counts(), send.displs(), p.recv,
                              recv.counts(), recv.displs(), p.type);
        case Collective::Reduce:
            return WEFT_BEGIN(reduce, p.send, p.recv, p.count, p.type, p.op, p.root);
        case Collective::Allreduce:
            return WEFT_BEGIN(allreduce, p.send, p.recv, p.count, p.type, p.op);
        case Collective::Reduce_scatter:
            return WEFT_BEGIN(reduce_scatter, p.send, p.recv, operation.elements.data(), p.type,
                              p.op);
        case Collective::Reduce_scatter_block:
            return WEFT_BEGIN(reduce_scatter_block, p.send, p.recv, p.count, p.type, p.op);
        case Collective::Scan: return WEFT_BEGIN(scan, p.send, p.recv, p.count, p.type, p.op);
        case Collective::Exscan: return WEFT_BEGIN(exscan, p.send, p.recv, p.count, p.type, p.op);
        case Collective::Neighbor_allgather:
            return WEFT_BEGIN(neighbor_allgather, p.send, p.recv, p.count, p.type);
        case Collective::Neighbor_allgatherv:
            return WEFT_BEGIN(neighbor_allgatherv, p.send, p.send_count, p.recv, recv.counts(),
                              recv.displs(), p.type);
        case Collective::Neighbor_alltoall:
            return WEFT_BEGIN(neighbor_alltoall, p.send, p.recv, p.count, p.type);
        case Collective::Neighbor_alltoallv:
        case Collective::Neighbor_alltoallw:
            return WEFT_BEGIN(neighbor_alltoallv, p.send, send.counts(), send.displs(), p.recv,
                              recv.counts(), recv.displs(), p.type);
        case Collective::number: break;
    }
#undef WEFT_BEGIN
    return WEFT_REFUSED_ARGUMENT;
}

int fetch(const Operation& operation) {
    if (operation.send.has_copy()) {
        if (const int error = operation.send.fetch()) return error;
    }
    return operation.fetches ? operation.recv.fetch() : MPI_SUCCESS;
}

// Weft's operation has ended.
void end(Operation& operation, weft_status status) {
    operation.is_over = true;
    if (status == WEFT_OK) {
        operation.outcome = operation.stores ? operation.recv.store() : MPI_SUCCESS;
        if (operation.combining && error_of(*operation.combining) != MPI_SUCCESS) {
            operation.outcome = error_of(*operation.combining);
        }
    } else {
        operation.outcome = MPI_ERR_OTHER;
        std::fprintf(stderr, "weft: %s failed on rank %d: %s\n", name_of(operation.function),
                     operation.comm->rank, weft_last_detail());
    }
    if (settings.prints_statistics) {
        statistics.add_times(operation.function, now_ns() - operation.started_ns,
                             operation.waited_ns);
    }
}

// Of a call that is not taken.
bool leave_to_mpi(Operation* operation, int function, Left why) {
    if (operation) give_back(*operation);
    if (settings.prints_statistics) statistics.count_left(function, why);
    return false;
}

int open_request(Operation& operation, MPI_Request* request) {
    int error;
    if (operation.is_persistent) {
        error = take_ticket(&operation.ticket);
        if (error != MPI_SUCCESS) return error;
        error = mpi.Recv_init(nullptr, 0, MPI_BYTE, 0, operation.ticket % tags,
                              own_self(operation.ticket), request);
    } else {
        error = mpi.Grequest_start(describe_status, ignore_free, ignore_cancel, nullptr, request);
    }
    if (error != MPI_SUCCESS) return error;
    operation.handle = *request;
    operation.keeps_handle = !operation.is_persistent;
    enter(operation);
    return MPI_SUCCESS;
}

Outcome outcome_of(const Operation& operation) {
    if (operation.outcome == MPI_SUCCESS) return {};
    keep(*operation.comm);
    return {operation.outcome, operation.comm};
}

// A blocking call: no request of the MPI's.
int finish_blocking(Operation& operation) {
    Operation* const one = &operation;
    await_all({&one, 1});
    const int outcome = operation.outcome;
    TakenComm& comm = *operation.comm;
    keep(comm);
    give_back(operation);
    if (outcome != MPI_SUCCESS) raise_error(comm, outcome);
    let_go(comm);
    return outcome;
}

}  // namespace

bool has_operations() { return living.load(std::memory_order_relaxed) != 0; }

Operation* operation_of(MPI_Request request) {
    if (request == MPI_REQUEST_NULL || !has_operations()) return nullptr;
    const Exclusive exclusive;
    return all.find(request);
}

int open_operations(const Settings& agreed) {
    settings = agreed;
    return mpi.Grequest_start(describe_status, ignore_free, ignore_cancel, nullptr, &never);
}

void close_operations() {
    std::vector<Operation*> left;
    all.for_each([&](Operation& operation) {
        if (operation.is_active && !operation.is_over) left.push_back(&operation);
    });
    await_all(left);
    for (Operation* operation : ready) {
        leave(*operation);
        mpi.Grequest_complete(operation->handle);
        mpi.Wait(&operation->handle, MPI_STATUS_IGNORE);
        operation->keeps_handle = false;
    }
    ready.clear();
    mpi.Grequest_complete(never);
    mpi.Wait(&never, MPI_STATUS_IGNORE);
    for (MPI_Comm& comm : own_selves) mpi.Comm_disconnect(&comm);
    own_selves.clear();
}

bool take(Collective collective, Form form, const Arguments& arguments, MPI_Comm comm,
          MPI_Request* request, int* error) {
    const int function = function_of(collective, form);
    if (!settings.takes[function]) return leave_to_mpi(nullptr, function, Left::disabled);
    TakenComm* const taken_comm = taken(comm);
    if (!taken_comm) return leave_to_mpi(nullptr, function, Left::communicator);
    const std::int64_t begin_ns = settings.prints_statistics ? now_ns() : 0;
    Operation& operation = take_unused(form == Form::nonblocking);
    operation.comm = taken_comm;
    keep(*taken_comm);
    operation.collective = collective;
    operation.function = function;
    operation.is_persistent = form == Form::persistent;
    Prepared prepared;
    const bool is_reduction = combines(collective);
    if (is_neighborly(collective) && !taken_comm->has_topology) {
        return leave_to_mpi(&operation, function, Left::refused);
    }
    if (is_reduction ? !prepare_reduction(operation, arguments, prepared)
                     : !prepare_blocks(operation, arguments, prepared)) {
        return leave_to_mpi(&operation, function, is_reduction ? Left::operation : Left::refused);
    }
    if (settings.min_bytes > 0 && !has_local_sizes(collective) &&
        static_cast<std::int64_t>(prepared.bytes) < settings.min_bytes) {
        return leave_to_mpi(&operation, function, Left::small);
    }
    if (!taken_comm->comm) {
        give_back(operation);
        *error = raise_error(*taken_comm, MPI_ERR_NO_MEM);
        return true;
    }
    if (!operation.is_persistent && (*error = fetch(operation)) != MPI_SUCCESS) {
        give_back(operation);
        return true;
    }
    const weft_status status = begin(operation, prepared);
    if (status != WEFT_OK) {
        if (status == WEFT_REFUSED_ARGUMENT)
            return leave_to_mpi(&operation, function, Left::refused);
        std::fprintf(stderr, "weft: %s on rank %d: %s\n", name_of(function), taken_comm->rank,
                     weft_last_detail());
        give_back(operation);
        *error = raise_error(*taken_comm,
                             status == WEFT_REFUSED_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER);
        return true;
    }
    operation.send.keep_types();
    operation.recv.keep_types();
    operation.is_active = !operation.is_persistent;
    if (settings.prints_statistics) {
        operation.started_ns = now_ns();
        statistics.count_taken(function, prepared.bytes);
        statistics.add_inside(function, operation.started_ns - begin_ns);
    }
    if (form == Form::blocking) {
        *error = finish_blocking(operation);
        return true;
    }
    if (operation.keeps_handle) {
        *request = operation.handle;
    } else if ((*error = open_request(operation, request)) != MPI_SUCCESS) {
        finish_blocking(operation);
    }
    return true;
}

void watch(MPI_Request request, Construction&& construction, MPI_Comm* made) {
    Operation& operation = take_unused(false);
    operation.handle = request;
    operation.is_constructor = true;
    operation.construction.emplace(std::move(construction));
    // Open MPI's Fortran bindings give the address of a variable of their own, which is gone later.
    operation.made = *made;
    operation.made_at = made;
    enter(operation);
}

void take_made(Operation& operation) {
    if (!operation.construction) return;
    operation.construction->take(operation.made != MPI_COMM_NULL ? operation.made
                                                                 : *operation.made_at);
    operation.construction.reset();
}

void finish_construction(Operation& operation) {
    if (!operation.is_hidden) leave(operation);
    take_made(operation);
    give_back(operation);
}

int start(Operation& operation) {
    if (operation.is_active) {
        return raise_error(*operation.comm, MPI_ERR_REQUEST);
    }
    if (const int error = fetch(operation)) return error;
    const std::int64_t begin_ns = settings.prints_statistics ? now_ns() : 0;
    if (weft_start(&operation.request) != WEFT_OK) {
        std::fprintf(stderr, "weft: MPI_Start on rank %d: %s\n", operation.comm->rank,
                     weft_last_detail());
        return raise_error(*operation.comm, MPI_ERR_OTHER);
    }
    operation.is_active = true;
    operation.is_over = operation.is_told = false;
    operation.outcome = MPI_SUCCESS;
    operation.waited_ns = 0;
    if (settings.prints_statistics) {
        operation.started_ns = now_ns();
        statistics.add_inside(operation.function, operation.started_ns - begin_ns);
    }
    return mpi.Start(&operation.handle);
}

bool is_complete(Operation& operation) {
    if (operation.is_over) return true;
    const weft_status status = weft_test(&operation.request);
    if (status == WEFT_PENDING) return false;
    end(operation, status);
    return true;
}

bool settle(Operation& operation) {
    if (operation.is_told) return true;
    if (!is_complete(operation)) return false;
    operation.is_told = true;
    if (operation.is_persistent) {
        mpi.Send(nullptr, 0, MPI_BYTE, 0, operation.ticket % tags, own_self(operation.ticket));
    } else {
        mpi.Grequest_complete(operation.handle);
    }
    return true;
}

void await_all(std::span<Operation* const> operations) {
    constexpr std::int64_t first_ns = 50'000, last_ns = 400'000;
    constexpr std::size_t at_once = 64;
    // What is over already needs no clock.
    if (operations.size() == 1 && operations[0]->is_active && is_complete(*operations[0])) return;
    const std::int64_t begin_ns = now_ns();
    std::int64_t slice_ns = first_ns, deadline_ns = begin_ns + first_ns;
    for (std::size_t from = 0; from < operations.size();) {
        Operation* group[at_once];
        weft_request requests[at_once];
        weft_status statuses[at_once];
        std::size_t size = 0;
        for (; from < operations.size() && size < at_once; ++from) {
            Operation& operation = *operations[from];
            if (operation.is_over || !operation.is_active) continue;
            group[size] = &operation;
            requests[size++] = operation.request;
        }
        if (size == 0) break;
        weft_status status;
        while ((status = weft_waitall_until(size, requests, statuses, deadline_ns)) > 0) {
            drive();
            slice_ns = std::min(2 * slice_ns, last_ns);
            deadline_ns = now_ns() + slice_ns;
        }
        for (std::size_t i = 0; i < size; ++i) {
            group[i]->request = requests[i];
            if (settings.prints_statistics) group[i]->waited_ns += now_ns() - begin_ns;
            end(*group[i], statuses[i]);
        }
    }
}

void await_on(const TakenComm& comm) {
    std::vector<Operation*> pending;
    {
        const Exclusive exclusive;
        all.for_each([&](Operation& operation) {
            if (operation.comm == &comm && operation.is_active && !operation.is_over)
                pending.push_back(&operation);
        });
    }
    await_all(pending);
}

void await_any(std::span<Operation* const> operations, std::int64_t deadline_ns) {
    for (Operation* operation : operations) {
        if (!operation->is_active || operation->is_over) continue;
        const weft_status status = weft_wait_until(&operation->request, deadline_ns);
        if (status <= 0) end(*operation, status);
        return;
    }
}

void fill(MPI_Status* status) {
    if (status == MPI_STATUS_IGNORE) return;
    // A count of 0 and "not cancelled" are zeroes in every MPI's status.
    const int error = status->MPI_ERROR;
    *status = MPI_Status{};
    status->MPI_ERROR = error;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
}

Outcome finish(Operation& operation) {
    const Outcome outcome = outcome_of(operation);
    give_back(operation);
    // A program that calls nothing else still lets the MPI go on.
    constexpr unsigned seldom = 32;
    const unsigned number = finished_alone.load(std::memory_order_relaxed) + 1;
    finished_alone.store(number, std::memory_order_relaxed);
    if (number % seldom == 0) drive();
    return outcome;
}

Outcome retire(Operation& operation) {
    const Outcome outcome = outcome_of(operation);
    if (operation.is_persistent) {
        operation.is_active = operation.is_over = operation.is_told = false;
        return outcome;
    }
    if (!operation.is_hidden) leave(operation);
    operation.keeps_handle = false;
    give_back(operation);
    return outcome;
}

void hide(Operation& operation) {
    if (!operation.is_constructor && (operation.is_persistent || !operation.is_told)) return;
    operation.is_hidden = true;
    leave(operation);
}

void show(Operation& operation) {
    if (!operation.is_hidden) return;
    operation.is_hidden = false;
    enter(operation);
}

int raise(const Outcome& outcome) {
    if (outcome.code == MPI_SUCCESS) return MPI_SUCCESS;
    raise_error(*outcome.comm, outcome.code);
    let_go(*outcome.comm);
    return outcome.code;
}

void forget(Operation& operation) {
    leave(operation);
    weft_request_free(&operation.request);
    give_back(operation);
}

void drive() {
    int flag = 0;
    mpi.Request_get_status(never, &flag, MPI_STATUS_IGNORE);
}

}  // namespace weft::dropin
