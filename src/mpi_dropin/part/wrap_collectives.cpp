// MPI_Ibcast, MPI_Bcast_init, MPI_Bcast and so on: to Weft, or to the MPI.
#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

// The MPI, asked about a call that Weft cannot make.
#define ASKED(name, arguments_) \
    [&](MPI_Request* asked) { return mpi.SUFFIXED(I##name)(WITH(arguments_) comm, asked); }

#define NOTHING \
    {}
#define ONE ProgramBuffer::one
#define EVERY ProgramBuffer::each
#define VARYING ProgramBuffer::varying
#define TYPED ProgramBuffer::typed

// What a wrapper does in each form: `call` is the MPI's function.
#define TAKE(Name, name, arguments_, call_, form, request, call)                              \
    const ProgramCall program{MpiCollective::Name, form, comm, request, WEFT_BARE call_};     \
    int error = MPI_SUCCESS;                                                                  \
    WrongArguments refusal;                                                                   \
    switch (take(program, Copies::where_needed, &error, &refusal)) {                          \
        case Taker::weft: return error;                                                       \
        case Taker::the_mpi: break;                                                           \
        case Taker::nobody: return take_or_refuse(program, refusal, ASKED(name, arguments_)); \
    }                                                                                         \
    return call;

#define COLLECTIVE(Name, name, parameters, arguments_, call_)                          \
    int SUFFIXED(I##name)(WEFT_BARE parameters MPI_Comm comm, MPI_Request * request) { \
        TAKE(Name, name, arguments_, call_, Form::nonblocking, request,                \
             mpi.SUFFIXED(I##name)(WITH(arguments_) comm, request))                    \
    }                                                                                  \
    int SUFFIXED(Name##_init)(WEFT_BARE parameters MPI_Comm comm, MPI_Info info,       \
                              MPI_Request * request) {                                 \
        TAKE(Name, name, arguments_, call_, Form::persistent, request,                 \
             mpi.SUFFIXED(Name##_init)(WITH(arguments_) comm, info, request))          \
    }                                                                                  \
    int SUFFIXED(Name)(WEFT_BARE parameters MPI_Comm comm) {                           \
        TAKE(Name, name, arguments_, call_, Form::blocking, nullptr,                   \
             mpi.SUFFIXED(Name)(WITH(arguments_) comm))                                \
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
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments_, call_)
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL
#undef SUFFIXED

const Wrapper collectives_wrappers[] = {
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments_, call_)           \
    wrapper_of<I##name>("MPI_I" #name), wrapper_of<Name##_init>("MPI_" #Name "_init"), \
        wrapper_of<Name>("MPI_" #Name),
#define COLLECTIVE(Name, name, parameters, arguments_, call_)            \
    COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments_, call_) \
    wrapper_of<I##name##_c>("MPI_I" #name "_c"),                         \
        wrapper_of<Name##_init_c>("MPI_" #Name "_init_c"),               \
        wrapper_of<Name##_c>("MPI_" #Name "_c"),
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
};

#undef NOTHING
#undef ONE
#undef EVERY
#undef VARYING
#undef TYPED

}  // namespace

AnyFunction collective_wrapper(const char* name) {
    return found_in(std::begin(collectives_wrappers), std::end(collectives_wrappers), name);
}

}  // namespace weft::dropin
