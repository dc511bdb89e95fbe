// What a rank tells all others when it joins: its version, settings, cores, and where it is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "process/dedicated.h"

namespace weft {

struct Card {
    std::string version;
    std::string job;      // random; rank 0's tells this job from any other
    std::string machine;  // equal on ranks that share cores
    std::string node;     // equal on ranks that could share memory
    std::string shm;      // of the shared-memory transport; empty: none
    std::string tcp;      // of the tcp transport; empty: none
    DedicatedShare dedicated;
    std::vector<int> cores;
    std::vector<std::pair<std::string, std::string>> settings;  // those that must agree

    // This process's card, without `job` and what its transports add.
    static Card mine();
    static Card parse(const std::string& text);
    std::string text() const;
};

// By rank, a number that is equal where ranks share a node.
std::vector<Rank> nodes_of(const std::vector<Card>& cards);

// Refuses a rank whose version or settings are not rank 0's, naming the rank and the setting.
Status check_agreement(const std::vector<Card>& cards);

}  // namespace weft
