// The parts of the door that depend on the build: io_uring may be missing.
#include "offload/offload.h"

#include <algorithm>

#if WEFT_HAS_KERNEL
#include "offload/task_ring.h"
#endif

namespace weft {
namespace {

bool reaches_by_dedicated(const std::vector<Transport*>& routes) {
    return std::ranges::any_of(routes, [](Transport* route) {
        return route != nullptr && route->dedicated_connections() != nullptr;
    });
}

}  // namespace

const std::string& kernel_engine_absence() {
#if WEFT_HAS_KERNEL
    static const std::string absence = kernel::why_not();
#else
    static const std::string absence = std::string("not in this build: ") + WEFT_KERNEL_ABSENCE;
#endif
    return absence;
}

std::unique_ptr<Offload> make_offload([[maybe_unused]] const std::vector<Transport*>& routes,
                                      [[maybe_unused]] Offload::Options options) {
#if WEFT_HAS_KERNEL
    if (reaches_by_dedicated(routes) && kernel_engine_absence().empty())
        return std::make_unique<kernel::TaskRing>(routes, options);
#endif
    return nullptr;
}

std::string offload_account(const Offload* offload, const EngineTraits& engine,
                            const std::vector<Transport*>& routes) {
    const std::string summary = offload != nullptr ? offload->summary() : "";
    if (!summary.empty() || !engine.offloads) return summary;
    if (offload != nullptr) return "no operation offloaded";
    return "no operation offloaded: " +
           (reaches_by_dedicated(routes) ? kernel_engine_absence() : "no rank is reached over TCP");
}

}  // namespace weft
