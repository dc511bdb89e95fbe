#include "mpi_dropin/part/refused_calls.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "mpi_dropin/part/communicators.h"

namespace weft::dropin {
namespace {

enum class MpiKind : std::uint8_t { mpich, openmpi, unknown };

// Whose library the process has: the standard's binary interface does not say.
MpiKind mpi_kind() {
    static const MpiKind found = [] {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
        int length = 0;
        mpi.Get_library_version(version, &length);
        if (std::strstr(version, "Open MPI")) return MpiKind::openmpi;
        const bool is_mpich = std::strstr(version, "MPICH") || std::strstr(version, "Intel");
        return is_mpich ? MpiKind::mpich : MpiKind::unknown;
    }();
    return found;
}

int class_of(int code) {
    int error_class = MPI_ERR_OTHER;
    mpi.Error_class(code, &error_class);
    return error_class;
}

// While it lives, errors of calls on the communicator return.
class ErrorsReturn {
  public:
    explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
        mpi.Comm_get_errhandler(comm_, &before_);
        mpi.Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    ~ErrorsReturn() {
        mpi.Comm_set_errhandler(comm_, before_);
        mpi.Errhandler_free(&before_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

  private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// The MPI's own error for a call; MPI_SUCCESS: it would make it, or nobody knows. The MPI must not
// begin the call: the other ranks' are Weft's.
int own_error(const ProgramCall& call, const WrongArguments& refusal,
              const std::function<int(MPI_Request*)>& ask) {
    // MPICH looks for a null request last.
    if (mpi_kind() == MpiKind::mpich && refusal.may_ask) {
        const ErrorsReturn quiet(call.comm);
        const int code = ask(nullptr);
        return class_of(code) == MPI_ERR_ARG ? MPI_SUCCESS : code;
    }
    // Open MPI checks this in two reductions alone.
    if (mpi_kind() == MpiKind::openmpi && call.arguments.send.at == call.arguments.recv.at) {
        if (call.collective == MpiCollective::Allreduce) return MPI_ERR_BUFFER;
        if (call.collective == MpiCollective::Reduce) return MPI_ERR_ARG;
    }
    // The others report these in any case, by their class alone.
    switch (refusal.error) {
        case MPI_ERR_COUNT:
        case MPI_ERR_TYPE:
        case MPI_ERR_ROOT:
        case MPI_ERR_OP:
        case MPI_ERR_ARG: return refusal.error;
        default: return MPI_SUCCESS;
    }
}

}  // namespace

int take_or_refuse(const ProgramCall& call, WrongArguments refusal,
                   const std::function<int(MPI_Request*)>& ask) {
    TakenComm& comm = *taken(call.comm);
    const int function = function_of(call.collective, call.form);
    std::string why = refusal.why;
    int code = own_error(call, refusal, ask);
    if (code == MPI_SUCCESS) {
        int error = MPI_SUCCESS;
        const Taker taker = take(call.collective, call.form, call.arguments, call.comm,
                                 call.request, Copies::all, &error, &refusal);
        if (taker == Taker::weft) return error;
        why = refusal.why;
        code = refusal.error;
        std::fprintf(stderr, "weft: %s on rank %d: %s\n", name_of(function), comm.rank,
                     why.c_str());
    }
    count_refused(function);
    tell_of_refusal(comm, function, why.c_str());
    return raise_error(comm, code);
}

}  // namespace weft::dropin
