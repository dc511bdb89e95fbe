// The threads of this process, by name.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace weft::bench {

// Those whose names begin like this: "weft-progress" is the library's, "iou-wrk" are io_uring's.
std::vector<pid_t> threads_named(std::string_view beginning);

}  // namespace weft::bench
