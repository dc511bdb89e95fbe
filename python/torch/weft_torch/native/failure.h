// Failures of Weft as torch's exceptions.
#pragma once

#include <exception>

#include "common.h"

namespace weft_torch {

// Weft's last failure in this thread, behind `where`: "weft all_reduce (group 0, rank 1 of 2)".
// A ValueError for an argument that was refused, otherwise a DistBackendError.
std::exception_ptr failure_of(weft_status status, const std::string& where);

[[noreturn]] void throw_failure(weft_status status, const std::string& where);

inline void check(weft_status status, const std::string& where) {
    if (status != WEFT_OK) throw_failure(status, where);
}

}  // namespace weft_torch
