// For tests that call the engine directly: while it exists, the thread is inside of a call.
#pragma once

#include "engine/engine.h"

namespace weft::test {

class InCall {
  public:
    explicit InCall(Engine& engine) : engine_(engine) { engine_.before_call(); }
    ~InCall() { engine_.after_call(); }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

  private:
    Engine& engine_;
};

}  // namespace weft::test
