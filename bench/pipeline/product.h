// The fixed computation: a product of two square matrices, as BLAS's dgemm.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace weft::bench {

class Product {
  public:
    Product() = default;  // of nothing
    // `how`: "auto" (OpenBLAS, in one thread, if it can be loaded), "openblas" or "own". Refuses others, and OpenBLAS
    // where there is none, with a sentence.
    static Result<Product> make(const std::string& how, int rows);

    void compute();
    // "dgemm of OpenBLAS"
    const char* name() const;

  private:
    using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                          double alpha, const double* a, int lda, const double* b, int ldb,
                          double beta, double* c, int ldc);

    Product(Gemm gemm, int rows);
    void compute_here();

    Gemm gemm_ = nullptr;  // null: our own
    std::size_t rows_ = 0;
    std::vector<double> a_, b_, c_;
};

}  // namespace weft::bench
