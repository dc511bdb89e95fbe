// Which algorithm a call uses. The answer follows from what all ranks know alike: the settings in
// the environment, else the number of ranks and bytes.
//
// Thread safety: immutable, share freely.
#pragma once

#include <optional>

#include "algorithm/algorithm.h"

namespace weft {

template <class Algorithm>
struct Choice {
    const Algorithm* algorithm = nullptr;
    algorithm::Tuning tuning;
};

class Selector {
  public:
    // Forces nothing.
    Selector() = default;

    // Reads WEFT_ALGORITHM_<COLLECTIVE>, as WEFT_ALGORITHM_BCAST=chain:segment=64K,window=8.
    // Refuses a name or form it does not know with a sentence that lists those it does.
    static Result<Selector> from_environment();

    // As if `variable` of the environment, one of the above, were `text`.
    Status force(const char* variable, const char* text);

    Choice<algorithm::Barrier> barrier(algorithm::Size size) const;
    Choice<algorithm::Bcast> bcast(algorithm::Size size) const;
    Choice<algorithm::Allgather> allgather(algorithm::Size size) const;
    Choice<algorithm::Allreduce> allreduce(algorithm::Size size) const;

  private:
    template <class Algorithm>
    using Forced = std::optional<Choice<Algorithm>>;

    Forced<algorithm::Barrier> barrier_;
    Forced<algorithm::Bcast> bcast_;
    Forced<algorithm::Allgather> allgather_;
    Forced<algorithm::Allreduce> allreduce_;
};

}  // namespace weft
