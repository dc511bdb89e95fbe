#include "mpi_dropin/part/weft_call.h"

namespace weft::dropin {

bool is_neighborly(MpiCollective collective) {
    return collective >= MpiCollective::Neighbor_allgather;
}

bool combines(MpiCollective collective) {
    switch (collective) {
        case MpiCollective::Reduce:
        case MpiCollective::Allreduce:
        case MpiCollective::Reduce_scatter_block:
        case MpiCollective::Reduce_scatter:
        case MpiCollective::Scan:
        case MpiCollective::Exscan: return true;
        default: return false;
    }
}

bool has_local_sizes(MpiCollective collective) {
    switch (collective) {
        case MpiCollective::Gatherv:
        case MpiCollective::Scatterv:
        case MpiCollective::Allgatherv:
        case MpiCollective::Alltoallv:
        case MpiCollective::Alltoallw:
        case MpiCollective::Reduce_scatter: return true;
        default: return is_neighborly(collective);
    }
}

namespace {

// The call's counts of blocks that have one size.
void set_counts(weft_call& call, std::size_t count) {
    call.send.count = count;
    call.recv.count = count;
}

void set_type(weft_call& call, weft_type type) {
    call.send.type = type;
    call.recv.type = type;
}

bool is_listed(const ProgramBuffer& buffer) {
    return buffer.form == ProgramBuffer::Shape::varying ||
           buffer.form == ProgramBuffer::Shape::typed;
}

// Of a collective with blocks that differ.
void describe(weft_side& side, const PackedBuffer& packed) {
    side.count = packed.bytes();
    side.counts = packed.counts();
    side.displacements = packed.displs();
}

// The number of the rank's block for itself in a buffer.
std::size_t own_block(const ProgramBuffer& buffer, int rank) {
    return buffer.form == ProgramBuffer::Shape::one ? 0 : static_cast<std::size_t>(rank);
}

// A rank may send itself less than it expects. Weft refuses that; the MPI does not. It is then
// moved from one copy to the other.
WrongArguments match_own_part(Operation& operation, const ProgramCall& program, bool is_scatter,
                              Copies copies, weft_call& call) {
    PackedBuffer& send = operation.send;
    PackedBuffer& recv = operation.recv;
    constexpr WrongArguments other_size{MPI_ERR_TRUNCATE,
                                        "blocks that are sent and received differ in size"};
    if (is_neighborly(operation.collective)) {
        const TakenComm& comm = *operation.comm;
        const bool has_both = comm.indegree > 0 && comm.outdegree > 0;
        const bool is_each = program.recv.form == ProgramBuffer::Shape::each;
        return has_both && is_each && send.bytes() != recv.bytes() ? other_size : WrongArguments{};
    }
    if (operation.collective == MpiCollective::Alltoall)
        return send.bytes() == recv.bytes() ? WrongArguments{} : other_size;
    const std::size_t from = own_block(program.send, operation.comm->rank);
    const std::size_t into = own_block(program.recv, operation.comm->rank);
    if (send.bytes_of(from) == recv.bytes_of(into)) return {};
    if (copies == Copies::where_needed) return other_size;
#ifdef OPEN_MPI
    if (program.send.form == program.recv.form) return other_size;  // alltoallv, alltoallw
#endif
    if (send.bytes_of(from) > recv.bytes_of(into))
        return {MPI_ERR_TRUNCATE, "a rank's part for itself is larger than it expects"};
    operation.own = {send.offset_of(from), recv.offset_of(into), send.bytes_of(from)};
    operation.fetches = true;  // the rest of the part stays as it is
    const bool lists_both = program.send.form != ProgramBuffer::Shape::one &&
                            program.recv.form != ProgramBuffer::Shape::one;
    if (lists_both) {
        send.leave_out(from);
        recv.leave_out(into);
    } else if (is_scatter) {
        call.recv.data = const_cast<void*>(WEFT_IN_PLACE);
        set_counts(call, send.bytes());
    } else {
        call.send.data = const_cast<void*>(WEFT_IN_PLACE);
        set_counts(call, recv.bytes());
    }
    return {};
}

// A call that moves blocks: both buffers as bytes.
WrongArguments prepare_blocks(Operation& operation, const ProgramCall& program, Copies copies,
                              weft_call& call) {
    const TakenComm& comm = *operation.comm;
    const bool is_root = comm.rank == program.root;
    const bool is_rooted = program.root != no_root;
    const bool is_gather = operation.collective == MpiCollective::Gather ||
                           operation.collective == MpiCollective::Gatherv;
    const bool is_scatter = operation.collective == MpiCollective::Scatter ||
                            operation.collective == MpiCollective::Scatterv;
    const bool sends_in_place = program.send.form != ProgramBuffer::Shape::none && !is_scatter &&
                                !is_neighborly(operation.collective) && (!is_gather || is_root) &&
                                program.send.at == MPI_IN_PLACE;
    const bool receives_in_place = is_scatter && is_root && program.recv.at == MPI_IN_PLACE;
    const bool uses_send = !sends_in_place && (!is_scatter || is_root);
    const bool uses_recv = !receives_in_place && (!is_gather || is_root);
    const auto ranks = static_cast<std::size_t>(comm.ranks);
    const bool has_neighbors = is_neighborly(operation.collective);
    const auto sent_blocks = has_neighbors ? static_cast<std::size_t>(comm.outdegree) : ranks;
    const auto received_blocks = has_neighbors ? static_cast<std::size_t>(comm.indegree) : ranks;
    if (uses_send) {
        if (WrongArguments why = operation.send.describe(program.send, sent_blocks, copies))
            return why;
    }
    if (uses_recv) {
        if (WrongArguments why = operation.recv.describe(program.recv, received_blocks, copies))
            return why;
    }

    void* const in_place = const_cast<void*>(WEFT_IN_PLACE);
    call.send.data = sends_in_place ? in_place : operation.send.at();
    call.recv.data = receives_in_place ? in_place : operation.recv.at();
    call.root = is_rooted ? program.root : 0;
    const bool is_bcast = operation.collective == MpiCollective::Bcast;
    // A rank without destinations may give any size of what it sends.
    const bool counts_sent = uses_send && program.send.form != ProgramBuffer::Shape::none &&
                             !(has_neighbors && comm.outdegree == 0);
    set_counts(call, counts_sent ? operation.send.bytes() : operation.recv.bytes());
    // Blocks of neighbors that do not exist stay as they are.
    operation.fetches =
        operation.recv.has_copy() && (sends_in_place || has_neighbors || (is_bcast && is_root));
    operation.stores = operation.recv.has_copy() && !(is_bcast && is_root);
    if (uses_send && uses_recv && !is_bcast && program.send.form != ProgramBuffer::Shape::none) {
        if (WrongArguments why = match_own_part(operation, program, is_scatter, copies, call))
            return why;
    }
    operation.bytes = call.send.count;
    if (is_listed(program.send) || is_listed(program.recv)) {
        describe(call.send, operation.send);
        describe(call.recv, operation.recv);
    }
    return {};
}

// A call whose elements the MPI combines: as bytes.
Taker prepare_callbacks(Operation& operation, const ProgramCall& program, TypeFacts& type,
                        std::int64_t elements, bool calls_back, Copies copies, weft_call& call,
                        WrongArguments& refusal) {
    const bool is_root = program.root == no_root || operation.comm->rank == program.root;
    const bool is_in_place = is_root && program.send.at == MPI_IN_PLACE;
    const bool has_blocks = operation.collective == MpiCollective::Reduce_scatter ||
                            operation.collective == MpiCollective::Reduce_scatter_block;
    if (!calls_back && !has_own_loop(program.op, type)) return Taker::the_mpi;
    if (type.size > WEFT_OPAQUE_MAX) return Taker::the_mpi;
    const std::int64_t sent = operation.collective == MpiCollective::Reduce_scatter_block
                                  ? elements * operation.comm->ranks
                                  : elements;
    std::int64_t received = elements;
    if (operation.collective == MpiCollective::Reduce_scatter) {
        received = static_cast<std::int64_t>(
            operation.elements[static_cast<std::size_t>(operation.comm->rank)]);
    }
    if (is_in_place && has_blocks) received = sent;
    if (!is_in_place) {
        refusal = operation.send.describe(ProgramBuffer::one(program.send.at, sent, type.handle), 1,
                                          copies);
    }
    if (is_root && !refusal) {
        refusal =
            operation.recv.describe(ProgramBuffer::one(program.recv.at, received, type.handle), 1);
    }
    if (refusal) return Taker::nobody;
    operation.combining = combining(program.op, type);
    if (!operation.combining) return Taker::the_mpi;
    call.op = op_of(*operation.combining);
    set_type(call, WEFT_OPAQUE(type.size));
    call.send.data = is_in_place ? const_cast<void*>(WEFT_IN_PLACE) : operation.send.at();
    call.recv.data = is_root ? operation.recv.at() : nullptr;
    // Rank 0 of an exscan gets nothing.
    operation.fetches =
        operation.recv.has_copy() && (is_in_place || operation.collective == MpiCollective::Exscan);
    operation.stores = operation.recv.has_copy();
    return Taker::weft;
}

// A call that combines elements.
Taker prepare_reduction(Operation& operation, const ProgramCall& program, bool calls_back,
                        Copies copies, weft_call& call, WrongArguments& refusal) {
    const TakenComm& comm = *operation.comm;
    const bool is_root = program.root == no_root || comm.rank == program.root;
    const auto refuse = [&](WrongArguments why) {
        refusal = why;
        return Taker::nobody;
    };
    TypeFacts* const type = facts_of(program.recv.type);
    std::int64_t elements = program.recv.count;
    if (operation.collective == MpiCollective::Reduce_scatter) {
        if (program.send.counts.is_null())
            return refuse({MPI_ERR_ARG, "a null array of counts", false});
        operation.elements.resize(static_cast<std::size_t>(comm.ranks));
        for (std::size_t i = 0; i < operation.elements.size(); ++i) {
            if (program.send.counts[i] < 0) return refuse({MPI_ERR_COUNT, "a negative count"});
            operation.elements[i] = static_cast<std::size_t>(program.send.counts[i]);
            elements += program.send.counts[i];
        }
    }
    if (elements < 0) return refuse({MPI_ERR_COUNT, "a negative count"});
    if (!type) {
        WrongArguments why = refusal_of(program.recv.type);
        why.may_ask = false;  // MPICH's reductions crash
        return refuse(why);
    }
    call.root = program.root == no_root ? 0 : program.root;
    const bool is_in_place = is_root && program.send.at == MPI_IN_PLACE;
    call.send.data = is_in_place ? const_cast<void*>(WEFT_IN_PLACE) : program.send.at;
    call.recv.data = is_root ? program.recv.at : nullptr;
    if (elements > 0 && ((!is_in_place && program.send.at == MPI_IN_PLACE) ||
                         (is_root && program.recv.at == MPI_IN_PLACE))) {
        return refuse({MPI_ERR_ARG, "MPI_IN_PLACE in a buffer that cannot be in place"});
    }
    set_counts(call, static_cast<std::size_t>(elements));
    operation.bytes = call.send.count * static_cast<std::size_t>(type->size);
    if (operation.collective == MpiCollective::Reduce_scatter)
        call.send.counts = operation.elements.data();
    if (type->size <= 0) return Taker::the_mpi;
    if (program.op == MPI_OP_NULL || !is_defined(program.op, *type)) return refuse(unsuitable_op);
    call.op = predefined_op(program.op);
    if (!call.op || !type->element || !has_loop(call.op, *type->element)) {
        return prepare_callbacks(operation, program, *type, elements, calls_back, copies, call,
                                 refusal);
    }
    set_type(call, *type->element);
    if (copies == Copies::all && !is_in_place) {
        const std::int64_t blocks =
            operation.collective == MpiCollective::Reduce_scatter_block ? comm.ranks : 1;
        refusal = operation.send.describe(
            ProgramBuffer::one(program.send.at, elements * blocks, type->handle), 1, copies);
        if (refusal) return Taker::nobody;
        call.send.data = operation.send.at();
    }
    return Taker::weft;
}

}  // namespace

Taker prepare(Operation& operation, const ProgramCall& program, bool calls_back, Copies copies,
              weft_call& call, WrongArguments& refusal) {
    if (is_neighborly(operation.collective) && !operation.comm->has_topology) return Taker::the_mpi;
    const TakenComm& comm = *operation.comm;
    if (program.root != no_root && (program.root < 0 || program.root >= comm.ranks)) {
        refusal = {MPI_ERR_ROOT, "a root that is no rank"};
        return Taker::nobody;
    }
    Taker taker = Taker::weft;
    if (combines(operation.collective)) {
        taker = prepare_reduction(operation, program, calls_back, copies, call, refusal);
    } else {
        refusal = prepare_blocks(operation, program, copies, call);
        if (refusal) taker = Taker::nobody;
    }
    return taker == Taker::nobody && refusal.is_left ? Taker::the_mpi : taker;
}

static_assert(static_cast<int>(MpiCollective::Exscan) == WEFT_COLLECTIVE_EXSCAN &&
              static_cast<int>(MpiCollective::number) == WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLW + 1);

weft_status begin(Operation& operation, weft_call& call) {
    call.collective = operation.collective == MpiCollective::Alltoallw ? WEFT_COLLECTIVE_ALLTOALLV
                      : operation.collective == MpiCollective::Neighbor_alltoallw
                          ? WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLV  // as bytes
                          : static_cast<weft_collective>(operation.collective);
    return weft_start_call(&call, operation.is_persistent ? WEFT_PERSISTENT : WEFT_NONBLOCKING,
                           operation.comm->comm, &operation.request);
}

}  // namespace weft::dropin
