// The sum of sparse tensors, as gradients of embeddings are.
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include "backend.h"
#include "starting.h"

namespace weft_torch {

// Every rank gathers all ranks' indices and values, and adds them up in the order of the ranks. How
// many there are is exchanged before: that part blocks.
WorkPtr WeftBackend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
    TORCH_CHECK_VALUE(tensors.size() == 1, "weft all_reduce: a list of ", tensors.size(),
                      " tensors; requires a single-element tensor list");
    const at::Tensor& tensor = tensors[0];
    TORCH_CHECK_VALUE(tensor.is_sparse() && tensor.device().is_cpu(),
                      "weft all_reduce: expected a sparse tensor in the host's memory");
    TORCH_CHECK_VALUE(options.reduceOp.op_ == c10d::ReduceOp::SUM,
                      "weft all_reduce: sparse tensors can only be added (ReduceOp.SUM)");
    const at::NoGradGuard no_grad;
    const at::Tensor own = tensor.coalesce();
    const at::Tensor indices = own._indices().contiguous();
    const at::Tensor values = own._values().contiguous();

    const at::Tensor counts = at::empty({size_}, at::kLong);
    {
        const at::Tensor count = at::full({1}, own._nnz(), at::TensorOptions(at::kLong));
        const Starting exchange = begin(c10d::OpType::_ALLGATHER_BASE, "weft:all_reduce",
                                        options.timeout, {counts}, {count});
        start_allgather(exchange, counts, count);
        exchange->wait();
    }

    Tensors all_indices;
    Tensors all_values;
    for (int rank = 0; rank < size_; ++rank) {
        const std::int64_t count = counts.const_data_ptr<std::int64_t>()[rank];
        std::vector<std::int64_t> shape = values.sizes().vec();
        shape[0] = count;
        all_indices.push_back(at::empty({indices.size(0), count}, indices.options()));
        all_values.push_back(at::empty(shape, values.options()));
    }
    const Starting work = begin(c10d::OpType::_ALLREDUCE_SPARSE, "weft:all_reduce", options.timeout,
                                tensors, tensors);
    work->operation().finishing.push_back([tensor, all_indices, all_values] {
        const c10::InferenceMode mode(tensor.is_inference());
        const at::NoGradGuard no_grad_either;
        at::Tensor sum;
        for (std::size_t rank = 0; rank < all_indices.size(); ++rank) {
            const at::Tensor part = at::sparse_coo_tensor(all_indices[rank], all_values[rank],
                                                          tensor.sizes(), tensor.options());
            sum = sum.defined() ? sum.add(part) : part;
        }
        tensor.copy_(sum.coalesce());
    });
    start_allgather(work, all_indices, indices);
    start_allgather(work, all_values, values);
    return started(work);
}

}  // namespace weft_torch
