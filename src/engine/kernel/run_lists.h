// The task lists of one run. Only for engine/kernel.
#pragma once

#include <memory>
#include <vector>

#include "base/fd.h"
#include "engine/kernel/list.h"
#include "run/offload.h"

namespace weft::kernel {

class TaskRing;

class RunLists final : public Offload::Lists {
  public:
    RunLists(TaskRing& task_ring, const Tasks& compiled) : Lists(compiled), ring(task_ring) {}
    ~RunLists() override;
    RunLists(const RunLists&) = delete;
    RunLists& operator=(const RunLists&) = delete;

    std::int64_t memory_bytes() const override;
    void add_late(bool sends, std::vector<Rank>& ranks) const override;

    int semaphore(std::uint32_t number) const { return (*semaphores)[number].get(); }

    TaskRing& ring;
    std::shared_ptr<std::vector<Fd>> semaphores = std::make_shared<std::vector<Fd>>();
    std::vector<std::unique_ptr<List>> lists;

    Offload::Call call;  // of the last start
};

}  // namespace weft::kernel
