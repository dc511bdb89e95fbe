// The collectives, each with its description and its algorithms: for calls, selection, tools and
// tests.
#pragma once

#include <span>
#include <string_view>

#include "algorithm/collective_spec.h"

namespace weft::algorithm {

// Indexed by Collective.
std::span<const CollectiveSpec> catalogue();
const CollectiveSpec& spec_of(Collective collective);
// Null: unknown.
const CollectiveSpec* find_spec(std::string_view collective);

}  // namespace weft::algorithm
