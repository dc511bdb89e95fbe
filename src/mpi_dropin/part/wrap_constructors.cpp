// The constructors of communicators: the MPI makes a communicator, then Weft makes one of the same
// ranks.
#include <utility>

#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

// Calls the MPI's constructor, then `use` if it has not failed.
template <typename Call, typename Use>
int construct(CommConstruction& construction, Call call, Use use) {
    const int error = call();
    if (error == MPI_SUCCESS) {
        use();
    } else {
        construction.fail();
    }
    return error;
}

#define CONSTRUCTOR(name, parameters, arguments_)                                                  \
    int name parameters {                                                                          \
        CommConstruction construction(comm);                                                       \
        return construct(                                                                          \
            construction, [&] { return mpi.name arguments_; }, [&] { construction.take(*made); }); \
    }
#define UNORDERED_CONSTRUCTOR(name, parameters, arguments_)                                        \
    int name parameters {                                                                          \
        CommConstruction construction;                                                             \
        return construct(                                                                          \
            construction, [&] { return mpi.name arguments_; }, [&] { construction.take(*made); }); \
    }
#include "mpi_dropin/functions.def"

// Takes the communicator that `call` makes when its request has completed.
template <typename Call>
int construct_later(MPI_Comm comm, MPI_Comm* made, MPI_Request* request, Call call) {
    if (!made) return call();  // the MPI reports it
    Operation& operation = take_unused(false);
    CommConstruction construction(comm);
    *made = MPI_COMM_NULL;
    const int error = construct(construction, call,
                                [&] { watch(operation, *request, std::move(construction), made); });
    if (error != MPI_SUCCESS) give_back(operation);
    return error;
}

int Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    return construct_later(comm, made, request, [&] { return mpi.Comm_idup(comm, made, request); });
}

int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
    return construct_later(comm, made, request,
                           [&] { return mpi.Comm_idup_with_info(comm, info, made, request); });
}

const Wrapper constructors_wrappers[] = {
#define CONSTRUCTOR(name, parameters, arguments_) wrapper_of<name>("MPI_" #name),
#include "mpi_dropin/functions.def"
    wrapper_of<Comm_idup>("MPI_Comm_idup"),
    wrapper_of<Comm_idup_with_info>("MPI_Comm_idup_with_info"),
};

}  // namespace

AnyFunction constructor_wrapper(const char* name) {
    return found_in(std::begin(constructors_wrappers), std::end(constructors_wrappers), name);
}

}  // namespace weft::dropin
