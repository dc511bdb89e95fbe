// How long an algorithm takes, by what it claims about itself, without its schedules.
#pragma once

#include <optional>

#include "algorithm/algorithm.h"
#include "model/loggp.h"
#include "model/measured.h"

namespace weft::model {

// Rounds follow one another: one takes 2o + L, and for the bytes of its message (s-1)(G + 2O), or
// (s-1)G if its ends work along with the network (model/measured.h); bytes that are combined take
// gamma each. In a pipeline, all segments but the first only add what keeps a rank busy. A message
// above the eager threshold takes a question and its answer besides. Copies take nothing.
//
// Exact in the simulator's LogGP machine for exchanges in which all ranks wait for each other
// (dissemination, ring, recursive doubling) and for binomial trees of a power of two of ranks, as
// long as g <= 2o + L. Algorithms that send without waiting for what they receive (flat ones) take
// less than this, in the tests down to less than a quarter of it; others take at most twice as
// long.
//
// Nothing: the algorithm makes no claims about this call.
std::optional<ModelTime> closed_form(const algorithm::Algorithm& algorithm,
                                     const algorithm::GlobalArgs& agreed,
                                     const LogGpParameters& parameters);
// With the parameters of messages as large as the algorithm's.
std::optional<ModelTime> closed_form(const algorithm::Algorithm& algorithm,
                                     const algorithm::GlobalArgs& agreed,
                                     const MeasuredParameters& parameters);

}  // namespace weft::model
