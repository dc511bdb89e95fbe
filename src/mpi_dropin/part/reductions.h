// The MPI's reduction operations as Weft's.
//
// Thread safety: any thread.
#pragma once

#include <weft/weft.h>

#include "mpi_dropin/part/datatypes.h"

namespace weft::dropin {

// Weft's equivalent operation; null: it has none, or `op` is the program's.
weft_op predefined_op(MPI_Op op);
// Whether Weft itself combines elements of `type` by one of its own operations.
bool has_loop(weft_op op, weft_type type);

// An operation that lets the MPI combine elements of `type`; Weft's elements are their bytes
// without gaps. With MPI_THREAD_MULTIPLE in any thread, otherwise only inside the program's calls.
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
