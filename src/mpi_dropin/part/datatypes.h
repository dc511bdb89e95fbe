// What is known about the MPI's datatypes.
//
// Thread safety: any thread.
#pragma once

#include <weft/weft.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mpi_dropin/part/own_loops.h"
#include "mpi_dropin/part/program_call.h"
#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {

struct TypeFacts {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    MPI_Count size = 0;
    MPI_Count extent = 0;
    MPI_Count true_lb = 0;
    MPI_Count span = 0;     // from the first byte to the last
    bool is_plain = false;  // elements are `size` bytes from true_lb on, in order and contiguous
    std::optional<weft_type> element{};  // Weft's type of the same elements; predefined types only
    OwnElement own_element = OwnElement::none;  // otherwise, if there are loops for it
    std::atomic<int> ops{
        -1};        // of MPI by which this MPI combines it (reductions.h); -1: not known yet
    int users = 0;  // operations that need the handle later
    bool is_freed = false;  // by the program, while it had users
};

// Null: not a type, not committed, or the MPI cannot pack it.
TypeFacts* facts_of(MPI_Datatype type);
// Why a call with a type without facts cannot be made.
WrongArguments refusal_of(MPI_Datatype type);

// An operation needs the handle until release().
void keep(TypeFacts& facts);
void release(TypeFacts& facts);

// The program frees a type: at once, or when no operation needs it anymore.
int free_type(MPI_Datatype* type);

// An address some bytes away. Not pointer arithmetic: MPI_BOTTOM is null, and displacements may be
// addresses.
inline std::byte* moved(const void* at, MPI_Count bytes) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(at) +
                                        static_cast<std::uintptr_t>(bytes));
}

// A communicator of this process alone, whose errors return.
MPI_Comm comm_alone();

// Call these in Init and Finalize. The first returns an error of the MPI.
int learn_predefined_types();
void forget_types();

// Copy `count` elements between the program's memory and a buffer without gaps. Return an error of
// the MPI.
int pack(const void* from, MPI_Count count, const TypeFacts& type, std::byte* into);
int unpack(const std::byte* from, void* into, MPI_Count count, const TypeFacts& type);

// The MPI's reduction operations as Weft's.
//
// Thread safety: any thread.

// Weft's equivalent operation; null: it has none, or `op` is the program's.
weft_op predefined_op(MPI_Op op);
// Whether Weft itself combines elements of `type` by one of its own operations.
bool has_loop(weft_op op, weft_type type);

// Whether elements of `type` are combined here, without the MPI: in any thread.
bool has_own_loop(MPI_Op op, const TypeFacts& type);

// An operation that combines elements of `type` by their own loop, or lets the MPI do it; Weft's
// elements are their bytes without gaps. The MPI does it with MPI_THREAD_MULTIPLE in any thread,
// otherwise only inside the program's calls.
// It needs the handles of both until forget(). Null: no memory.
struct CombiningByMpi;
CombiningByMpi* combining(MPI_Op op, TypeFacts& type);
weft_op op_of(const CombiningByMpi& combining);
// The first error of the MPI while it combined.
int error_of(const CombiningByMpi& combining);
// Whether the MPI combines a type by an operation; user-defined operations combine any.
bool is_defined(MPI_Op op, TypeFacts& type);
void forget(CombiningByMpi* combining);

// The program frees an operation: at once, or when nothing needs it anymore.
int free_op(MPI_Op* op);

}  // namespace weft::dropin
