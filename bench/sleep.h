// Sleeps without calling the library.
#pragma once

#include <cstdint>

namespace weft::bench {

// Sleeps until now_ns() has reached `time_ns`, to a few microseconds.
void sleep_until(std::int64_t time_ns);

}  // namespace weft::bench
