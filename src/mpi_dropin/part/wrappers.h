// The functions that programs call in place of the MPI's.
#pragma once

#include <cxxabi.h>

#include <new>

namespace weft::dropin {

using AnyFunction = void (*)();

// Null: it is not wrapped. `name`: "MPI_Bcast".
AnyFunction collective_wrapper(const char* name);
AnyFunction completion_wrapper(const char* name);
AnyFunction constructor_wrapper(const char* name);
AnyFunction lifetime_wrapper(const char* name);

struct Wrapper {
    const char* name;
    AnyFunction function;
};

template <typename Function>
Wrapper wrapper(const char* name, Function* function) {
    return {name, reinterpret_cast<AnyFunction>(function)};
}

// Calls the error handler of MPI_COMM_SELF. Returns the error.
int raise_alone(int error);

// A function that may run out of memory: no exception passes through C but the unwinding of a
// thread that ends. Most do so before they have begun or completed anything. A constructor or an
// Init that does so later fails, though the MPI's has not.
template <auto function>
struct MayLackMemory;
template <typename... Arguments, int (*function)(Arguments...)>
struct MayLackMemory<function> {
    static int call(Arguments... arguments) {
        try {
            return function(arguments...);
        } catch (const std::bad_alloc&) {
            return raise_alone(MPI_ERR_NO_MEM);
        } catch (abi::__forced_unwind&) {
            throw;
        } catch (...) {
            return raise_alone(MPI_ERR_INTERN);
        }
    }
};

template <auto function>
Wrapper wrapper_of(const char* name) {
    return wrapper(name, MayLackMemory<function>::call);
}

AnyFunction found_in(const Wrapper* first, const Wrapper* end, const char* name);

}  // namespace weft::dropin
