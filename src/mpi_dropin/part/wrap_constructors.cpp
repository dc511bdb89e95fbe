// The constructors of communicators: the MPI makes them, then Weft one of the same ranks.
#include <utility>

#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

#define CONSTRUCTOR(name, parameters, arguments_) \
    int name parameters {                         \
        Construction construction(comm);          \
        const int error = mpi.name arguments_;    \
        if (error != MPI_SUCCESS) {               \
            construction.fail();                  \
            return error;                         \
        }                                         \
        construction.take(*made);                 \
        return MPI_SUCCESS;                       \
    }
#define UNORDERED_CONSTRUCTOR(name, parameters, arguments_) \
    int name parameters {                                   \
        Construction construction;                          \
        const int error = mpi.name arguments_;              \
        if (error != MPI_SUCCESS) {                         \
            construction.fail();                            \
            return error;                                   \
        }                                                   \
        construction.take(*made);                           \
        return MPI_SUCCESS;                                 \
    }
#define FUNCTION(name)
#include "mpi_dropin/functions.def"
#undef CONSTRUCTOR
#undef UNORDERED_CONSTRUCTOR
#undef FUNCTION

int Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    Construction construction(comm);
    *made = MPI_COMM_NULL;
    const int error = mpi.Comm_idup(comm, made, request);
    if (error != MPI_SUCCESS) {
        construction.fail();
        return error;
    }
    watch(*request, std::move(construction), made);
    return MPI_SUCCESS;
}

int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
    Construction construction(comm);
    *made = MPI_COMM_NULL;
    const int error = mpi.Comm_idup_with_info(comm, info, made, request);
    if (error != MPI_SUCCESS) {
        construction.fail();
        return error;
    }
    watch(*request, std::move(construction), made);
    return MPI_SUCCESS;
}

const Wrapper wrappers[] = {
#define CONSTRUCTOR(name, parameters, arguments_) wrapper("MPI_" #name, name),
#define UNORDERED_CONSTRUCTOR(name, parameters, arguments_) wrapper("MPI_" #name, name),
#define FUNCTION(name)
#include "mpi_dropin/functions.def"
#undef CONSTRUCTOR
#undef UNORDERED_CONSTRUCTOR
#undef FUNCTION
    wrapper("MPI_Comm_idup", Comm_idup),
    wrapper("MPI_Comm_idup_with_info", Comm_idup_with_info),
};

}  // namespace

AnyFunction constructor_wrapper(const char* name) {
    return found_in(std::begin(wrappers), std::end(wrappers), name);
}

}  // namespace weft::dropin
