// Runs of the LogGP machine that must succeed.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <utility>

#include "sim/loggp.h"

namespace weft::test {

inline simulate::LogGpOutcome outcome_of(simulate::LogGpMachine& machine) {
    Result<simulate::LogGpOutcome> outcome = machine.run();
    EXPECT_TRUE(outcome.is_ok()) << last_detail();
    return outcome.is_ok() ? std::move(*outcome) : simulate::LogGpOutcome{};
}

inline simulate::LogGpOutcome simulate_ranks(std::span<const Schedule> schedules,
                                             const model::LogGpParameters& parameters) {
    simulate::LogGpMachine machine(parameters);
    for (const Schedule& schedule : schedules) machine.add(schedule);
    return outcome_of(machine);
}

}  // namespace weft::test
