// Finds out which engines can be used.
#include "bench/contestants.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "base/engine_kind.h"
#include "bench/threads.h"
#include "c_api/guard.h"

namespace weft::bench {
namespace {

using Sentence = std::array<char, 256>;

// Why the first rank that refuses this engine does so; "": none does, and the engine is in force.
std::string refusal(const Job& job, const Engine& engine) {
    must(weft_barrier(job.comm), "weft_barrier");
    Sentence mine{};
    if (set_engine(engine.value) != WEFT_OK) {
        std::snprintf(mine.data(), mine.size(), "%s", weft_last_detail());
    }
    for (const Sentence& sentence : gather(job, std::vector<Sentence>{mine})) {
        if (sentence[0] != '\0') return sentence.data();
    }
    return "";
}

// The largest number of io_uring threads seen in this process.
int workers_seen = 0;

void look_for_workers() {
    workers_seen = std::max(workers_seen, static_cast<int>(threads_named("iou-wrk").size()));
}

}  // namespace

void print_offload(const Job& job, std::span<const Contestant> chosen) {
    look_for_workers();
    const Offload* offload = c_api::current_process()->executor().offload();
    const std::string handed = offload != nullptr ? offload->summary() : "";
    Sentence mine{};
    std::snprintf(mine.data(), mine.size(), "%s; %d threads of io_uring (iou-wrk)",
                  handed.empty() ? "no operation offloaded" : handed.c_str(), workers_seen);
    const std::vector<Sentence> all = gather(job, std::vector<Sentence>{mine});
    if (job.rank != 0) return;
    const bool is_of_interest =
        std::any_of(chosen.begin(), chosen.end(), [](const Contestant& contestant) {
            return traits(static_cast<EngineKind>(contestant.engine.value)).offloads;
        });
    for (std::size_t rank = 0; rank < all.size() && is_of_interest; ++rank) {
        std::printf("rank %zu: %s\n", rank, all[rank].data());
    }
}

void switch_engine(const Job& job, weft_engine engine) {
    look_for_workers();
    must(weft_barrier(job.comm), "weft_barrier");
    must(set_engine(engine), "weft_set_engine");
}

std::optional<Contestant> contestant(const Job& job, const Engine& engine) {
    const std::string why = refusal(job, engine);
    if (!why.empty()) {
        if (job.rank == 0) std::printf("Left out: engine %s: %s\n", engine.name, why.c_str());
        return std::nullopt;
    }
    Contestant made{engine, job, nullptr, nullptr};
    must(weft_comm_dup(job.comm, &made.job.comm), "weft_comm_dup");
    switch_engine(job, WEFT_ENGINE_MANUAL);
    return made;
}

Contestant contestant(const Job& job, const Rival& rival) {
    return {{rival.name(), WEFT_ENGINE_MANUAL}, job, &rival, nullptr};
}

Contestant contestant(const Job& job, CopyThread& copies) {
    return {{copy_thread_name, WEFT_ENGINE_MANUAL}, job, nullptr, &copies};
}

std::vector<Contestant> contestants(const Job& job, std::span<const Engine> wanted) {
    std::vector<Contestant> chosen;
    for (const Engine& engine : wanted) {
        if (const auto one = contestant(job, engine)) chosen.push_back(*one);
    }
    if (chosen.empty()) fail("no engine is left to measure");
    return chosen;
}

}  // namespace weft::bench
