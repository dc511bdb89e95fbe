// The collectives of a group.
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include "backend.h"
#include "blocks.h"
#include "starting.h"

namespace weft_torch {

using c10d::OpType;

// --- One tensor on each rank ---------------------------------------------------------------------

WorkPtr WeftBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
    const at::Tensor& tensor = only_tensor(tensors, "broadcast");
    check_root(options.rootRank, "broadcast");
    const Starting work =
        begin(OpType::BROADCAST, "weft:broadcast", options.timeout, tensors, tensors);
    const auto root = static_cast<int>(options.rootRank);
    const at::Tensor plain =
        rank_ == root ? work->operation().input(tensor) : work->operation().output_only(tensor);
    const Moved moved(plain);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_ibcast(plain.data_ptr(), moved.count(plain.nbytes()), moved.type, root, comm,
                           request);
    });
    return started(work);
}

// An average of integers, whose sum Weft has made.
void WeftBackend::divide(const Starting& work, const Reduction& reduction,
                         const at::Tensor& tensor) const {
    if (!reduction.divides) return;
    work->operation().finishing.push_back([tensor, ranks = size_] {
        const c10::InferenceMode mode(tensor.is_inference());
        const at::NoGradGuard no_grad;
        tensor.div_(ranks, "trunc");
    });
}

void WeftBackend::start_allreduce(const Starting& work, const at::Tensor& tensor,
                                  const c10d::ReduceOp& reduce) {
    check_tensor(tensor, work->call().name());
    const Reduction reduction(tensor, reduce, work->call().name());
    const at::Tensor plain = work->operation().output(tensor);
    divide(work, reduction, plain);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_iallreduce(WEFT_IN_PLACE, plain.data_ptr(), reduction.count(plain),
                               reduction.type, reduction.op, comm, request);
    });
}

WorkPtr WeftBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
    TORCH_CHECK_VALUE(tensors.size() == 1, "weft all_reduce: a list of ", tensors.size(),
                      " tensors; requires a single-element tensor list");
    if (tensors[0].is_sparse()) return allreduce_sparse(tensors, options);
    const Starting work =
        begin(OpType::ALLREDUCE, "weft:all_reduce", options.timeout, tensors, tensors);
    start_allreduce(work, tensors[0], options.reduceOp);
    return started(work);
}

WorkPtr WeftBackend::allreduce_coalesced(Tensors& tensors,
                                         const c10d::AllreduceCoalescedOptions& options) {
    TORCH_CHECK_VALUE(!tensors.empty(), "weft all_reduce: requires non-empty tensor list");
    const Starting work =
        begin(OpType::ALLREDUCE_COALESCED, "weft:all_reduce", options.timeout, tensors, tensors);
    for (const at::Tensor& tensor : tensors) start_allreduce(work, tensor, options.reduceOp);
    return started(work);
}

WorkPtr WeftBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
    const at::Tensor& tensor = only_tensor(tensors, "reduce");
    check_root(options.rootRank, "reduce");
    const Starting work = begin(OpType::REDUCE, "weft:reduce", options.timeout, tensors, tensors);
    const Reduction reduction(tensor, options.reduceOp, "reduce");
    const auto root = static_cast<int>(options.rootRank);
    const bool is_root = rank_ == root;
    const at::Tensor plain =
        is_root ? work->operation().output(tensor) : work->operation().input(tensor);
    if (is_root) divide(work, reduction, plain);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_ireduce(is_root ? WEFT_IN_PLACE : plain.data_ptr(), plain.data_ptr(),
                            reduction.count(plain), reduction.type, reduction.op, root, comm,
                            request);
    });
    return started(work);
}

WorkPtr WeftBackend::barrier(const c10d::BarrierOptions& options) {
    const Starting work = begin(OpType::BARRIER, "weft:barrier", options.timeout, {}, {});
    start(work, [](weft_comm comm, weft_request* request) { return weft_ibarrier(comm, request); });
    return started(work);
}

// --- Gathers -------------------------------------------------------------------------------------

void WeftBackend::start_allgather(const Starting& work, const at::Tensor& output,
                                  const at::Tensor& input) {
    const char* const call = work->call().name();
    check_tensor(output, call);
    check_tensor(input, call);
    check_same_type(output, input, call);
    TORCH_CHECK_VALUE(output.numel() == input.numel() * size_, "weft ", call,
                      ": output tensor size must be equal to world_size times input tensor size: ",
                      output.numel(), " and ", size_, " * ", input.numel(), " elements");
    Operation& operation = work->operation();
    const at::Tensor sent = operation.input(input);
    const at::Tensor gathered = operation.output_only(output);
    const Moved moved(sent);
    const char* const own = static_cast<const char*>(gathered.const_data_ptr()) +
                            static_cast<std::size_t>(rank_) * sent.nbytes();
    const void* const source = source_among(operation, sent, {gathered}, own);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_iallgather(source, gathered.data_ptr(), moved.count(sent.nbytes()), moved.type,
                               comm, request);
    });
}

void WeftBackend::start_allgather(const Starting& work, const Tensors& outputs,
                                  const at::Tensor& input) {
    const char* const call = work->call().name();
    check_tensor(input, call);
    for (const at::Tensor& output : outputs) check_same_type(output, input, call);
    const at::Tensor& mine = outputs[static_cast<std::size_t>(rank_)];
    TORCH_CHECK_VALUE(mine.numel() == input.numel(), "weft ", call, ": the output of rank ", rank_,
                      " has ", mine.numel(), " elements; expected those of its input, ",
                      input.numel());
    Operation& operation = work->operation();
    const at::Tensor sent = operation.input(input);
    Tensors plain;
    const Blocks blocks = output_blocks(operation, outputs, plain);
    const void* const source = source_among(
        operation, sent, plain, plain[static_cast<std::size_t>(rank_)].const_data_ptr());
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_iallgatherv(source, sent.nbytes(), blocks.base, blocks.bytes.data(),
                                blocks.displacements.data(), WEFT_BYTE, comm, request);
    });
}

WorkPtr WeftBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                     const c10d::AllgatherOptions& options) {
    const Starting work = begin(OpType::_ALLGATHER_BASE, "weft:all_gather_into_tensor",
                                options.timeout, {output}, {input});
    start_allgather(work, output, input);
    return started(work);
}

WorkPtr WeftBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllgatherOptions& options) {
    TORCH_CHECK_VALUE(outputs.size() == inputs.size(),
                      "weft all_gather_into_tensor: ", outputs.size(), " outputs and ",
                      inputs.size(), " inputs");
    // (torch 2.13 has no number for exactly this.)
    const Starting work = begin(OpType::ALLGATHER_COALESCED, "weft:all_gather_into_tensor",
                                options.timeout, outputs, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) start_allgather(work, outputs[i], inputs[i]);
    return started(work);
}

WorkPtr WeftBackend::allgather(TensorLists& outputs, Tensors& inputs,
                               const c10d::AllgatherOptions& options) {
    const at::Tensor& input = only_tensor(inputs, "all_gather");
    const Tensors& list = only_list(outputs, size_, "all_gather");
    const Starting work =
        begin(OpType::ALLGATHER, "weft:all_gather", options.timeout, list, inputs);
    start_allgather(work, list, input);
    return started(work);
}

// Each rank has a list of outputs, one for each input.
WorkPtr WeftBackend::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                         const c10d::AllgatherOptions& options) {
    TORCH_CHECK_VALUE(outputs.size() == static_cast<std::size_t>(size_),
                      "weft all_gather: ", outputs.size(),
                      " lists of outputs; expected one for each of ", size_, " ranks");
    Tensors all;
    for (const Tensors& of_rank : outputs) {
        TORCH_CHECK_VALUE(of_rank.size() == inputs.size(), "weft all_gather: ", of_rank.size(),
                          " outputs of a rank; expected those of ", inputs.size(), " inputs");
        for (const at::Tensor& output : of_rank) {
            check_tensor(output, "all_gather");
            all.push_back(output);
        }
    }
    const Starting work =
        begin(OpType::ALLGATHER_COALESCED, "weft:all_gather", options.timeout, all, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        Tensors of_input;
        for (const Tensors& of_rank : outputs) of_input.push_back(of_rank[i]);
        start_allgather(work, of_input, inputs[i]);
    }
    return started(work);
}

WorkPtr WeftBackend::gather(TensorLists& outputs, Tensors& inputs,
                            const c10d::GatherOptions& options) {
    const at::Tensor& input = only_tensor(inputs, "gather");
    check_root(options.rootRank, "gather");
    const auto root = static_cast<int>(options.rootRank);
    const bool is_root = rank_ == root;
    TORCH_CHECK_VALUE(is_root || outputs.empty(), "weft gather: requires empty output on non-root");
    const Starting work = begin(OpType::GATHER, "weft:gather", options.timeout,
                                is_root ? only_list(outputs, size_, "gather") : Tensors(), inputs);
    Operation& operation = work->operation();
    const at::Tensor sent = operation.input(input);
    const void* source = sent.const_data_ptr();
    Blocks blocks;
    if (is_root) {
        for (const at::Tensor& output : outputs[0]) {
            check_same_type(output, input, "gather");
            TORCH_CHECK_VALUE(output.numel() == input.numel(), "weft gather: an output has ",
                              output.numel(), " elements; expected those of the input, ",
                              input.numel());
        }
        Tensors plain;
        blocks = output_blocks(operation, outputs[0], plain);
        source = source_among(operation, sent, plain,
                              plain[static_cast<std::size_t>(rank_)].const_data_ptr());
    }
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_igatherv(source, sent.nbytes(), blocks.base, blocks.bytes.data(),
                             blocks.displacements.data(), WEFT_BYTE, root, comm, request);
    });
    return started(work);
}

WorkPtr WeftBackend::gather_into_tensor(at::Tensor& output, at::Tensor& input,
                                        const c10d::GatherOptions& options) {
    const char* const call = "gather_into_tensor";
    check_tensor(input, call);
    check_root(options.rootRank, call);
    const auto root = static_cast<int>(options.rootRank);
    const bool is_root = rank_ == root;
    const Starting work = begin(OpType::GATHER, "weft:gather_into_tensor", options.timeout,
                                is_root ? Tensors{output} : Tensors(), {input});
    Operation& operation = work->operation();
    const at::Tensor sent = operation.input(input);
    const void* source = sent.const_data_ptr();
    void* into = nullptr;
    if (is_root) {
        check_tensor(output, call);
        check_same_type(output, input, call);
        TORCH_CHECK_VALUE(output.numel() == input.numel() * size_, "weft ", call,
                          ": output tensor size must be equal to world_size times input tensor "
                          "size: ",
                          output.numel(), " and ", size_, " * ", input.numel(), " elements");
        const at::Tensor gathered = operation.output_only(output);
        into = gathered.data_ptr();
        source = source_among(
            operation, sent, {gathered},
            static_cast<const char*>(into) + static_cast<std::size_t>(rank_) * sent.nbytes());
    }
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_igather(source, into, sent.nbytes(), WEFT_BYTE, root, comm, request);
    });
    return started(work);
}

// --- Scatters ------------------------------------------------------------------------------------

WorkPtr WeftBackend::scatter(Tensors& outputs, TensorLists& inputs,
                             const c10d::ScatterOptions& options) {
    const at::Tensor& output = only_tensor(outputs, "scatter");
    check_root(options.rootRank, "scatter");
    const auto root = static_cast<int>(options.rootRank);
    const bool is_root = rank_ == root;
    TORCH_CHECK_VALUE(is_root || inputs.empty(), "weft scatter: requires empty input on non-root");
    const Starting work = begin(OpType::SCATTER, "weft:scatter", options.timeout, outputs,
                                is_root ? only_list(inputs, size_, "scatter") : Tensors());
    Operation& operation = work->operation();
    const at::Tensor received = operation.output_only(output);
    Blocks blocks;
    if (is_root) {
        for (const at::Tensor& input : inputs[0]) {
            check_same_type(output, input, "scatter");
            TORCH_CHECK_VALUE(input.numel() == output.numel(), "weft scatter: an input has ",
                              input.numel(), " elements; expected those of the output, ",
                              output.numel());
        }
        blocks = input_blocks(operation, inputs[0], {received});
    }
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_iscatterv(blocks.base, blocks.bytes.data(), blocks.displacements.data(),
                              received.data_ptr(), received.nbytes(), WEFT_BYTE, root, comm,
                              request);
    });
    return started(work);
}

void WeftBackend::start_reduce_scatter(const Starting& work, const at::Tensor& output,
                                       const at::Tensor& input, const c10d::ReduceOp& reduce) {
    const char* const call = work->call().name();
    check_tensor(output, call);
    check_tensor(input, call);
    check_same_type(output, input, call);
    TORCH_CHECK_VALUE(input.numel() == output.numel() * size_, "weft ", call,
                      ": input tensor must be the same size as output size times world size: ",
                      input.numel(), " and ", size_, " * ", output.numel(), " elements");
    const Reduction reduction(output, reduce, call);
    Operation& operation = work->operation();
    const at::Tensor received = operation.output_only(output);
    const at::Tensor sent = apart(operation, operation.input(input), {received});
    divide(work, reduction, received);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_ireduce_scatter_block(sent.const_data_ptr(), received.data_ptr(),
                                          reduction.count(received), reduction.type, reduction.op,
                                          comm, request);
    });
}

WorkPtr WeftBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& options) {
    const Starting work = begin(OpType::_REDUCE_SCATTER_BASE, "weft:reduce_scatter_tensor",
                                options.timeout, {output}, {input});
    start_reduce_scatter(work, output, input, options.reduceOp);
    return started(work);
}

WorkPtr WeftBackend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
    TORCH_CHECK_VALUE(outputs.size() == inputs.size(),
                      "weft reduce_scatter_tensor: ", outputs.size(), " outputs and ",
                      inputs.size(), " inputs");
    const Starting work = begin(OpType::REDUCE_SCATTER_TENSOR_COALESCED,
                                "weft:reduce_scatter_tensor", options.timeout, outputs, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        start_reduce_scatter(work, outputs[i], inputs[i], options.reduceOp);
    return started(work);
}

// The blocks may differ in size. Weft combines one vector, so they are copied together.
WorkPtr WeftBackend::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                    const c10d::ReduceScatterOptions& options) {
    const at::NoGradGuard no_grad;
    const char* const call = "reduce_scatter";
    const at::Tensor& output = only_tensor(outputs, call);
    const Tensors& list = only_list(inputs, size_, call);
    const Starting work =
        begin(OpType::REDUCE_SCATTER, "weft:reduce_scatter", options.timeout, outputs, list);
    const Reduction reduction(output, options.reduceOp, call);
    Tensors flat;
    std::vector<std::size_t> counts;
    for (const at::Tensor& input : list) {
        check_same_type(output, input, call);
        flat.push_back(input.reshape({-1}));
        counts.push_back(reduction.count(input));
    }
    TORCH_CHECK_VALUE(counts[static_cast<std::size_t>(rank_)] == reduction.count(output), "weft ",
                      call, ": the input for rank ", rank_, " has ",
                      list[static_cast<std::size_t>(rank_)].numel(),
                      " elements; expected those of its output, ", output.numel());
    Operation& operation = work->operation();
    const at::Tensor sent = operation.input(at::cat(flat));
    const at::Tensor received = operation.output_only(output);
    divide(work, reduction, received);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_ireduce_scatter(sent.const_data_ptr(), received.data_ptr(), counts.data(),
                                    reduction.type, reduction.op, comm, request);
    });
    return started(work);
}

// --- All to all ----------------------------------------------------------------------------------

WorkPtr WeftBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                   std::vector<std::int64_t>& output_sizes,
                                   std::vector<std::int64_t>& input_sizes,
                                   const c10d::AllToAllOptions& options) {
    const char* const call = "all_to_all_single";
    check_tensor(output, call);
    check_tensor(input, call);
    check_same_type(output, input, call);
    const Starting work =
        begin(OpType::ALLTOALL_BASE, "weft:all_to_all_single", options.timeout, {output}, {input});
    Operation& operation = work->operation();
    const at::Tensor received = operation.output_only(output);
    const at::Tensor sent = apart(operation, operation.input(input), {received});
    const std::vector<std::size_t> sent_bytes =
        split_bytes(sent, input_sizes, size_, call, "input");
    const std::vector<std::size_t> received_bytes =
        split_bytes(received, output_sizes, size_, call, "output");
    if (input_sizes.empty() && output_sizes.empty()) {
        TORCH_CHECK_VALUE(input.numel() == output.numel(), "weft ", call, ": ", input.numel(),
                          " elements of the input and ", output.numel(), " of the output");
        const Moved moved(sent);
        start(work, [&](weft_comm comm, weft_request* request) {
            return weft_ialltoall(sent.const_data_ptr(), received.data_ptr(),
                                  moved.count(sent_bytes[0]), moved.type, comm, request);
        });
    } else {
        start(work, [&](weft_comm comm, weft_request* request) {
            return weft_ialltoallv(sent.const_data_ptr(), sent_bytes.data(), nullptr,
                                   received.data_ptr(), received_bytes.data(), nullptr, WEFT_BYTE,
                                   comm, request);
        });
    }
    return started(work);
}

WorkPtr WeftBackend::alltoall(Tensors& outputs, Tensors& inputs,
                              const c10d::AllToAllOptions& options) {
    const char* const call = "all_to_all";
    TORCH_CHECK_VALUE(
        outputs.size() == static_cast<std::size_t>(size_) && inputs.size() == outputs.size(),
        "weft ", call, ": ", outputs.size(), " outputs and ", inputs.size(),
        " inputs; expected one for each of ", size_, " ranks");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        check_tensor(outputs[i], call);
        check_tensor(inputs[i], call);
        check_same_type(outputs[i], inputs[i], call);
    }
    const Starting work =
        begin(OpType::ALLTOALL, "weft:all_to_all", options.timeout, outputs, inputs);
    Operation& operation = work->operation();
    Tensors plain;
    const Blocks received = output_blocks(operation, outputs, plain);
    const Blocks sent = input_blocks(operation, inputs, plain);
    start(work, [&](weft_comm comm, weft_request* request) {
        return weft_ialltoallv(sent.base, sent.bytes.data(), sent.displacements.data(),
                               received.base, received.bytes.data(), received.displacements.data(),
                               WEFT_BYTE, comm, request);
    });
    return started(work);
}

}  // namespace weft_torch
