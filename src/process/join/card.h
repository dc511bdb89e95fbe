// What a rank tells all others when it joins: its version, settings, cores and addresses.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "offload/offload.h"
#include "process/join/progress_cores.h"
#include "select/select.h"

namespace weft {

struct RankCard {
    std::string version;
    std::string job;      // random; rank 0's identifies the job
    std::string machine;  // equal on ranks that share cores
    std::string node;     // equal on ranks that could share memory
    std::string shm;      // the shared-memory transport's address; empty: none
    std::string tcp;      // the tcp transport's address; empty: none
    std::string ucx;      // the ucx transport's address; empty: none
    // Without what the engine wants, which depends on all cards.
    DedicatedShare dedicated;
    EngineKind engine = EngineKind::manual;
    std::vector<int> cores;  // on which it may compute
    ProgressCores progress;
    std::vector<std::pair<std::string, std::string>> settings;  // those that must agree
    // This rank cannot join, and why: the others must not wait for it.
    weft_status refusal = WEFT_OK;
    std::string refusal_detail;

    // This process's card without `job`, what its settings say once they are read, and what its
    // transports add.
    static RankCard mine();
    static RankCard parse(const std::string& text);
    std::string text() const;
    // A rank that cannot join says so here, because the others wait for it. The first reason
    // counts.
    void refuse(const Status& status);
    // What the selector has read of the settings must agree.
    void note_selector(const Selector& selector);
};

// By rank: a number that is equal for ranks that share a node.
std::vector<Rank> nodes_of(const std::vector<RankCard>& cards);

// By rank: a number that is equal for ranks that stay on one core (shape/topology.h).
std::vector<Rank> cores_of(const std::vector<RankCard>& cards);

// With which all ranks join; none: they differ.
std::optional<EngineKind> agreed_engine(const std::vector<RankCard>& cards);

// Refuses a rank that cannot join, or whose version or settings differ from rank 0's; names the
// rank and the setting.
Status check_agreement(const std::vector<RankCard>& cards);

}  // namespace weft
