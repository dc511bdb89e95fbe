// Marks where the library calls a function of the program.
#pragma once

#include "base/float_state.h"

namespace weft {

// This thread is inside such a function: calls of Weft from it are refused, as the engine is held.
// (Read by every call: initial-exec spares it __tls_get_addr.)
inline constinit thread_local bool in_user_code __attribute__((tls_model("initial-exec"))) = false;

// Such a function begins in the same state of floating-point arithmetic in whichever thread.
class UserCode {
  public:
    explicit UserCode(Rounding rounding = to_nearest) : float_state_(rounding) {
        in_user_code = true;
    }
    ~UserCode() { in_user_code = false; }
    UserCode(const UserCode&) = delete;
    UserCode& operator=(const UserCode&) = delete;

  private:
    FloatScope float_state_;
};

}  // namespace weft
