// torch's element types and reductions as Weft's.
#pragma once

#include "common.h"

namespace weft_torch {

// How a reduction of a tensor is made.
struct Reduction {
    weft_type type;
    weft_op op;
    std::size_t parts;     // elements of `type` in an element of the tensor
    bool divides = false;  // afterwards, by the number of ranks: the average of integers

    explicit Reduction(const at::Tensor& tensor, const c10d::ReduceOp& reduce, const char* call);
    ~Reduction();
    Reduction(const Reduction&) = delete;
    Reduction& operator=(const Reduction&) = delete;

    std::size_t count(const at::Tensor& tensor) const {
        return static_cast<std::size_t>(tensor.numel()) * parts;
    }

  private:
    bool is_own_ = false;  // `op` is freed once the operation has started
};

// How a tensor is moved. float32 keeps its type, because a group's wire format encodes it.
struct Moved {
    weft_type type;
    std::size_t element_bytes;

    explicit Moved(const at::Tensor& tensor);
    std::size_t count(std::size_t bytes) const { return bytes / element_bytes; }
};

}  // namespace weft_torch
