// Types, operations and the loops that combine vectors.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "reduce/kernel_types.h"
#include "reduce/wire.h"
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
    Scale scale = Scale::none;       // what apply_scaling() does, and its `factor`
    int op = 0;                      // of a kernel: the value of its predefined handle
    Rounding rounding = to_nearest;  // of the thread that starts
    double factor = 1;  // an average's divisor: set by whoever knows how many operands there are
    // If operands are combined as float32 until the result is rounded: the 16-bit type of the
    // buffers. (`type` and `element_bytes` are float32's.)
    weft_type narrow_type = WEFT_BYTE;
    // In messages; not exact: `type` and `element_bytes` are those of the encoded operands, if they
    // are reduced, and decode() keeps the largest bound on an error in `wire_error`.
    WireFormat wire = WireFormat::exact;
    float* wire_error = nullptr;

    void round_as_this_thread();

    // into = from (op) into
    void apply(const void* from, void* into, std::size_t bytes) const;
    // into = into (op) from; may overwrite `from`
    void apply_right(void* from, void* into, std::size_t bytes) const;
    // into = from, scaled; `into` may be `from`. REQUIRES: `scale` is not none.
    void apply_scaling(const void* from, void* into, std::size_t bytes) const;

    // Combines operands of a 16-bit type as float32 from now on, if their combinations round.
    void accumulate_in_float32();
    bool accumulates() const { return narrow_type != WEFT_BYTE; }
    // into = from, scaled if operands are, as float32; and into = from, scaled if results are, as
    // elements of the buffers. `bytes` are of the 16-bit elements. REQUIRES: accumulates().
    void widen(const void* from, void* into, std::size_t bytes) const;
    void narrow(const void* from, void* into, std::size_t bytes) const;

    // Whether float32 operands can be combined in this format.
    bool can_travel_as(WireFormat format) const;
    // Sends float32 elements in this format from now on. REQUIRES: they are not reduced, or
    // can_travel_as().
    void encode_as(WireFormat format, float* error);
    // into = from, of `count` elements: from float32, scaled if operands are, to the format; and
    // back, scaled if results are. REQUIRES: `wire` is not exact.
    void encode(const void* from, void* into, std::size_t count) const;
    void decode(const void* from, void* into, std::size_t count) const;
};

// Binds `op` to `type`, rounding as this thread does. Refuses an unknown or freed op, and
// combinations that are not defined (bitwise on floats, sum of pairs, arithmetic on bytes, average
// of integers), with a sentence.
Result<Reduction> bind_reduction(weft_op op, weft_type type);

// "sum"; "user" for an operation that is not predefined.
const char* op_name(weft_op op);

// weft_op_create, weft_op_create_confined, weft_op_create_premul_sum and weft_op_free.
Status create_user_op(weft_op_function function, bool commutative, void* context, weft_op* op,
                      bool is_confined = false);
Status create_premul_sum(double factor, weft_op* op);
Status free_user_op(weft_op* op);

}  // namespace weft
