// Those of the 16-bit formats are with their kernels.
#include "reduce/scaling.h"

#include <array>

#include "reduce/elements.h"
#include "reduce/half_kernels.h"

namespace weft {
namespace {

// Elements of `parts` numbers.
template <class T, std::size_t parts, class Function, Rounding rounding>
void scale_numbers(const void* from, void* into, std::size_t count, double by) {
    const VectorScope here(rounding);
    const auto* f = static_cast<const Stored<T>*>(from);
    auto* o = static_cast<Stored<T>*>(into);
    const auto factor = static_cast<T>(by);
#pragma GCC ivdep
    for (std::size_t i = 0; i < parts * count; ++i)
        o[i].element = Function::of(f[i].element, factor);
}

using ScalingRow = std::array<Scaling, roundings>;

template <class T, std::size_t parts, class Function>
constexpr ScalingRow scaling_row = {
    scale_numbers<T, parts, Function, Rounding{0}>, scale_numbers<T, parts, Function, Rounding{1}>,
    scale_numbers<T, parts, Function, Rounding{2}>, scale_numbers<T, parts, Function, Rounding{3}>};

template <class T, std::size_t parts>
const ScalingRow& row_of(Scale scale) {
    return scale == Scale::multiply ? scaling_row<T, parts, Prod> : scaling_row<T, parts, Quotient>;
}

}  // namespace

Scaling scaling_of(Scale scale, weft_type type, Rounding rounding) {
    const auto direction = static_cast<std::size_t>(rounding);
    switch (type) {
        case WEFT_FLOAT32: return row_of<float, 1>(scale)[direction];
        case WEFT_FLOAT64: return row_of<double, 1>(scale)[direction];
        case WEFT_COMPLEX64: return row_of<float, 2>(scale)[direction];
        case WEFT_COMPLEX128: return row_of<double, 2>(scale)[direction];
        case WEFT_FLOAT16:
        case WEFT_BFLOAT16: return half_scaling_of(scale, type, rounding, best_loops());
        default: return nullptr;
    }
}

}  // namespace weft
