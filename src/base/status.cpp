#include "base/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace weft {
namespace {

thread_local char detail[detail_bytes] = "";

}  // namespace

Status failure(weft_status code, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return Status{code, -1};
}

Status failure_of_rank(weft_status code, Rank rank, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    return Status{code, rank};
}

const char* last_detail() { return detail; }

void append_detail(const char* format, ...) {
    std::size_t used = std::strlen(detail);
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(detail + used, sizeof detail - used, format, arguments);
    va_end(arguments);
}

KeptDetail::KeptDetail() { std::memcpy(text_, detail, sizeof text_); }
KeptDetail::~KeptDetail() { std::memcpy(detail, text_, sizeof text_); }

const char* status_name(weft_status code) {
    switch (code) {
#define WEFT_CASE(name) \
    case name: return #name
        WEFT_CASE(WEFT_OK);
        WEFT_CASE(WEFT_PENDING);
        WEFT_CASE(WEFT_INTERRUPTED);
        WEFT_CASE(WEFT_TIMED_OUT);
        WEFT_CASE(WEFT_REFUSED_ARGUMENT);
        WEFT_CASE(WEFT_REFUSED_HANDLE);
        WEFT_CASE(WEFT_REFUSED_STATE);
        WEFT_CASE(WEFT_REFUSED_OUTSTANDING);
        WEFT_CASE(WEFT_REFUSED_SETTING);
        WEFT_CASE(WEFT_REFUSED_MEMORY);
        WEFT_CASE(WEFT_REFUSED_UNSUPPORTED);
        WEFT_CASE(WEFT_BROKEN_RANK);
        WEFT_CASE(WEFT_BROKEN_MESSAGE);
        WEFT_CASE(WEFT_BROKEN_TRANSPORT);
        WEFT_CASE(WEFT_BROKEN_TIMEOUT);
        WEFT_CASE(WEFT_BROKEN_MEMORY);
        WEFT_CASE(WEFT_BROKEN_FUNCTION);
        WEFT_CASE(WEFT_BROKEN_ABORT);
#undef WEFT_CASE
    }
    return "WEFT_UNKNOWN_STATUS";
}

}  // namespace weft
