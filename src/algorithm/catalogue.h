// The collectives, each with its description and its algorithms: for calls, selection, tools and
// tests.
#pragma once

#include <span>
#include <string_view>

#include "algorithm/family.h"

namespace weft::algorithm {

// Indexed by Collective.
std::span<const Family> catalogue();
const Family& family_of(Collective collective);
// Null: unknown.
const Family* find_family(std::string_view collective);

}  // namespace weft::algorithm
