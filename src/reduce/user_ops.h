// User-defined reductions, by handle.
//
// Thread safety: every function may be called from any thread.
#pragma once

#include "base/status.h"
#include "weft/types.h"

namespace weft {

struct UserOp {
    weft_op_function function = nullptr;
    void* context = nullptr;
    bool commutative = true;
    bool is_confined = false;  // to threads of the program
};

weft_op add_user_op(UserOp user);
// Both refuse a handle that was freed or never made. REQUIRES: `op` is neither null nor predefined.
Result<UserOp> find_user_op(weft_op op);
Status remove_user_op(weft_op op);

}  // namespace weft
