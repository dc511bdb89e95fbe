#include "mpi_dropin/part/underneath.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace weft::dropin {

Underneath mpi;

namespace {

void* library = nullptr;

// Looks up the PMPI_ name, which a profiler does not intercept.
template <typename Function>
bool find(void* handle, Function& function, const char* name) {
    void* address = dlsym(handle, name);
    function = reinterpret_cast<Function>(address);
    return address != nullptr;
}

}  // namespace

void* address_underneath(const char* symbol) { return dlsym(library, symbol); }

bool is_underneath(const char* name) {
    return dlsym(library, (std::string("P") + name).c_str()) != nullptr;
}

bool find_underneath(void* handle) {
    library = handle;
    const char* missing = nullptr;
#define NATIVE(name) \
    if (!find(handle, mpi.name, "PMPI_" #name)) missing = "PMPI_" #name;
#include "mpi_dropin/part/natives.def"
#undef NATIVE
    if (missing) {
        std::fprintf(stderr, "weft: the MPI is left alone, because it has no %s\n", missing);
        return false;
    }
#define CONSTRUCTOR(name, parameters, arguments) find(handle, mpi.name, "PMPI_" #name);
#include "mpi_dropin/functions.def"
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_) \
    find(handle, mpi.I##name, "PMPI_I" #name);                              \
    find(handle, mpi.Name##_init, "PMPI_" #Name "_init");                   \
    find(handle, mpi.Name, "PMPI_" #Name);
#define COLLECTIVE(Name, name, parameters, arguments, call_)            \
    COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_) \
    find(handle, mpi.I##name##_c, "PMPI_I" #name "_c");                 \
    find(handle, mpi.Name##_init_c, "PMPI_" #Name "_init_c");           \
    find(handle, mpi.Name##_c, "PMPI_" #Name "_c");
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
    find(handle, mpi.Comm_idup_with_info, "PMPI_Comm_idup_with_info");
    find(handle, mpi.Type_get_envelope_c, "PMPI_Type_get_envelope_c");
    find(handle, mpi.Type_get_contents_c, "PMPI_Type_get_contents_c");
    find(handle, mpi.Pack_c, "PMPI_Pack_c");
    find(handle, mpi.Unpack_c, "PMPI_Unpack_c");
    find(handle, mpi.Request_get_status_all, "PMPI_Request_get_status_all");
    find(handle, mpi.Request_get_status_any, "PMPI_Request_get_status_any");
    find(handle, mpi.Request_get_status_some, "PMPI_Request_get_status_some");
#if WEFT_MPI_HAS_SESSIONS
    find(handle, mpi.Session_init, "PMPI_Session_init");
    find(handle, mpi.Session_finalize, "PMPI_Session_finalize");
    find(handle, mpi.Group_from_session_pset, "PMPI_Group_from_session_pset");
#endif
    find(handle, mpi.Request_is_complete, "PMPIX_Request_is_complete");
    find(handle, mpi.Grequest_start_polled, "PMPIX_Grequest_start");
    return true;
}

}  // namespace weft::dropin
