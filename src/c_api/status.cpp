// The bodies of weft/status.h.
#include "weft/status.h"

#include "base/status.h"

const char* weft_status_name(weft_status status) { return weft::status_name(status); }

const char* weft_last_detail(void) { return weft::last_detail(); }
