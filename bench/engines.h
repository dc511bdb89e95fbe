// The progress engines chosen for a measurement.
#pragma once

#include <string>

#include "base/status.h"
#include "weft/comm.h"

namespace weft::bench {

struct Engine {
    const char* name;
    weft_engine value;
};

// As weft_set_engine(), also with an engine that only measurements have.
weft_status set_engine(weft_engine engine);

// Refuses an unknown name with a sentence that lists the known ones.
Result<Engine> find_engine(const std::string& name);

// Before the library joins: a communicator then has dedicated connections only if its own engine
// wants them.
void prefer_no_engine();

}  // namespace weft::bench
