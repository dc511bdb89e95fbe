// What all of the back end uses: torch's tensors and c10d, and Weft's C interface.
#pragma once

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/weft.h"

namespace weft_torch {

using Milliseconds = std::chrono::milliseconds;
using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<std::vector<at::Tensor>>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

constexpr std::int64_t no_deadline = INT64_MAX;

// On CLOCK_MONOTONIC, which std::chrono::steady_clock reads.
inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// A timeout of zero or less is none.
inline std::int64_t deadline_after(Milliseconds timeout) {
    if (timeout.count() <= 0 || timeout > std::chrono::hours(24 * 365)) return no_deadline;
    return now_ns() + timeout / std::chrono::nanoseconds(1);
}

}  // namespace weft_torch
