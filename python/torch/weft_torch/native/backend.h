// A process group's communication over Weft.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "common.h"
#include "types.h"
#include "work.h"

namespace weft_torch {

struct WeftOptions : c10d::Backend::Options {
    explicit WeftOptions(Milliseconds group_timeout, std::string group_settings)
        : c10d::Backend::Options("weft", group_timeout), settings(std::move(group_settings)) {}

    // (Not in all versions of torch.)
    c10::intrusive_ptr<c10d::Backend::Options> clone() const {
        return c10::make_intrusive<WeftOptions>(*this);
    }

    // As weft_comm_dup_with takes them: "reproducible=1 accumulate=float32".
    std::string settings;
};

// Starts on the group are serialised by a lock; which of two threads starts first is the program's
// to order, as with every back end.
//
// Names that torch has renamed are overridden by their old name, which the new one calls: so this
// compiles with several versions. Functions without `override` are not in all of them.
class WeftBackend : public c10d::Backend {
  public:
    WeftBackend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                c10::intrusive_ptr<WeftOptions> options, std::vector<std::int64_t> global_ranks);
    ~WeftBackend() override;

    const std::string getBackendName() const override { return "weft"; }
    c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() { return options_; }
    void setTimeout(Milliseconds timeout) { timeout_ms_ = timeout.count(); }
    bool supportsSplitting() const override { return true; }
    bool supportsCoalescing() const override { return true; }
    void setSequenceNumberForGroup() override {}
    std::uint64_t getSequenceNumberForGroup() override { return collectives_; }

    c10::intrusive_ptr<c10d::Backend> split(
        const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
        const c10::intrusive_ptr<c10d::Backend::Options>& options);
    c10::intrusive_ptr<c10d::Backend> merge(
        const c10::intrusive_ptr<c10d::Store>& store,
        const c10::intrusive_ptr<c10d::Backend::Options>& options, const int& rank,
        const int& size);
    // Ends all that is pending, on all ranks of the group.
    void abort() override;
    void shutdown() override;

    void startCoalescing() override;
    WorkPtr endCoalescing() override;

    WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
    WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
    WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
    WorkPtr allreduce_coalesced(Tensors& tensors,
                                const c10d::AllreduceCoalescedOptions& options) override;
    WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
    WorkPtr allgather(TensorLists& outputs, Tensors& inputs,
                      const c10d::AllgatherOptions& options) override;
    WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                            const c10d::AllgatherOptions& options) override;
    WorkPtr allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                const c10d::AllgatherOptions& options) override;
    WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::AllgatherOptions& options) override;
    WorkPtr gather(TensorLists& outputs, Tensors& inputs,
                   const c10d::GatherOptions& options) override;
    WorkPtr gather_into_tensor(at::Tensor& output, at::Tensor& input,
                               const c10d::GatherOptions& options);
    WorkPtr scatter(Tensors& outputs, TensorLists& inputs,
                    const c10d::ScatterOptions& options) override;
    WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs,
                           const c10d::ReduceScatterOptions& options) override;
    WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                 const c10d::ReduceScatterOptions& options) override;
    WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::ReduceScatterOptions& options) override;
    WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input,
                          std::vector<std::int64_t>& output_sizes,
                          std::vector<std::int64_t>& input_sizes,
                          const c10d::AllToAllOptions& options) override;
    WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                     const c10d::AllToAllOptions& options) override;
    WorkPtr barrier(const c10d::BarrierOptions& options) override;
    void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

    WorkPtr send(Tensors& tensors, int to, int tag) override;
    WorkPtr recv(Tensors& tensors, int from, int tag) override;
    WorkPtr recvAnysource(Tensors& tensors, int tag) override;

  private:
    using Starting = c10::intrusive_ptr<WeftWork>;

    // A call: then its requests are started, then it is given to the program.
    Starting begin(c10d::OpType type, const char* title, Milliseconds timeout, Tensors outputs,
                   const Tensors& inputs);
    template <typename Start>
    void start(const Starting& work, Start start_request);
    WorkPtr started(const Starting& work);

    void start_allreduce(const Starting& work, const at::Tensor& tensor,
                         const c10d::ReduceOp& reduce);
    void start_allgather(const Starting& work, const at::Tensor& output, const at::Tensor& input);
    void start_allgather(const Starting& work, const Tensors& outputs, const at::Tensor& input);
    void start_reduce_scatter(const Starting& work, const at::Tensor& output,
                              const at::Tensor& input, const c10d::ReduceOp& reduce);
    void divide(const Starting& work, const Reduction& reduction, const at::Tensor& tensor) const;
    WorkPtr message(const Starting& work, const at::Tensor& tensor, int peer, int tag, bool sends);
    Milliseconds timeout_of(Milliseconds asked) const;
    void check_root(std::int64_t root, const char* call) const;

    const c10::intrusive_ptr<WeftOptions> options_;
    const std::vector<std::int64_t> global_ranks_;
    std::shared_ptr<const std::string> name_;  // for messages
    std::atomic<std::int64_t> timeout_ms_;
    std::atomic<std::uint64_t> collectives_{0};
    std::atomic<std::uint64_t> messages_{0};

    std::mutex starts_;  // for what follows
    weft_comm comm_ = WEFT_COMM_NULL;
    bool is_coalescing_ = false;
    std::vector<WorkPtr> coalesced_;
};

}  // namespace weft_torch
