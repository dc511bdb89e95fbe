// Finding other machines: the addresses behind a name, and from which of its own addresses this
// machine reaches another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tcp/address.h"

namespace weft::tcp {

// The addresses of a machine, with port 0: of its name, or the one that the text is ("10.0.0.1",
// "fd00::1"). Blocks, at most until `deadline_ns`: a resolver that does not answer keeps a thread
// for as long as it takes. Refused: there are none, or none in time.
Result<std::vector<Address>> resolve(const std::string& host, std::int64_t deadline_ns);

// This machine's address, with port 0, from which it reaches the other; nothing is sent. None: no
// route leads there.
std::optional<Address> address_towards(Address other);

// The address of this end of a connected socket.
std::optional<Address> own_address_of(int socket);

}  // namespace weft::tcp
