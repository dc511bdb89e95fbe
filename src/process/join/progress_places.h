// Where the progress threads of a machine's ranks run, by the ranks' wishes and masks.
#pragma once

#include <string>
#include <vector>

#include "base/cores.h"
#include "engine/engine.h"
#include "process/join/card.h"

namespace weft {

// By rank, for the machine of rank `own`; of other machines nothing is known. Spare are cores that
// no rank may compute on, and whose hyperthreads none may either. All ranks of a machine find the
// same.
std::vector<ProgressPlace> progress_places(const std::vector<RankCard>& cards, Rank own,
                                           std::vector<int> (*siblings)(int) = siblings_of);

// Why a thread does not get cores of its own: a sentence about the first such rank of that machine.
// Empty: all get theirs.
std::string why_not_set_aside(const std::vector<RankCard>& cards, Rank own,
                              const std::vector<ProgressPlace>& places);

}  // namespace weft
