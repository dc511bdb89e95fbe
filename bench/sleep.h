// Sleeping without a call of the library.
#pragma once

#include <cstdint>

namespace weft::bench {

// Until now_ns() has reached it, to the microsecond or a few.
void sleep_until(std::int64_t time_ns);

}  // namespace weft::bench
