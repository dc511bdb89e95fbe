// Decides which runs are carried out as task lists: keeps runs until then, begins their lists, and
// counts why other runs had none.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fifo.h"
#include "run/offload.h"
#include "run/run.h"

namespace weft {

class Offloading {
  public:
    // A null `offload`: there is none.
    explicit Offloading(Offload* offload) : offload_(offload) {}

    Offload* offload() const { return offload_; }

    // How a run that has lists is carried out.
    enum class Way : std::uint8_t {
        here,     // by the executor
        lists,    // as task lists, unless earlier runs are in the way
        offered,  // decided later
    };

    // Offered runs, and those started after them: all begin in the order of their starts.
    bool has_offered() const { return !offered_.empty(); }
    // Keeps a run that begins later. False: it begins now.
    bool keep(Run& run, Way way) {
        run.may_run_as_lists_ = way != Way::here && run.has_lists();
        run.runs_as_lists_ = false;
        if (!has_offered() && (way != Way::offered || !run.may_run_as_lists_)) return false;
        offered_.push(&run);
        return true;
    }
    // Removes the oldest kept run, which now begins like this.
    Run& take_offered(Way way);
    // Drops the kept runs of a group that has broken.
    void forget(const Group& group);

    // Begins the run's lists; the executor begins the rest of the run. False: the executor begins
    // all of it.
    bool begin_lists(Run& run);

    // Lists wait for a thread that may own them.
    bool needs_owner() const {
        return has_offered() || (offload_ != nullptr && offload_->needs_owner());
    }

    // Why a run did not begin as task lists.
    enum class Fallback : std::uint8_t {
        without_connection,   // its stream has no dedicated connections
        without_descriptors,  // none was left for eventfds
        behind_others,        // earlier runs still used the connections
        waited_for,           // by the program, before it began
        several_interfaces,   // of a rank; this and the next two only with engine auto
        shares_core,          // with another rank
        does_not_pay,
        too_long,  // a pipeline's lists, which write out every repeat
        without_owner,
        without_memory,
    };
    static constexpr std::size_t fallbacks = 10;
    void count(Fallback why) { ++fallen_back_[static_cast<std::size_t>(why)]; }
    std::uint64_t fallen_back(Fallback why) const {
        return fallen_back_[static_cast<std::size_t>(why)];
    }
    // Runs that began as task lists.
    std::uint64_t begun() const { return begun_; }
    // "12 operations offloaded, 3 not: 3 on streams without dedicated connections"; "" if no
    // operation was a candidate.
    std::string summary() const;

  private:
    bool reserve_lists(Run& run);

    Offload* offload_;
    Fifo<Run*> offered_;
    std::uint64_t begun_ = 0;
    std::array<std::uint64_t, fallbacks> fallen_back_{};
};

}  // namespace weft
