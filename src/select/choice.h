// An algorithm and its parameters as text, "chain:segment=64K,window=8", and those of several
// collectives, "bcast=chain:segment=64K,allgather=bruck:ports=3".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithm/catalogue.h"

namespace weft {

struct Choice {
    const algorithm::Algorithm* algorithm = nullptr;
    algorithm::Tuning tuning;
};

// Refuses unknown names, and parameters that the algorithm does not have, with a sentence that
// begins with `name` and lists the known ones.
Result<Choice> parse_choice(const algorithm::CollectiveSpec& spec, std::string_view text,
                            const std::string& name);

struct NamedChoice {
    Collective collective;
    std::string text;
    Choice choice;
};

// After a comma comes another collective, or another parameter of the same algorithm. A refusal's
// sentence begins with `name`, or with choice_name() where the collective is known.
Result<std::vector<NamedChoice>> parse_choices(std::string_view list, const std::string& name);
// "NAME=bcast", or without a name "bcast".
std::string choice_name(const std::string& name, Collective collective);

}  // namespace weft
