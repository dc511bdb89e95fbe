#include "bench/pipeline/product.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>

namespace weft::bench {
namespace {

// Of cblas.h.
constexpr int row_major = 101;
constexpr int no_transpose = 111;

// Null: it cannot be loaded. Never closed: the first call may have started threads.
void* openblas_gemm() {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    for (const char* const name : {"libopenblas.so.0", "libopenblas.so"}) {
        if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
            return dlsym(library, "cblas_dgemm");
    }
    return nullptr;
}

}  // namespace

Result<Product> Product::make(const std::string& how, int rows) {
    if (how != "auto" && how != "openblas" && how != "own") {
        return failure(WEFT_REFUSED_ARGUMENT, "compute = \"%s\"; expected auto, openblas or own",
                       how.c_str());
    }
    if (how == "own") return Product(nullptr, rows);
    const auto gemm = reinterpret_cast<Gemm>(openblas_gemm());
    if (!gemm && how == "openblas") {
        return failure(WEFT_REFUSED_ARGUMENT,
                       "compute = \"openblas\"; libopenblas.so.0 cannot be loaded; expected own");
    }
    return Product(gemm, rows);
}

Product::Product(Gemm gemm, int rows)
    : gemm_(gemm),
      rows_(static_cast<std::size_t>(rows)),
      a_(rows_ * rows_, 0.5),
      b_(rows_ * rows_, 0.25),
      c_(rows_ * rows_) {}

const char* Product::name() const {
    return gemm_ ? "dgemm of OpenBLAS" : "a plain dgemm of the bench's own";
}

void Product::compute() {
    const int n = static_cast<int>(rows_);
    if (gemm_) {
        gemm_(row_major, no_transpose, no_transpose, n, n, n, 1, a_.data(), n, b_.data(), n, 0,
              c_.data(), n);
    } else {
        compute_here();
    }
    asm volatile("" : : "r"(c_.data()) : "memory");  // somebody reads the result
}

void Product::compute_here() {
    std::fill(c_.begin(), c_.end(), 0.0);
    for (std::size_t i = 0; i < rows_; ++i) {
        double* const row = &c_[i * rows_];
        for (std::size_t k = 0; k < rows_; ++k) {
            const double factor = a_[i * rows_ + k];
            const double* const other = &b_[k * rows_];
            for (std::size_t j = 0; j < rows_; ++j) row[j] += factor * other[j];
        }
    }
}

}  // namespace weft::bench
