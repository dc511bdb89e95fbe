// MPI_Ibcast, MPI_Bcast_init, MPI_Bcast and so on: to Weft, or to the MPI.
#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

#define COLLECTIVE(Name, name, parameters, arguments_)                                             \
    int SUFFIXED(I##name)(WEFT_BARE parameters MPI_Comm comm, MPI_Request * request) {             \
        int error = MPI_SUCCESS;                                                                   \
        if (take(MpiCollective::Name, Form::nonblocking, arguments::Name arguments_, comm,         \
                 request, &error)) {                                                               \
            return error;                                                                          \
        }                                                                                          \
        return mpi.SUFFIXED(I##name)(WITH(arguments_) comm, request);                              \
    }                                                                                              \
    int SUFFIXED(Name##_init)(WEFT_BARE parameters MPI_Comm comm, MPI_Info info,                   \
                              MPI_Request * request) {                                             \
        int error = MPI_SUCCESS;                                                                   \
        if (take(MpiCollective::Name, Form::persistent, arguments::Name arguments_, comm, request, \
                 &error)) {                                                                        \
            return error;                                                                          \
        }                                                                                          \
        return mpi.SUFFIXED(Name##_init)(WITH(arguments_) comm, info, request);                    \
    }                                                                                              \
    int SUFFIXED(Name)(WEFT_BARE parameters MPI_Comm comm) {                                       \
        int error = MPI_SUCCESS;                                                                   \
        if (take(MpiCollective::Name, Form::blocking, arguments::Name arguments_, comm, nullptr,   \
                 &error)) {                                                                        \
            return error;                                                                          \
        }                                                                                          \
        return mpi.SUFFIXED(Name)(WITH(arguments_) comm);                                          \
    }

// "a, b," for (a, b), and nothing for ().
#define WITH(arguments_) WITH_BARE arguments_
#define WITH_BARE(...) __VA_ARGS__ __VA_OPT__(, )

#define COUNT int
#define DISPL int
#define SUFFIXED(name) name
#include "mpi_dropin/collectives.def"
#undef COUNT
#undef DISPL
#undef SUFFIXED

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define SUFFIXED(name) SUFFIXED_C(name)
#define SUFFIXED_C(name) name##_c
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments_)
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL
#undef SUFFIXED

const Wrapper wrappers[] = {
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments_)                  \
    wrapper_of<I##name>("MPI_I" #name), wrapper_of<Name##_init>("MPI_" #Name "_init"), \
        wrapper_of<Name>("MPI_" #Name),
#define COLLECTIVE(Name, name, parameters, arguments_)            \
    COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments_) \
    wrapper_of<I##name##_c>("MPI_I" #name "_c"),                  \
        wrapper_of<Name##_init_c>("MPI_" #Name "_init_c"),        \
        wrapper_of<Name##_c>("MPI_" #Name "_c"),
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
};

}  // namespace

AnyFunction collective_wrapper(const char* name) {
    return found_in(std::begin(wrappers), std::end(wrappers), name);
}

}  // namespace weft::dropin
