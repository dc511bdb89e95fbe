// Products are (ac - bd) + (ad + bc)i, each part of two rounded products and their rounded
// difference or sum: no multiplication and addition are fused, which would give other bits. Part of
// a product that is not a number is the one positive quiet NaN, since processors and compilers
// differ in the NaN that they return.
#include "reduce/complex_kernels.h"

#include <limits>

#include "reduce/elements.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft {
namespace {

template <class T>
struct Complex {
    T real;
    T imaginary;
};

template <class T>
T quieted(T value) {
    return value == value ? value : std::numeric_limits<T>::quiet_NaN();
}

// `out` is exactly `left` or `right`, or overlaps neither: no two iterations touch the same bytes.
template <class T>
void add_complex(const void* left, const void* right, void* out, std::size_t count) {
    const auto* l = static_cast<const Stored<T>*>(left);
    const auto* r = static_cast<const Stored<T>*>(right);
    auto* o = static_cast<Stored<T>*>(out);
#pragma GCC ivdep
    for (std::size_t i = 0; i < 2 * count; ++i) o[i].element = l[i].element + r[i].element;
}

template <class T>
void multiply_complex(const void* left, const void* right, void* out, std::size_t count) {
    const auto* l = static_cast<const Stored<Complex<T>>*>(left);
    const auto* r = static_cast<const Stored<Complex<T>>*>(right);
    auto* o = static_cast<Stored<Complex<T>>*>(out);
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) {
        const T a = l[i].element.real;
        const T b = l[i].element.imaginary;
        const T c = r[i].element.real;
        const T d = r[i].element.imaginary;
        o[i].element.real = quieted(a * c - b * d);
        o[i].element.imaginary = quieted(b * c + a * d);
    }
}

#if defined(__x86_64__)

[[gnu::target("avx2"), gnu::always_inline]] inline __m256 product(__m256 a, __m256 b) {
    const __m256 by_real = _mm256_mul_ps(a, _mm256_moveldup_ps(b));
    const __m256 by_imaginary = _mm256_mul_ps(_mm256_permute_ps(a, 0xb1), _mm256_movehdup_ps(b));
    const __m256 result = _mm256_addsub_ps(by_real, by_imaginary);
    return _mm256_blendv_ps(result, _mm256_set1_ps(std::numeric_limits<float>::quiet_NaN()),
                            _mm256_cmp_ps(result, result, _CMP_UNORD_Q));
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256d product(__m256d a, __m256d b) {
    const __m256d by_real = _mm256_mul_pd(a, _mm256_movedup_pd(b));
    const __m256d by_imaginary =
        _mm256_mul_pd(_mm256_permute_pd(a, 0x5), _mm256_permute_pd(b, 0xf));
    const __m256d result = _mm256_addsub_pd(by_real, by_imaginary);
    return _mm256_blendv_pd(result, _mm256_set1_pd(std::numeric_limits<double>::quiet_NaN()),
                            _mm256_cmp_pd(result, result, _CMP_UNORD_Q));
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256 load(const float* from) {
    return _mm256_loadu_ps(from);
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256d load(const double* from) {
    return _mm256_loadu_pd(from);
}
[[gnu::target("avx2"), gnu::always_inline]] inline void store(float* into, __m256 value) {
    _mm256_storeu_ps(into, value);
}
[[gnu::target("avx2"), gnu::always_inline]] inline void store(double* into, __m256d value) {
    _mm256_storeu_pd(into, value);
}

// Two registers at a time: the second product does not wait for the first.
template <class T>
[[gnu::target("avx2")]] void multiply_complex_avx2(const void* left, const void* right, void* out,
                                                   std::size_t count) {
    constexpr std::size_t width = 32 / sizeof(T);  // parts in a register
    const auto* l = static_cast<const T*>(left);
    const auto* r = static_cast<const T*>(right);
    auto* o = static_cast<T*>(out);
    std::size_t i = 0;
    for (; i + 2 * width <= 2 * count; i += 2 * width) {
        const auto first = product(load(l + i), load(r + i));
        const auto second = product(load(l + i + width), load(r + i + width));
        store(o + i, first);
        store(o + i + width, second);
    }
    multiply_complex<T>(l + i, r + i, o + i, count - i / 2);
}

#endif

struct ComplexKernels {
    OfRoundings sum;
    OfRoundings product;  // portable
    OfRoundings product_in_vectors;
};

template <class T>
constexpr ComplexKernels complex_kernels = {rounding_kernels<add_complex<T>>,
                                            rounding_kernels<multiply_complex<T>>,
#if defined(__x86_64__)
                                            rounding_kernels<multiply_complex_avx2<T>>
#else
                                            rounding_kernels<multiply_complex<T>>
#endif
};

}  // namespace

Kernel complex_kernel_of(int op, weft_type type, Rounding rounding, LoopVersion version) {
    const ComplexKernels& kernels =
        type == WEFT_COMPLEX64 ? complex_kernels<float> : complex_kernels<double>;
    const auto direction = static_cast<unsigned>(rounding);
    if (op == sum_number) return kernels.sum[direction];
    if (op != prod_number) return nullptr;
    const bool is_portable = version == LoopVersion::portable;
    return (is_portable ? kernels.product : kernels.product_in_vectors)[direction];
}

}  // namespace weft
