// Memory that only a device, such as a GPU, can use: the library reads and writes buffers by the
// processor.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace weft {

// What memory this is, "CUDA"; null: the processor can use it, as far as is known. Does not read
// it. Any thread.
using DeviceMemory = const char* (*)(const void* address);

// As CUDA's driver tells it; null: the process has not loaded it. Cheap unless the process has
// loaded libraries since the last call. Any thread.
DeviceMemory cuda_device_memory();

// What tells memory of devices, once there is something: the program may load CUDA's driver at any
// time.
//
// Thread safety: none; the engine must be held.
class DeviceMemoryFinder {
  public:
    // `given`: by a transport; null: none does.
    explicit DeviceMemoryFinder(DeviceMemory given) : found_(given) {}

    bool has_found() const { return found_ != nullptr; }
    // Null: nothing yet. After it has loaded its driver, a program needs far longer to get a
    // device's memory than passes between two looks.
    DeviceMemory find() {
        if (has_found()) return found_;
        const std::uint64_t now = ticks();
        if (looked_ != 0 && now - looked_ < look_every_ticks) return nullptr;
        looked_ = now;
        return found_ = cuda_device_memory();
    }

  private:
    static constexpr std::uint64_t look_every_ticks = 2'000'000;  // some 0.7 ms

    DeviceMemory found_;
    std::uint64_t looked_ = 0;
};

}  // namespace weft
