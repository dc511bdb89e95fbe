// FNV-1a: a hash for keys, and for values that ranks compare. It does not resist deliberate
// collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

class Hash {
  public:
    explicit constexpr Hash(std::uint64_t begin = 0xcbf29ce484222325u) : value_(begin) {}

    constexpr Hash& add(std::uint64_t word) {
        value_ = (value_ ^ word) * 0x100000001b3u;
        return *this;
    }
    constexpr Hash& add(std::string_view bytes) {
        for (const char byte : bytes) add(std::uint64_t{static_cast<unsigned char>(byte)});
        return *this;
    }
    constexpr std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_;
};

}  // namespace weft
