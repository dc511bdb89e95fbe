#include "blocks.h"

#include <ATen/core/grad_mode.h>

namespace weft_torch {
namespace {

bool overlap(const at::Tensor& left, const at::Tensor& right) {
    if (left.nbytes() == 0 || right.nbytes() == 0) return false;
    const auto a = reinterpret_cast<std::uintptr_t>(left.const_data_ptr());
    const auto b = reinterpret_cast<std::uintptr_t>(right.const_data_ptr());
    return a < b + right.nbytes() && b < a + left.nbytes();
}

}  // namespace

void Blocks::add(const at::Tensor& plain) {
    auto* const data = static_cast<char*>(plain.data_ptr());
    const std::size_t size = plain.nbytes();
    if (!base && size > 0) base = data;
    bytes.push_back(size);
    // (Not as pointers, which belong to different objects.)
    displacements.push_back(
        size == 0 ? 0
                  : static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(data) -
                                                reinterpret_cast<std::uintptr_t>(base)));
}

Blocks input_blocks(Operation& operation, const Tensors& tensors, const Tensors& outputs) {
    Blocks blocks;
    for (const at::Tensor& tensor : tensors)
        blocks.add(apart(operation, operation.input(tensor), outputs));
    return blocks;
}

Blocks output_blocks(Operation& operation, const Tensors& tensors, Tensors& plain) {
    Blocks blocks;
    for (const at::Tensor& tensor : tensors) {
        plain.push_back(operation.output_only(tensor));
        blocks.add(plain.back());
    }
    return blocks;
}

std::vector<std::size_t> split_bytes(const at::Tensor& tensor,
                                     const std::vector<std::int64_t>& sizes, int ranks,
                                     const char* call, const char* name) {
    const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
    std::vector<std::int64_t> even;
    if (sizes.empty()) {
        TORCH_CHECK_VALUE(rows % ranks == 0, "weft ", call, ": dimension 0 of the ", name, ", ",
                          rows, ", is not divisible by ", ranks, " ranks");
        even.assign(static_cast<std::size_t>(ranks), rows / ranks);
    }
    const std::vector<std::int64_t>& chosen = sizes.empty() ? even : sizes;
    TORCH_CHECK_VALUE(chosen.size() == static_cast<std::size_t>(ranks), "weft ", call, ": ",
                      chosen.size(), " split sizes of the ", name, "; expected ", ranks);
    const std::int64_t row_bytes =
        rows == 0 ? 0 : static_cast<std::int64_t>(tensor.nbytes()) / rows;
    std::vector<std::size_t> bytes;
    std::int64_t sum = 0;
    for (const std::int64_t size : chosen) {
        TORCH_CHECK_VALUE(size >= 0, "weft ", call, ": a split size of ", size);
        sum += size;
        bytes.push_back(static_cast<std::size_t>(size * row_bytes));
    }
    TORCH_CHECK_VALUE(sum == rows, "weft ", call, ": the split sizes of the ", name, " add up to ",
                      sum, "; expected its dimension 0, ", rows);
    return bytes;
}

at::Tensor apart(Operation& operation, const at::Tensor& input, const Tensors& outputs) {
    for (const at::Tensor& output : outputs) {
        if (!overlap(input, output)) continue;
        const at::NoGradGuard no_grad;
        operation.kept.push_back(input.clone());
        return operation.kept.back();
    }
    return input;
}

const void* source_among(Operation& operation, const at::Tensor& input, const Tensors& outputs,
                         const void* own) {
    if (input.nbytes() > 0 && input.const_data_ptr() == own) return WEFT_IN_PLACE;
    return apart(operation, input, outputs).const_data_ptr();
}

}  // namespace weft_torch
