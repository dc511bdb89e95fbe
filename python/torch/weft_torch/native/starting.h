// How the files of the back end start requests.
#pragma once

#include "backend.h"
#include "failure.h"

namespace weft_torch {

// start_request(weft_comm, weft_request*) -> weft_status
template <typename Start>
void WeftBackend::start(const Starting& work, Start start_request) {
    weft_request request = WEFT_REQUEST_NULL;
    std::unique_lock lock(starts_);
    TORCH_CHECK(comm_ != WEFT_COMM_NULL, work->call().where(), ": the group was shut down");
    const weft_status status = start_request(comm_, &request);
    if (status != WEFT_OK) throw_failure(status, work->call().where());
    lock.unlock();
    work->operation().requests.push_back(request);
}

// What every tensor must be.
inline void check_tensor(const at::Tensor& tensor, const char* call) {
    TORCH_CHECK_VALUE(tensor.device().is_cpu(), "weft ", call, ": a tensor on ", tensor.device(),
                      "; expected one in the host's memory");
    TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "weft ", call, ": a tensor of layout ",
                      tensor.layout(), "; expected a dense one");
}

inline const at::Tensor& only_tensor(const Tensors& tensors, const char* call) {
    TORCH_CHECK_VALUE(tensors.size() == 1, "weft ", call, ": a list of ", tensors.size(),
                      " tensors; requires a single-element tensor list");
    check_tensor(tensors[0], call);
    return tensors[0];
}

inline const Tensors& only_list(const TensorLists& lists, int ranks, const char* call) {
    TORCH_CHECK_VALUE(lists.size() == 1, "weft ", call, ": ", lists.size(),
                      " lists of tensors; expected one");
    TORCH_CHECK_VALUE(lists[0].size() == static_cast<std::size_t>(ranks), "weft ", call,
                      ": a list of ", lists[0].size(), " tensors; expected one for each of ", ranks,
                      " ranks");
    for (const at::Tensor& tensor : lists[0]) check_tensor(tensor, call);
    return lists[0];
}

inline void check_same_type(const at::Tensor& left, const at::Tensor& right, const char* call) {
    TORCH_CHECK_VALUE(left.scalar_type() == right.scalar_type(), "weft ", call, ": types ",
                      c10::toString(left.scalar_type()), " and ",
                      c10::toString(right.scalar_type()), "; expected the same type");
}

}  // namespace weft_torch
