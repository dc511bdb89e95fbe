// Types, operations and the loops that combine vectors.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "reduce/kernels.h"
#include "weft/types.h"

namespace weft {

// Bytes of one element; 0 for an unknown type.
std::size_t type_bytes(weft_type type);
// Offsets in a buffer are multiples of this.
std::size_t type_alignment(weft_type type);
// "float64", "opaque(24)"; "?" for an unknown type.
std::string type_name(weft_type type);

// A reduction bound to a type: a built-in kernel or a user's function.
struct Reduction {
    Kernel kernel = nullptr;
    weft_op_function user = nullptr;
    void* user_context = nullptr;
    weft_type type = WEFT_BYTE;
    std::size_t element_bytes = 1;
    bool commutative = true;
    bool is_confined = false;        // the user's function runs in threads of the program only
    bool exact = false;              // operands give the same bits in any order and association
    int op = 0;                      // of a kernel: the value of its predefined handle
    Rounding rounding = to_nearest;  // of the thread that starts

    void round_as_this_thread();

    // into = from (op) into
    void apply(const void* from, void* into, std::size_t bytes) const;
    // into = into (op) from; may overwrite `from`
    void apply_right(void* from, void* into, std::size_t bytes) const;
};

// Binds `op` to `type`, rounding as this thread does. Refuses an unknown or freed op, and
// combinations that MPI does not define (bitwise on floats, sum of pairs, arithmetic on bytes),
// with a sentence.
Result<Reduction> bind_reduction(weft_op op, weft_type type);

// "sum"; "user" for an operation that is not predefined.
const char* op_name(weft_op op);

// weft_op_create, weft_op_create_confined and weft_op_free.
Status create_user_op(weft_op_function function, bool commutative, void* context, weft_op* op,
                      bool is_confined = false);
Status free_user_op(weft_op* op);

}  // namespace weft
