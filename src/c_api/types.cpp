// The bodies of weft/types.h.
#include "weft/types.h"

#include "c_api/guard.h"
#include "reduce/reduce.h"

using namespace weft;

weft_status weft_op_create(weft_op_function function, int commutative, void* context, weft_op* op) {
    return c_api::guarded("weft_op_create",
                          [&] { return create_user_op(function, commutative != 0, context, op); });
}

weft_status weft_op_create_confined(weft_op_function function, int commutative, void* context,
                                    weft_op* op) {
    return c_api::guarded("weft_op_create_confined", [&] {
        return create_user_op(function, commutative != 0, context, op, /*is_confined=*/true);
    });
}

weft_status weft_op_create_premul_sum(double factor, weft_op* op) {
    return c_api::guarded("weft_op_create_premul_sum",
                          [&] { return create_premul_sum(factor, op); });
}

weft_status weft_op_free(weft_op* op) {
    return c_api::guarded("weft_op_free", [&]() -> Status {
        if (!op)
            return failure(WEFT_REFUSED_HANDLE, "op = null; expected the address of an operation");
        return free_user_op(op);
    });
}

size_t weft_type_size(weft_type type) { return type_bytes(type); }
