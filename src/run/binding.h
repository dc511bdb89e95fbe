// The buffers, reduction and functions to which a start binds a schedule.
#pragma once

#include <cstddef>

#include "reduce/reduce.h"
#include "run/stream.h"

namespace weft {

// A function of the program as an operation of a schedule.
struct UserCall {
    void (*function)(void* data, std::size_t bytes, void* context) = nullptr;
    void* context = nullptr;
};

// What a start binds a schedule to.
struct Binding {
    const std::byte* send = nullptr;
    std::byte* recv = nullptr;
    Reduction reduction;
    const UserCall* calls = nullptr;  // by the number in their operation
    // The library's own call may set this: the run must not go on, and its group breaks.
    const Failure* verdict = nullptr;
};

}  // namespace weft
