// Who advances a collective while its rank computes beside it.
#pragma once

#include <cstdint>

namespace weft::simulate {

struct Progress {
    enum class By : std::uint8_t {
        host,  // the CPU that computes: it looks every `poll_ps` of computing, which costs `look_ps`; while
        // it finds work it goes on, and once all is computed it does nothing else
        thread,  // a CPU of its own, unless it shares_core: it sleeps while there is nothing to do and takes
                 // `wake_ps` to wake
        // A card, which takes `trigger_ps` for a message. It carries out the lists of compile_tasks() of all lanes that
        // it reaches; the rest is the host's, which also takes `list_ps` at the start to hand over each list. A CTS
        // comes unasked. Unlike there, joins never need the host.
        offload,
    };
    By by = By::host;
    std::int64_t compute_ps = 0;  // of each rank, from its start
    std::int64_t poll_ps = 0;     // 0: it looks when all is computed
    std::int64_t look_ps = 0;
    std::int64_t wake_ps = 0;
    bool shares_core =
        false;  // the thread: it takes the core from what is computed, from waking to sleeping
    std::int64_t trigger_ps = 0;
    std::int64_t list_ps = 0;

    bool has_own_core() const { return by == By::thread && !shares_core; }
    bool is_plain() const { return by == By::host && compute_ps == 0; }
};

}  // namespace weft::simulate
