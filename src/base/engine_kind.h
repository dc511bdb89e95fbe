// The progress engines, and what each of them can do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/comm.h"

namespace weft {

enum class EngineKind : std::uint8_t {
    manual = WEFT_ENGINE_MANUAL,
    thread = WEFT_ENGINE_THREAD,
    thread_poll = 2,
    kernel = WEFT_ENGINE_KERNEL,
    kernel_own = WEFT_ENGINE_KERNEL_OWN,
    automatic = WEFT_ENGINE_AUTO,
    fiber = WEFT_ENGINE_FIBER,
};

// The abilities of an engine: how it makes progress besides the program's own calls.
struct EngineTraits {
    EngineKind kind;
    const char* name;                 // for WEFT_ENGINE
    bool has_sleeper = false;         // a thread that sleeps until something arrives
    bool has_poller = false;          // a thread that never sleeps
    bool offloads = false;            // io_uring runs schedules as task lists where possible
    bool only_where_it_pays = false;  // offloads only schedules that gain by it
    // The thread that joined the job owns the task lists and alone may start operations. The lists'
    // steps run in its context, whenever it leaves the kernel or is interrupted.
    bool needs_joiner = false;
    // No user can choose it: `weft bench` sets it, to compare with.
    bool is_hidden = false;

    constexpr bool has_thread() const { return has_sleeper || has_poller; }
};

// Ordered by kind.
inline constexpr std::array engine_list = {
    EngineTraits{.kind = EngineKind::manual, .name = "manual"},
    EngineTraits{.kind = EngineKind::thread, .name = "thread", .has_sleeper = true},
    EngineTraits{.kind = EngineKind::thread_poll,
                 .name = "thread:poll",
                 .has_poller = true,
                 .is_hidden = true},
    EngineTraits{
        .kind = EngineKind::kernel, .name = "kernel", .has_sleeper = true, .offloads = true},
    EngineTraits{.kind = EngineKind::kernel_own,
                 .name = "kernel:own",
                 .has_sleeper = true,
                 .offloads = true,
                 .needs_joiner = true},
    EngineTraits{.kind = EngineKind::automatic,
                 .name = "auto",
                 .has_sleeper = true,
                 .offloads = true,
                 .only_where_it_pays = true},
    // What runs fibers makes the progress (engine/user_threads.h), with any engine; this one has
    // nothing else that does.
    EngineTraits{.kind = EngineKind::fiber, .name = "fiber"},
};

inline constexpr EngineKind default_engine = EngineKind::automatic;

constexpr const EngineTraits& traits(EngineKind kind) {
    return engine_list[static_cast<std::size_t>(kind)];
}

// The engine of this name, or with this number in weft_engine, if users can choose it.
std::optional<EngineKind> engine_named(std::string_view name);
std::optional<EngineKind> engine_numbered(int number);
// All names of these, such as "manual, thread or auto".
std::string engine_names(bool with_hidden = false);

}  // namespace weft
