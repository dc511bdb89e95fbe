#include "operation.h"

#include <ATen/core/grad_mode.h>

#include <atomic>
#include <iterator>
#include <list>
#include <mutex>

#include <c10/core/InferenceMode.h>

namespace weft_torch {
namespace {

std::atomic<int> threads_that_wait{0};

bool is_plain(const at::Tensor& tensor) {
    return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

}  // namespace

at::Tensor Operation::input(const at::Tensor& tensor) {
    at::Tensor plain = tensor;
    if (!is_plain(tensor)) {
        const at::NoGradGuard no_grad;
        plain = tensor.contiguous().resolve_conj().resolve_neg();
    }
    kept.push_back(plain);
    return plain;
}

at::Tensor Operation::output(const at::Tensor& tensor) { return stand_in(tensor, true); }

at::Tensor Operation::output_only(const at::Tensor& tensor) { return stand_in(tensor, false); }

at::Tensor Operation::stand_in(const at::Tensor& tensor, bool copies) {
    at::Tensor plain = tensor;
    if (!is_plain(tensor)) {
        const at::NoGradGuard no_grad;
        plain = at::empty(tensor.sizes(), tensor.options());
        if (copies) plain.copy_(tensor);
        finishing.push_back([tensor, plain] {
            // (The thread that completes the operation may be another than the caller's.)
            const c10::InferenceMode mode(tensor.is_inference());
            const at::NoGradGuard no_grad_either;
            tensor.copy_(plain);
        });
    }
    kept.push_back(plain);
    return plain;
}

weft_status Operation::wait_until(std::int64_t deadline_ns) {
    weft_status status;
    ++threads_that_wait;
    do {
        status = requests.size() == 1
                     ? weft_wait_until(requests.data(), deadline_ns)
                     : weft_waitall_until(requests.size(), requests.data(), nullptr, deadline_ns);
    } while (status == WEFT_INTERRUPTED);
    --threads_that_wait;
    return status;
}

int Operation::waiting() { return threads_that_wait; }

void Operation::finish() {
    for (auto step = finishing.rbegin(); step != finishing.rend(); ++step) (*step)();
    finishing.clear();
}

struct Orphans::State {
    std::mutex mutex;
    std::list<Operation> operations;
    std::atomic<std::size_t> count{0};
};

Orphans::State& Orphans::state() {
    static State* const state = new State;  // is used until the process ends
    return *state;
}

void Orphans::add(Operation&& operation) {
    State& orphans = state();
    const std::lock_guard lock(orphans.mutex);
    orphans.operations.push_back(std::move(operation));
    ++orphans.count;
}

std::size_t Orphans::sweep() {
    State& orphans = state();
    if (orphans.count.load(std::memory_order_relaxed) == 0) return 0;
    std::list<Operation> ended;
    std::unique_lock lock(orphans.mutex);
    for (auto at = orphans.operations.begin(); at != orphans.operations.end();) {
        const auto here = at++;
        const weft_status status = here->test();
        if (status == WEFT_PENDING) continue;
        if (status != WEFT_OK) here->finishing.clear();
        ended.splice(ended.end(), orphans.operations, here);
    }
    orphans.count = orphans.operations.size();
    const std::size_t left = orphans.operations.size();
    lock.unlock();
    for (Operation& operation : ended) {
        try {
            operation.finish();
        } catch (const std::exception& error) {
            TORCH_WARN("weft: the result of an operation is lost: ", error.what());
        }
    }
    return left;
}

}  // namespace weft_torch
