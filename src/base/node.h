// Which node this process runs on.
#pragma once

#include <string>

namespace weft {

// Equal on processes that can reach each other through shared memory: the running kernel, the host,
// and the namespaces of abstract sockets and process numbers. One word without '/'.
std::string this_node();

}  // namespace weft
