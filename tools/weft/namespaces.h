// Network namespaces: to get one for the calling process, to make others, to enter them. None has a
// name on the machine; each ends with its last user.
#pragma once

#include <string>

#include "base/status.h"

namespace weft {

// Moves this process into a new network namespace in which it may do everything: directly, or, if
// that is not permitted, as root of a new user namespace.
Status leave_for_own_network();

// The network namespace of this process, as a descriptor; -1 and errno on failure.
int this_network();

// A new network namespace, as a descriptor; the caller stays where it is. -1 and errno on failure.
int new_network();

// A socket of IPv4 in the network, of this type. The caller stays where it is. -1 and errno on
// failure.
int socket_in(int network, int type);

// A file that each network has its own of, such as a setting, for reading and writing; otherwise
// like a socket.
int open_in(int network, const char* path);

// Moves this process into the network, with its own host name and, if `has_sysfs`, a /sys that
// shows the network's interfaces. False and errno on failure.
bool enter_network(int network, const std::string& host_name, bool has_sysfs);

// Lets /sys show this process's network. False and errno if that is not permitted.
bool mount_own_sysfs();

}  // namespace weft
