// Memory that only a device, such as a GPU, can use: the library reads and writes buffers by the
// processor.
#pragma once

namespace weft {

// What memory this is, "CUDA"; null: the processor can use it, as far as is known. Does not read
// it. Any thread.
using DeviceMemory = const char* (*)(const void* address);

}  // namespace weft
