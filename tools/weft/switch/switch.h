// The process that emulates the distance between the nodes of a cluster, as its launcher sees it.
// Not thread safe. The process ends with the launcher, however that ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "weft/switch/distance.h"
#include "weft/switch/forwarder.h"

namespace weft {

// What it did since it adopted a distance.
struct SwitchUse {
    SwitchCounts counts;
    std::int64_t bias_ns = 0;  // at the end
    std::int64_t cpu_ns = 0;
    std::int64_t elapsed_ns = 0;
};

class Switch {
  public:
    Switch() = default;
    ~Switch() { finish(); }
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;

    // Starts it on the core, if that is one, with no distance; it takes the ports.
    Status start(std::vector<SwitchPort> ports, LinkRate rate, int core);

    Status adopt(const Distance& distance, std::int64_t bias_ns);

    // Ends it. None: it had ended by itself, or does not run.
    std::optional<SwitchUse> finish();

  private:
    pid_t pid_ = -1;
    Fd control_;
};

}  // namespace weft
