#include "mpi_dropin/part/reductions.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/handle_map.h"
#include "mpi_dropin/part/lasting.h"

namespace weft::dropin {

struct CombiningByMpi {
    MPI_Op op = MPI_OP_NULL;
    TypeFacts* type = nullptr;
    weft_op weft = WEFT_OP_NULL;
    std::atomic<int> error{MPI_SUCCESS};  // the first one that the MPI returned
};

namespace {

struct OpUse {
    int users = 0;
    bool is_freed = false;  // by the program
};
auto& used = lasting<HandleMap<MPI_Op, OpUse>>();

void keep_first(CombiningByMpi& combining, int error) {
    int none = MPI_SUCCESS;
    if (error != MPI_SUCCESS) combining.error.compare_exchange_strong(none, error);
}

// inout = in (op) inout; `count` fits into an int.
void combine_some(CombiningByMpi& combining, const void* in, void* inout, std::size_t count) {
    const TypeFacts& type = *combining.type;
    const auto elements = static_cast<int>(count);
    if (type.is_plain) {
        keep_first(combining,
                   mpi.Reduce_local(moved(in, -type.true_lb), moved(inout, -type.true_lb), elements,
                                    type.handle, combining.op));
        return;
    }
    // The operation expects elements with their gaps.
    const auto stride = static_cast<std::size_t>(type.extent < 0 ? -type.extent : type.extent);
    const std::size_t bytes = stride * (count + 1) + static_cast<std::size_t>(type.span);
    const std::unique_ptr<std::byte[]> left(new (std::nothrow) std::byte[2 * bytes]);
    if (!left) return keep_first(combining, MPI_ERR_NO_MEM);
    std::byte* const from =
        moved(left.get() + (type.extent < 0 ? stride * count : 0), -type.true_lb);
    std::byte* const into = moved(from, static_cast<MPI_Count>(bytes));
    const auto number = static_cast<MPI_Count>(count);
    keep_first(combining, unpack(static_cast<const std::byte*>(in), from, number, type));
    keep_first(combining, unpack(static_cast<const std::byte*>(inout), into, number, type));
    keep_first(combining, mpi.Reduce_local(from, into, elements, type.handle, combining.op));
    keep_first(combining, pack(into, number, type, static_cast<std::byte*>(inout)));
}

// Weft calls it.
void combine(const void* in, void* inout, std::size_t count, weft_type, void* context) {
    constexpr std::size_t at_once = std::size_t{1} << 20;
    CombiningByMpi& combining = *static_cast<CombiningByMpi*>(context);
    for (std::size_t from = 0; from < count; from += at_once) {
        const auto bytes = static_cast<MPI_Count>(from) * combining.type->size;
        combine_some(combining, moved(in, bytes), moved(inout, bytes),
                     std::min(at_once, count - from));
    }
}

}  // namespace

namespace {

const struct {
    MPI_Op mpi;
    weft_op weft;
} predefined[] = {{MPI_SUM, WEFT_SUM},   {MPI_MAX, WEFT_MAX},       {MPI_MIN, WEFT_MIN},
                  {MPI_PROD, WEFT_PROD}, {MPI_LAND, WEFT_LAND},     {MPI_LOR, WEFT_LOR},
                  {MPI_LXOR, WEFT_LXOR}, {MPI_BAND, WEFT_BAND},     {MPI_BOR, WEFT_BOR},
                  {MPI_BXOR, WEFT_BXOR}, {MPI_MINLOC, WEFT_MINLOC}, {MPI_MAXLOC, WEFT_MAXLOC}};

int bit_of(weft_op op) { return 1 << reinterpret_cast<std::uintptr_t>(op); }

// Tries which of these the MPI combines a type by: a bit for each. Some MPIs go beyond the
// standard.
int ops_of_mpi(const TypeFacts& type) {
    alignas(std::max_align_t) std::byte in[64] = {}, out[64];
    constexpr MPI_Count most = sizeof in;
    if (type.size > most || type.extent > most || type.extent < 0 || type.true_lb != 0) return 0;
    static std::mutex one_at_a_time;  // on one communicator
    const std::lock_guard lock(one_at_a_time);
    int ops = 0;
    for (const auto& known : predefined) {
        // MPICH's MPI_Reduce_local does not check its arguments.
        if (mpi.Allreduce(in, out, 1, type.handle, known.mpi, comm_alone()) == MPI_SUCCESS)
            ops |= bit_of(known.weft);
    }
    return ops;
}

}  // namespace

weft_op predefined_op(MPI_Op op) {
    for (const auto& known : predefined) {
        if (known.mpi == op) return known.weft;
    }
    return WEFT_OP_NULL;
}

bool has_loop(weft_op op, weft_type type) {
    const bool is_bitwise = op == WEFT_BAND || op == WEFT_BOR || op == WEFT_BXOR;
    const bool is_location = op == WEFT_MINLOC || op == WEFT_MAXLOC;
    const bool is_arithmetic =
        op == WEFT_SUM || op == WEFT_PROD || op == WEFT_MIN || op == WEFT_MAX;
    if (type == WEFT_BYTE) return is_bitwise;
    if (type >= WEFT_FLOAT32_INT32) return is_location;
    if (type >= WEFT_FLOAT32) return is_arithmetic;
    return !is_location;
}

CombiningByMpi* combining(MPI_Op op, TypeFacts& type) {
    int commutes = 0;
    if (mpi.Op_commutative(op, &commutes) != MPI_SUCCESS) return nullptr;
    auto combining = std::make_unique<CombiningByMpi>();
    combining->op = op;
    combining->type = &type;
    const auto create = Exclusive::has_several_threads ? weft_op_create : weft_op_create_confined;
    if (create(combine, commutes, combining.get(), &combining->weft) != WEFT_OK)
        throw std::bad_alloc();
    keep(type);
    const Exclusive exclusive;
    OpUse* use = used.find(op);
    if (!use) used.add(op, use = new OpUse);
    ++use->users;
    return combining.release();
}

weft_op op_of(const CombiningByMpi& combining) { return combining.weft; }

int error_of(const CombiningByMpi& combining) { return combining.error.load(); }

bool is_defined(MPI_Op op, TypeFacts& type) {
    const weft_op known = predefined_op(op);
    if (!known) return op != MPI_REPLACE && op != MPI_NO_OP;
    if (type.ops < 0) type.ops = ops_of_mpi(type);
    return (type.ops & bit_of(known)) != 0;
}

void forget(CombiningByMpi* combining) {
    if (!combining) return;
    const std::unique_ptr<CombiningByMpi> owner(combining);
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
