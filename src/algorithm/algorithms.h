// Declares the algorithms of algorithms.def, for those that are made of others.
#pragma once

#include "algorithm/algorithm.h"

namespace weft::algorithm {

#define ALGORITHM(collective, constant) extern const Algorithm constant;
#include "algorithm/algorithms.def"
#undef ALGORITHM

}  // namespace weft::algorithm
