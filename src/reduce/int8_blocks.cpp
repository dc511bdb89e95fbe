// The loops are written once, for the vectoriser, and compiled for each instruction set.
#include "reduce/int8_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/float_state.h"

namespace weft {
namespace {

constexpr std::size_t block_elements = Int8Block::elements;

#define WEFT_BLOCK_INLINE [[gnu::always_inline]] inline

// Of numbers that are not negative, the bits have the order of the values; a NaN's are above all.
WEFT_BLOCK_INLINE float largest_magnitude(const float* values) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < block_elements; ++i)
        largest = std::max(largest, std::bit_cast<std::int32_t>(values[i]) & 0x7fffffff);
    return std::bit_cast<float>(largest);
}

// `error`: what the values may already be off by.
WEFT_BLOCK_INLINE void encode_block(const float* values, float error, void* into) {
    // Slightly more than half the scale, and than all of an element: for roundings of the scale, of
    // products, and of sums, also of these bounds.
    constexpr float half = 0.5001f;
    constexpr float whole = 1.0001f;
    // Numbers of this magnitude have no fraction: adding it rounds to an integer, to the nearest.
    constexpr float integers = 0x1.8p23f;
    Int8Block block;
    const float largest = largest_magnitude(values);
    float inverse = 0;
    if (!(largest < int8_limit)) [[unlikely]] {
        block.scale = std::numeric_limits<float>::quiet_NaN();
        block.error = std::numeric_limits<float>::infinity();
    } else if (largest < int8_least) [[unlikely]] {
        block.scale = 0;
        block.error = error + whole * largest;
    } else {
        block.scale = largest / 127;
        block.error = error + half * block.scale;
        inverse = 127 / largest;
    }
    if (inverse > 0) [[likely]] {
        for (std::size_t i = 0; i < block_elements; ++i) {
            const float rounded = values[i] * inverse + integers;
            block.values[i] = static_cast<std::int8_t>(std::bit_cast<std::int32_t>(rounded) -
                                                       std::bit_cast<std::int32_t>(integers));
        }
    } else {
        std::memset(block.values, 0, sizeof block.values);
    }
    std::memcpy(into, &block, sizeof block);
}

WEFT_BLOCK_INLINE Int8Block block_at(const void* blocks, std::size_t number) {
    Int8Block block;
    std::memcpy(&block, static_cast<const std::byte*>(blocks) + number * sizeof block,
                sizeof block);
    return block;
}

WEFT_BLOCK_INLINE void sum_blocks(const void* left, const void* right, void* out,
                                  std::size_t count) {
    const VectorScope here(to_nearest);
    for (std::size_t number = 0; number < count; ++number) {
        const Int8Block l = block_at(left, number);
        const Int8Block r = block_at(right, number);
        float sums[block_elements];
        for (std::size_t i = 0; i < block_elements; ++i) {
            sums[i] = static_cast<float>(l.values[i]) * l.scale +
                      static_cast<float>(r.values[i]) * r.scale;
        }
        encode_block(sums, l.error + r.error,
                     static_cast<std::byte*>(out) + number * sizeof(Int8Block));
    }
}

WEFT_BLOCK_INLINE void encode_blocks(const void* from, void* into, std::size_t count) {
    const VectorScope here(to_nearest);
    const auto* next = static_cast<const std::byte*>(from);
    auto* block = static_cast<std::byte*>(into);
    while (count > 0) {
        const std::size_t n = std::min(count, block_elements);
        float values[block_elements];
        if (n < block_elements) [[unlikely]]
            std::memset(values, 0, sizeof values);
        std::memcpy(values, next, n * sizeof(float));
        encode_block(values, 0, block);
        next += n * sizeof(float);
        block += sizeof(Int8Block);
        count -= n;
    }
}

WEFT_BLOCK_INLINE float decode_blocks(const void* from, void* into, std::size_t count) {
    const VectorScope here(to_nearest);
    auto* next = static_cast<std::byte*>(into);
    float error = 0;
    for (std::size_t number = 0; count > 0; ++number) {
        const Int8Block block = block_at(from, number);
        float values[block_elements];
        for (std::size_t i = 0; i < block_elements; ++i)
            values[i] = static_cast<float>(block.values[i]) * block.scale;
        const std::size_t n = std::min(count, block_elements);
        std::memcpy(next, values, n * sizeof(float));
        next += n * sizeof(float);
        count -= n;
        error = std::max(error, block.error);
    }
    return error;
}

#define WEFT_INT8_LOOPS(name, ...)                                                         \
    struct name {                                                                          \
        __VA_ARGS__ static void sum(const void* left, const void* right, void* out,        \
                                    std::size_t count) {                                   \
            sum_blocks(left, right, out, count);                                           \
        }                                                                                  \
        __VA_ARGS__ static void encode(const void* from, void* into, std::size_t count) {  \
            encode_blocks(from, into, count);                                              \
        }                                                                                  \
        __VA_ARGS__ static float decode(const void* from, void* into, std::size_t count) { \
            return decode_blocks(from, into, count);                                       \
        }                                                                                  \
    }

WEFT_INT8_LOOPS(Int8Portable, );
#if defined(__x86_64__)
WEFT_INT8_LOOPS(Int8Avx2, [[gnu::target("avx2")]]);
WEFT_INT8_LOOPS(Int8Avx512, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]);
#endif

#undef WEFT_INT8_LOOPS
#undef WEFT_BLOCK_INLINE

template <class Loops>
constexpr Int8Loops int8_loops = {Loops::sum, Loops::encode, Loops::decode};

}  // namespace

const Int8Loops& int8_loops_of(LoopVersion version) {
#if defined(__x86_64__)
    if (version >= LoopVersion::avx512) return int8_loops<Int8Avx512>;
    if (version == LoopVersion::avx2) return int8_loops<Int8Avx2>;
#endif
    (void)version;
    return int8_loops<Int8Portable>;
}

}  // namespace weft
