#include "failure.h"

namespace weft_torch {

std::exception_ptr failure_of(weft_status status, const std::string& where) {
    const std::string text =
        c10::str(where, ": ", weft_last_detail(), " [", weft_status_name(status), "]");
    switch (status) {
        case WEFT_REFUSED_ARGUMENT:
            return std::make_exception_ptr(C10_BUILD_ERROR(ValueError, text));
        case WEFT_REFUSED_UNSUPPORTED:
            return std::make_exception_ptr(C10_BUILD_ERROR(NotImplementedError, text));
        default: return std::make_exception_ptr(C10_BUILD_ERROR(DistBackendError, text));
    }
}

void throw_failure(weft_status status, const std::string& where) {
    std::rethrow_exception(failure_of(status, where));
}

}  // namespace weft_torch
