// The machine's properties that decide how fast Weft runs.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

namespace weft {

// The cores that this process may use; none if they cannot be known.
cpu_set_t own_cores();

// The same, in ascending order.
std::vector<int> own_core_list();

// Binds this process to these cores. False and errno on failure.
bool bind_to(const std::vector<int>& cores);

// "0,1,8"
std::string comma_list(const std::vector<int>& numbers);

// "0-3,8"
std::string core_list(const cpu_set_t& cores);

// "Linux 6.18.5 x86_64"
std::string kernel();

// The name in /proc/cpuinfo; "unknown" if there is none.
std::string cpu_model();

}  // namespace weft
