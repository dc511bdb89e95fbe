// TAP devices: network interfaces whose frames a process reads and writes.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/status.h"

namespace weft {

// Makes an interface in the network; it is gone when the descriptor closes. Reads and writes do not
// block, pass one frame behind a virtio-net header, and leave large segments of TCP whole.
Result<Fd> make_tap(int network, const std::string& name);

}  // namespace weft
