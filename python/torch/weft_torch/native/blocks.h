// Lists of tensors as Weft's blocks: bytes and displacements from the first tensor's memory, so
// that nothing is copied together.
#pragma once

#include "common.h"
#include "operation.h"

namespace weft_torch {

struct Blocks {
    char* base = nullptr;
    std::vector<std::size_t> bytes;
    std::vector<std::ptrdiff_t> displacements;

    void add(const at::Tensor& plain);
};

// Of tensors that this rank sends, while it receives into `outputs`.
Blocks input_blocks(Operation& operation, const Tensors& tensors, const Tensors& outputs);
// Of tensors that this rank receives into. `plain` gets the memory that stands for each.
Blocks output_blocks(Operation& operation, const Tensors& tensors, Tensors& plain);

// Blocks of one tensor, each of `bytes` bytes, or cut along the first dimension.
std::vector<std::size_t> split_bytes(const at::Tensor& tensor,
                                     const std::vector<std::int64_t>& sizes, int ranks,
                                     const char* call, const char* name);

// What is sent while this rank receives into `outputs`: a copy if their bytes meet. (All of these
// tensors are contiguous.)
at::Tensor apart(Operation& operation, const at::Tensor& input, const Tensors& outputs);

// As apart() for a gather, of which this rank's block is at `own`: WEFT_IN_PLACE if the input lies
// there.
const void* source_among(Operation& operation, const at::Tensor& input, const Tensors& outputs,
                         const void* own);

}  // namespace weft_torch
