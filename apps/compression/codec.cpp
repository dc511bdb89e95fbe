#include "apps/compression/codec.h"

#include <bzlib.h>
#include <zlib.h>

namespace apps::compression {
namespace {

// zlib's interface for one block has no strategy.
std::size_t deflate_block(std::span<const char> in, std::span<char> out, int level, int strategy) {
    z_stream stream{};
    if (deflateInit2(&stream, level, Z_DEFLATED, 15, 8, strategy) != Z_OK) return 0;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    const std::size_t written = stream.total_out;
    deflateEnd(&stream);
    return is_whole ? written : 0;
}

}  // namespace

std::size_t Codec::bound(std::size_t bytes) const {
    if (library == "bzip2") return bytes + bytes / 100 + 600;  // its manual
    return bytes + bytes / 8 + 64;  // also of strategies other than the default
}

std::size_t Codec::compress(std::span<const char> in, std::span<char> out) const {
    if (library == "zlib")
        return deflate_block(in, out, level,
                             strategy == "rle"       ? Z_RLE
                             : strategy == "huffman" ? Z_HUFFMAN_ONLY
                                                     : Z_DEFAULT_STRATEGY);
    unsigned written = static_cast<unsigned>(out.size());
    const int status = BZ2_bzBuffToBuffCompress(out.data(), &written, const_cast<char*>(in.data()),
                                                static_cast<unsigned>(in.size()), level, 0, 0);
    return status == BZ_OK ? written : 0;
}

std::size_t Codec::decompress(std::span<const char> in, std::span<char> out) const {
    if (library == "zlib") {
        uLongf written = out.size();
        const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &written,
                                      reinterpret_cast<const Bytef*>(in.data()), in.size());
        return status == Z_OK ? written : 0;
    }
    unsigned written = static_cast<unsigned>(out.size());
    const int status = BZ2_bzBuffToBuffDecompress(
        out.data(), &written, const_cast<char*>(in.data()), static_cast<unsigned>(in.size()), 0, 0);
    return status == BZ_OK ? written : 0;
}

}  // namespace apps::compression
