#include "reduce/wire.h"

#include "reduce/half_kernels.h"
#include "reduce/int8_blocks.h"
#include "reduce/versions.h"

namespace weft {

static_assert(wire_block(WireFormat::int8).elements ==
                  static_cast<std::int64_t>(Int8Block::elements) &&
              wire_block(WireFormat::int8).bytes == static_cast<std::int64_t>(sizeof(Int8Block)));

void encode_floats(WireFormat format, Rounding rounding, const void* from, void* into,
                   std::size_t count) {
    if (format == WireFormat::int8)
        int8_loops_of(best_loops()).encode(from, into, count);
    else
        narrowing_of(WEFT_BFLOAT16, rounding, best_loops())(from, into, count, 1);
}

float decode_floats(WireFormat format, const void* from, void* into, std::size_t count) {
    if (format == WireFormat::int8) return int8_loops_of(best_loops()).decode(from, into, count);
    widening_of(WEFT_BFLOAT16, to_nearest, best_loops())(from, into, count, 1);
    return 0;
}

}  // namespace weft
