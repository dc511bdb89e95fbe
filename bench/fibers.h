// Measurements in fibers. Not every build has them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bench/job.h"
#include "bench/pipeline/ways.h"

namespace weft::bench {

// What takes the thread from a fiber that computes.
enum class Preempts : std::uint8_t { nothing, timer, arrival };

// A way to use the engine fiber: "fiber", "fiber:timer" or "fiber:arrival".
struct FiberWay {
    bool is_one = false;  // false: another engine
    Preempts preempts = Preempts::nothing;
};
FiberWay fiber_way(const std::string& engine);
// The engine of this name, or of this way.
std::string engine_of_way(const std::string& engine);

// Why this way cannot be used in this job; "": it can. Collective; the same on all ranks.
std::string absence(const Job& job, const FiberWay& way);

// A broadcast for which a fiber waits. With preemption the computation never yields.
std::unique_ptr<ChainBcast> bcast_in_fiber(Case& c, Preempts preempts);

// Computes in one fiber, while another one waits for the request. Returns when both have ended.
void compute_beside_wait(weft_request& request, Preempts preempts,
                         const std::function<void()>& computation);

}  // namespace weft::bench
