// What the parts of the LogGP machine share: the network and who advances the collective, the
// ranks, the clock and the events to come.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/disturbance.h"
#include "sim/event_queue.h"
#include "sim/outcome.h"
#include "sim/simulated_ranks.h"
#include "sim/surroundings.h"

namespace weft::simulate {

using model::after_first;
using Unit = BusySpan::Unit;
using Work = BusySpan::Work;

enum class EventKind : std::uint32_t {
    begin,       // the rank's first operations
    complete,    // instance
    first_byte,  // lane: of a message, at the receiver
    last_byte,   // lane
    large,       // number of the message: its next stage
    enter,       // on a torus, or at a link of a node; number of the crossing: it may begin
    // On a torus:
    left,   // the rank's last message has left its interface
    flows,  // some may have ended, if nothing has started since this was said
};

constexpr unsigned event_argument_bits = 29;
constexpr std::uint32_t event_argument_mask = (1u << event_argument_bits) - 1;

inline std::uint32_t what(EventKind kind, std::uint32_t argument) {
    WEFT_ASSERT(argument >> event_argument_bits == 0);
    return static_cast<std::uint32_t>(kind) << event_argument_bits | argument;
}

constexpr Instance no_instance = 0xffffffffu;

// Records that are numbered while they are kept.
template <class Record>
class NumberedRecords {
  public:
    std::uint32_t keep(const Record& record) {
        if (unused_.empty()) {
            records_.push_back(record);
            return static_cast<std::uint32_t>(records_.size()) - 1;
        }
        const std::uint32_t number = unused_.back();
        unused_.pop_back();
        records_[number] = record;
        return number;
    }
    void drop(std::uint32_t number) { unused_.push_back(number); }
    Record& operator[](std::uint32_t number) { return records_[number]; }

  private:
    std::vector<Record> records_;
    std::vector<std::uint32_t> unused_;
};

struct MachineState {
    MachineState(const LogGpParameters& parameters, const Disturbance& what_disturbs,
                 const TorusParameters* on)
        : p(parameters), disturbance(what_disturbs), torus(on), ranks(p.eager_bytes_max) {}

    const LogGpParameters p;
    const Disturbance disturbance;
    const bool has_noise = disturbance.has_noise();
    const TorusParameters* const torus;
    std::optional<NodesParameters> nodes;
    MessageEnds ends;
    Progress progress;
    SimulatedRanks ranks;
    EventQueue queue;
    std::int64_t now_ps = 0;
    std::int64_t latest_ps = 0;
    std::vector<BusySpan>* spans = nullptr;

    // Whether a message stays within a node.
    bool is_inside(std::uint32_t a, std::uint32_t b) const {
        return nodes && nodes->node_of(a) == nodes->node_of(b);
    }
    const LogGpParameters& network(bool inside) const {
        if (inside) [[unlikely]]
            return nodes->inside;
        return p;
    }

    void push(std::int64_t time_ps, std::uint32_t rank, EventKind kind, std::uint32_t argument) {
        queue.push({time_ps, rank, what(kind, argument)});
    }
    std::int64_t later(std::int64_t time_ps, std::int64_t cost_ps) {
        latest_ps = std::max(latest_ps, std::min(time_ps + cost_ps, time_max_ps));
        return std::min(time_ps + cost_ps, time_max_ps);
    }
    void record(std::uint32_t rank, Unit unit, Work work, std::int64_t begin_ps,
                std::int64_t end_ps) {
        if (spans && end_ps > begin_ps) [[unlikely]]
            spans->push_back({rank, unit, work, begin_ps, end_ps});
    }

    // Refuses a time of `units`, which must stay far below the largest.
    static Status check_time(double units, std::int64_t unit_ps) {
        if (units * static_cast<double>(unit_ps) <= static_cast<double>(time_max_ps) / 4) return ok;
        return above_time_max();
    }
    static Status above_time_max() {
        return failure(WEFT_REFUSED_ARGUMENT, "the simulated time is above 50 days");
    }
};

}  // namespace weft::simulate
