// Loops for predefined types of MPI that Weft does not have. They do not call the MPI, so any
// thread may run them.
#pragma once

#include <weft/weft.h>

#include <cstdint>

namespace weft::dropin {

// Types of MPI without a type of Weft, by what their elements hold, packed.
enum class OwnElement : std::uint8_t {
    none,
    long_double,
    long_double_complex,
    short_int,
    long_double_int
};

// Null: there is no such loop.
weft_op_function own_loop(weft_op op, OwnElement element);

}  // namespace weft::dropin
