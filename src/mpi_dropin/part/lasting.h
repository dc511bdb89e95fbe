// Variables that are never destroyed: a program may call MPI in a function of atexit(), or in the destructor of a
// variable of its own, after those of the libraries that it loaded later.
#pragma once

namespace weft::dropin {

template <typename Value>
Value& lasting() {
    return *new Value;
}

}  // namespace weft::dropin
