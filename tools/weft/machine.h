// What of the machine decides how fast Weft runs.
#pragma once

#include <sched.h>

#include <string>

namespace weft {

// The cores that this process may use; none if they cannot be known.
cpu_set_t own_cores();

// "0-3,8"
std::string core_list(const cpu_set_t& cores);

// "Linux 6.18.5 x86_64"
std::string kernel();

// As /proc/cpuinfo names it; "unknown" where it does not.
std::string cpu_model();

}  // namespace weft
