#include "mpi_dropin/part/reductions.h"

#include <memory>
#include <vector>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/handle_map.h"

namespace weft::dropin {

struct Combining {
    MPI_Op op;
    TypeFacts* type;
    weft_op weft = WEFT_OP_NULL;
};

namespace {

struct OpUse {
    int users = 0;
    bool is_freed = false;  // by the program
};
HandleMap<MPI_Op, OpUse> used;

// Weft calls it: inout = in (op) inout.
void combine(const void* in, void* inout, std::size_t count, weft_type, void* context) {
    const Combining& combining = *static_cast<const Combining*>(context);
    const TypeFacts& type = *combining.type;
    const auto elements = static_cast<int>(count);
    if (type.is_plain) {
        const auto* left = static_cast<const std::byte*>(in) - type.true_lb;
        mpi.Reduce_local(left, static_cast<std::byte*>(inout) - type.true_lb, elements, type.handle,
                         combining.op);
        return;
    }
    // The operation wants the gaps.
    const auto stride = static_cast<std::size_t>(type.extent < 0 ? -type.extent : type.extent);
    const std::size_t bytes = stride * (count + 1) + static_cast<std::size_t>(type.span);
    const auto left = std::make_unique<std::byte[]>(2 * bytes);
    std::byte* const from = left.get() + (type.extent < 0 ? stride * count : 0) - type.true_lb;
    std::byte* const into = from + bytes;
    const auto number = static_cast<MPI_Count>(count);
    unpack(static_cast<const std::byte*>(in), from, number, type);
    unpack(static_cast<const std::byte*>(inout), into, number, type);
    mpi.Reduce_local(from, into, elements, type.handle, combining.op);
    pack(into, number, type, static_cast<std::byte*>(inout));
}

}  // namespace

weft_op predefined_op(MPI_Op op) {
    const struct {
        MPI_Op mpi;
        weft_op weft;
    } ops[] = {{MPI_SUM, WEFT_SUM},   {MPI_MAX, WEFT_MAX},       {MPI_MIN, WEFT_MIN},
               {MPI_PROD, WEFT_PROD}, {MPI_LAND, WEFT_LAND},     {MPI_LOR, WEFT_LOR},
               {MPI_LXOR, WEFT_LXOR}, {MPI_BAND, WEFT_BAND},     {MPI_BOR, WEFT_BOR},
               {MPI_BXOR, WEFT_BXOR}, {MPI_MINLOC, WEFT_MINLOC}, {MPI_MAXLOC, WEFT_MAXLOC}};
    for (const auto& known : ops) {
        if (known.mpi == op) return known.weft;
    }
    return WEFT_OP_NULL;
}

Combining* combining(MPI_Op op, TypeFacts& type) {
    int commutes = 0;
    if (mpi.Op_commutative(op, &commutes) != MPI_SUCCESS) return nullptr;
    auto combining = std::make_unique<Combining>(Combining{op, &type});
    if (weft_op_create(combine, commutes, combining.get(), &combining->weft) != WEFT_OK)
        return nullptr;
    keep(type);
    const Exclusive exclusive;
    OpUse* use = used.find(op);
    if (!use) used.add(op, use = new OpUse);
    ++use->users;
    return combining.release();
}

weft_op op_of(const Combining& combining) { return combining.weft; }

void forget(Combining* combining) {
    if (!combining) return;
    const std::unique_ptr<Combining> owner(combining);
    weft_op_free(&combining->weft);
    release(*combining->type);
    {
        const Exclusive exclusive;
        OpUse* const use = used.find(combining->op);
        if (--use->users > 0) return;
        used.remove(combining->op);
        const bool is_freed = use->is_freed;
        delete use;
        if (!is_freed) return;
    }
    mpi.Op_free(&combining->op);
}

int free_op(MPI_Op* op) {
    {
        const Exclusive exclusive;
        if (OpUse* const use = used.find(*op)) {
            use->is_freed = true;
            *op = MPI_OP_NULL;
            return MPI_SUCCESS;
        }
    }
    return mpi.Op_free(op);
}

}  // namespace weft::dropin
