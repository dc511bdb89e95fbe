// Random bytes from the kernel, for secrets. Use Prng for everything that a seed must reproduce.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace weft {

// Fills all of `out`, by getrandom() or else from /dev/urandom. Thread safe. Refused if neither can
// be used.
Status random_bytes(MutBytes out);

// 32 hexadecimal digits, random; and the number that the first 16 of them are.
Result<std::string> random_name();
std::uint64_t number_of(const std::string& name);

// A small seeded generator (SplitMix64), so that a seed reproduces a failure anywhere.
// Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014,
// doi:10.1145/2660193.2660195
class Prng {
  public:
    explicit Prng(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

    // True once in `n` calls on average.
    bool one_in(std::uint64_t n) { return below(n) == 0; }

  private:
    std::uint64_t state_;
};

}  // namespace weft
