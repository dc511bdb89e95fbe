// Which operations can be left until somebody waits for the schedule: a few, on little data, that
// no send follows.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

// Larger messages take time to receive: they are worth a wake-up.
inline constexpr std::int64_t unattended_bytes_max = 4 * 1024;
// The limit for all of them together: more would fill the buffers between the ranks.
inline constexpr std::int64_t unattended_bytes_of_all_max = 16 * 1024;
inline constexpr std::uint32_t unattended_ops_max = 32;

// The load of the operations left so far.
struct UnattendedLoad {
    std::int64_t bytes = 0;
    std::uint32_t ops = 0;

    void add(const Op& op) {
        bytes += op.bytes;
        ++ops;
    }
    bool is_too_much() const {
        return bytes > unattended_bytes_of_all_max || ops > unattended_ops_max;
    }
};

// Whether every operation follows all those it waits for, so that one pass suffices.
bool is_in_order(const Schedule& schedule);

// By operation: whether it cannot be left, because a send or a task list follows it or because it
// takes time. In a schedule with repeats, no operation can be left.
std::vector<bool> find_urgent(const Schedule& schedule);

}  // namespace weft
