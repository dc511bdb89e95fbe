// A collective call as the caller made it, before anything is checked.
#pragma once

#include <cstddef>

#include "algorithm/collective.h"
#include "weft/types.h"

namespace weft {

struct Call {
    Collective collective = Collective::barrier;
    const void* send_buf = nullptr;  // or WEFT_IN_PLACE
    void* recv_buf = nullptr;        // bcast: its only buffer
    std::size_t count = 0;
    weft_type type = WEFT_BYTE;
    weft_op op = WEFT_OP_NULL;
    int root = 0;
    bool of_library = false;  // not the user's call: forced algorithms are not for it
};

}  // namespace weft
