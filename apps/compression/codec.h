// The libraries that compress a block: bzip2 and zlib, behind one interface.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace apps::compression {

// How data is compressed. `strategy` is zlib's alone.
struct Codec {
    std::string library = "bzip2";     // bzip2, zlib
    int level = 9;                     // 1 fastest ... 9 smallest; zlib: 0 copies
    std::string strategy = "default";  // default, rle, huffman

    // Of a block of so many bytes, at most.
    std::size_t bound(std::size_t bytes) const;
    // Return the bytes written, 0 if the library fails or `out` is too small.
    std::size_t compress(std::span<const char> in, std::span<char> out) const;
    std::size_t decompress(std::span<const char> in, std::span<char> out) const;
};

}  // namespace apps::compression
