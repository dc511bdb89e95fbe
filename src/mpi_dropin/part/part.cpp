// The functions of a part that libweft_mpi.so calls.
#include <cstring>
#include <initializer_list>

#include "mpi_dropin/part/underneath.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {

int raise_alone(int error) {
    mpi.Comm_call_errhandler(MPI_COMM_SELF, error);
    return error;
}

AnyFunction found_in(const Wrapper* first, const Wrapper* end, const char* name) {
    for (; first != end; ++first) {
        if (std::strcmp(first->name, name) == 0) return first->function;
    }
    return nullptr;
}

}  // namespace weft::dropin

// `library` is the MPI, as dlopen returns it. 0: the functions can be wrapped.
extern "C" __attribute__((visibility("default"))) int weft_mpi_part_start(void* library) {
    return weft::dropin::find_underneath(library) ? 0 : 1;
}

// Null: the function is not wrapped, or the MPI does not have it.
extern "C" __attribute__((visibility("default"))) void* weft_mpi_part_find(const char* name) {
    using namespace weft::dropin;
    if (!is_underneath(name)) return nullptr;
    for (auto* find :
         {collective_wrapper, completion_wrapper, constructor_wrapper, lifetime_wrapper}) {
        if (AnyFunction function = find(name)) return reinterpret_cast<void*>(function);
    }
    return nullptr;
}
