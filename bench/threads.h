// The threads of this process by their names.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace weft::bench {

// Those whose name begins so: "weft-progress" is the library's, "iou-wrk" are io_uring's own.
std::vector<pid_t> threads_named(std::string_view beginning);

}  // namespace weft::bench
