// What an operation lends to Weft and what is left to do when it has ended.
#pragma once

#include <functional>
#include <memory>

#include "common.h"

namespace weft_torch {

struct Operation {
    std::vector<weft_request> requests;
    Tensors kept;                                  // until all requests have completed
    std::vector<std::function<void()>> finishing;  // afterwards, from the last to the first
    std::unique_ptr<int> source;                   // of a receive from any rank

    // The memory that a rank sends: of the tensor, or of a contiguous copy.
    at::Tensor input(const at::Tensor& tensor);
    // The memory that a rank receives into, or combines in place; the tensor gets it at the end.
    at::Tensor output(const at::Tensor& tensor);
    // As output() where what the tensor holds before does not matter.
    at::Tensor output_only(const at::Tensor& tensor);

    // Are all requests complete? Completes them then.
    weft_status test() { return weft_testall(requests.size(), requests.data(), nullptr); }
    weft_status wait_until(std::int64_t deadline_ns);
    // May throw what torch's copies throw.
    void finish();

    // How many threads are inside wait_until().
    static int waiting();

  private:
    at::Tensor stand_in(const at::Tensor& tensor, bool copies);
};

// Operations whose Work was dropped, or given up after a timeout, before they had ended. Weft owns
// their memory until then.
class Orphans {
  public:
    void add(Operation&& operation);
    // Completes those that have ended. Returns how many are left.
    std::size_t sweep();

  private:
    struct State;
    static State& state();
};

}  // namespace weft_torch
