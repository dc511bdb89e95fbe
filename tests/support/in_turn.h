// Every algorithm of every collective, forced one after the other, for tests that run jobs.
#pragma once

#include <string>
#include <vector>

#include "algorithm/catalogue.h"

namespace weft::test {

// The algorithms of a spec as settings, with several segments and with more than one port, that
// can serve such calls.
std::vector<std::string> choices(const algorithm::CollectiveSpec& spec, algorithm::GlobalArgs size);

// Settings of communicators, in which the algorithms of each collective take turns; if they are to be
// reproducible, those of collectives that reduce. Each is quoted for a shell, with a space in front.
std::string all_in_turn(const algorithm::GlobalArgs& size);

}  // namespace weft::test
