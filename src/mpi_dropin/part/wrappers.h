// The functions that programs call in place of the MPI's.
#pragma once

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

AnyFunction found_in(const Wrapper* first, const Wrapper* end, const char* name);

}  // namespace weft::dropin
