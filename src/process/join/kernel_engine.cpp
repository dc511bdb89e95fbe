#include "process/join/kernel_engine.h"

#include <algorithm>

#include "base/setting.h"

#if WEFT_HAS_KERNEL
#include "engine/kernel/task_ring.h"
#endif

namespace weft {
namespace {

constexpr std::int64_t depth_default = 1024;

}  // namespace

const std::string& kernel_engine_absence() {
#if WEFT_HAS_KERNEL
    static const std::string absence = kernel::why_not();
#else
    static const std::string absence = std::string("not in this build: ") + WEFT_KERNEL_ABSENCE;
#endif
    return absence;
}

Result<unsigned> queue_depth_from_environment() {
    Setting depth = number_setting("queue_depth");
    if (!depth.is_ok()) return depth.status();
    return static_cast<unsigned>(depth->value_or(depth_default));
}

std::unique_ptr<Offload> make_offload([[maybe_unused]] const std::vector<Transport*>& routes,
                                      [[maybe_unused]] Offload::Options options) {
#if WEFT_HAS_KERNEL
    if (kernel_engine_absence().empty())
        return std::make_unique<kernel::TaskRing>(routes, options);
#endif
    return nullptr;
}

std::string offload_account(Process& process) {
    const Offload* offload = process.executor().offload();
    const std::string summary = offload != nullptr ? offload->summary() : "";
    if (!summary.empty() || !traits(process.engine().kind()).offloads) return summary;
    if (offload != nullptr) return "no operation offloaded";
    const bool has_network = std::ranges::any_of(process.transports(), [](const auto& transport) {
        return transport->dedicated_connections() != nullptr;
    });
    return "no operation offloaded: " +
           (has_network ? kernel_engine_absence() : "no rank is reached over TCP");
}

}  // namespace weft
