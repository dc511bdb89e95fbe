// Memory that ranks 0 and 1 of a job share, separate from the library's own.
#pragma once

#include <cstddef>

#include "bench/job.h"

namespace weft::bench {

class SharedMemory {
  public:
    // Collective over ranks 0 and 1. The memory is zeroed.
    SharedMemory(const Job& job, std::size_t bytes);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    template <class T>
    T* at(std::size_t offset) {
        return reinterpret_cast<T*>(static_cast<std::byte*>(data_) + offset);
    }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace weft::bench
