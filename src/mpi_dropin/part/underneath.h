// The MPI that the program runs on: its functions, found by dlsym, so that a call never reaches our
// own wrappers.
#pragma once

#include <mutex>

#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#include <mpi.h>

// Also Open MPI 5, whose header claims MPI-3.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define WEFT_MPI_HAS_SESSIONS 1
#else
#define WEFT_MPI_HAS_SESSIONS 0
#endif

namespace weft::dropin {

// Removes the parentheses of a macro's argument.
#define WEFT_BARE(...) __VA_ARGS__

struct Underneath {
    // With the types of the header: even the oldest MPI has these functions.
#define NATIVE(name) decltype(&::MPI_##name) name = nullptr;
#include "mpi_dropin/part/natives.def"
#undef NATIVE

    // With our own types: not every MPI declares all of these.
#define CONSTRUCTOR(name, parameters, arguments) int(*name) parameters = nullptr;
#include "mpi_dropin/functions.def"

#define COLLECTIVE(Name, name, parameters, arguments, call_)                             \
    int (*I##name)(WEFT_BARE parameters MPI_Comm, MPI_Request*) = nullptr;               \
    int (*Name##_init)(WEFT_BARE parameters MPI_Comm, MPI_Info, MPI_Request*) = nullptr; \
    int (*Name)(WEFT_BARE parameters MPI_Comm) = nullptr;
#define COUNT int
#define DISPL int
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL

#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_)
#define COLLECTIVE(Name, name, parameters, arguments, call_)                               \
    int (*I##name##_c)(WEFT_BARE parameters MPI_Comm, MPI_Request*) = nullptr;             \
    int (*Name##_init_c)(WEFT_BARE parameters MPI_Comm, MPI_Info, MPI_Request*) = nullptr; \
    int (*Name##_c)(WEFT_BARE parameters MPI_Comm) = nullptr;
#define COUNT MPI_Count
#define DISPL MPI_Aint
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL

    // Newer ones; null where the MPI lacks them.
    int (*Comm_idup_with_info)(MPI_Comm, MPI_Info, MPI_Comm*, MPI_Request*) = nullptr;
    int (*Type_get_envelope_c)(MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*,
                               int*) = nullptr;
    int (*Type_get_contents_c)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*,
                               MPI_Aint*, MPI_Count*, MPI_Datatype*) = nullptr;
    int (*Pack_c)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*,
                  MPI_Comm) = nullptr;
    int (*Unpack_c)(const void*, MPI_Count, MPI_Count*, void*, MPI_Count, MPI_Datatype,
                    MPI_Comm) = nullptr;
    int (*Request_get_status_all)(int, const MPI_Request*, int*, MPI_Status*) = nullptr;
    int (*Request_get_status_any)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
    int (*Request_get_status_some)(int, const MPI_Request*, int*, int*, MPI_Status*) = nullptr;
#if WEFT_MPI_HAS_SESSIONS
    int (*Session_init)(MPI_Info, MPI_Errhandler, MPI_Session*) = nullptr;
    int (*Session_finalize)(MPI_Session*) = nullptr;
    int (*Group_from_session_pset)(MPI_Session, const char*, MPI_Group*) = nullptr;
#endif

    // MPICH's own: whether a request is complete, without a poll.
    bool (*Request_is_complete)(MPI_Request) = nullptr;
    // ... and Intel MPI's: a generalized request, with a function that its completion functions
    // call.
    int (*Grequest_start_polled)(MPI_Grequest_query_function*, MPI_Grequest_free_function*,
                                 MPI_Grequest_cancel_function*, int (*poll)(void*, MPI_Status*),
                                 int (*wait)(int, void**, double, MPI_Status*), void*,
                                 MPI_Request*) = nullptr;
};

extern Underneath mpi;

// Looks up all of them in the library `handle`, as dlopen returns it. False: a required one is
// missing.
bool find_underneath(void* handle);
// Null: neither the library has the symbol, nor one that it depends on.
void* address_underneath(const char* symbol);
// Whether the MPI has a function: "MPI_Bcast".
bool is_underneath(const char* name);

}  // namespace weft::dropin

// Exclusive access to what several threads of the program may use at the same time; locks only with
// MPI_THREAD_MULTIPLE. Never held while the MPI or Weft is called: both may call back.
namespace weft::dropin {

class Exclusive {
  public:
    Exclusive() {
        if (has_several_threads) mutex.lock();
    }
    ~Exclusive() {
        if (has_several_threads) mutex.unlock();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

    inline static bool has_several_threads = false;  // set once, by Init

  private:
    inline static std::mutex mutex;
};

}  // namespace weft::dropin
