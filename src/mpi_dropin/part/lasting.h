// Variables that are never destroyed: a program may call MPI in an atexit() handler or a static
// destructor, which run after the destructors of libraries that it loaded later.
#pragma once

namespace weft::dropin {

template <typename Value>
Value& lasting() {
    return *new Value;
}

}  // namespace weft::dropin
