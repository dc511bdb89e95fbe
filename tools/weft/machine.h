// The machine's properties that decide how fast Weft runs.
#pragma once

#include <string>
#include <vector>

namespace weft {

// "0,1,8"
std::string comma_list(const std::vector<int>& numbers);

// "Linux 6.18.5 x86_64"
std::string kernel();

// The name in /proc/cpuinfo; "unknown" if there is none.
std::string cpu_model();

}  // namespace weft
