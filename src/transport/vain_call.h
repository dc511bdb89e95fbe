// What is said about a peer that was not reached.
#pragma once

#include <string>

#include "base/status.h"

namespace weft {

// `caller`: its rank of the job, or of the group. `at`: Transport::vain_call().
inline std::string vain_call_text(Rank caller, const std::string& at,
                                  const std::string& of = "job") {
    return "rank " + std::to_string(caller) + " of the " + of + " has called it in vain at " + at +
           " (WEFT_INTERFACES chooses other interfaces)";
}

}  // namespace weft
