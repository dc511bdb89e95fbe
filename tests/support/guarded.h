// A buffer between guards, which detect writes outside it.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::test {

class Guarded {
  public:
    explicit Guarded(std::size_t bytes = 0) : bytes_(bytes), memory_(bytes + 2 * guard, fill) {}

    std::size_t bytes() const { return bytes_; }
    void* data() { return memory_.data() + guard; }
    const void* data() const { return memory_.data() + guard; }
    template <class T>
    T* as() {
        return reinterpret_cast<T*>(memory_.data() + guard);
    }
    bool guards_untouched() const {
        for (std::size_t i = 0; i < guard; ++i) {
            if (memory_[i] != fill || memory_[guard + bytes_ + i] != fill) return false;
        }
        return true;
    }

  private:
    static constexpr std::size_t guard = 64;
    static constexpr unsigned char fill = 0xa5;
    std::size_t bytes_;
    std::vector<unsigned char> memory_;
};

}  // namespace weft::test
