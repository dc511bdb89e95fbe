// All algorithms of the catalogue, and the problems on which tests try them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/catalogue.h"
#include "base/random.h"
#include "lab/every_rank.h"
#include "schedule/postcondition.h"
#include "support/neighbors.h"
#include "support/surroundings.h"
#include "support/tori.h"

namespace weft::test {

using Subject = std::pair<const algorithm::CollectiveSpec*, const algorithm::Algorithm*>;

// A call on which an algorithm is tried.
struct Trial : algorithm::GlobalArgs {
    bool in_place = false;
    std::span<const std::int64_t> offsets = {};  // of blocks that differ
    std::string lies = "";  // the placement: on nodes, in a topology or on a torus

    // If blocks can differ: zero, one and two times `block` bytes in turn, the last rank's first, with
    // gaps. If the number of ranks is odd, zero to three times, at random.
    void make_differ(const algorithm::CollectiveSpec& spec, std::int64_t block) {
        sizes = offsets = {};
        local_block = block;
        is_alike = spec.sizes == algorithm::Sizes::uniform_per_rank;
        if (!spec.agrees_on_sizes()) bytes = -1;
        if (spec.sizes != algorithm::Sizes::known_to_all) return;
        struct Blocks {
            std::vector<std::int64_t> sizes;
            std::vector<std::int64_t> offsets;
        };
        static std::map<std::pair<Rank, std::int64_t>, Blocks> known;  // trials refer to them
        Blocks& blocks = known[{ranks, block}];
        if (blocks.sizes.empty()) {
            std::int64_t end = 0;
            for (Rank r = 0; r < ranks; ++r) {
                const auto factor = ranks % 2 == 0 ? (ranks - r) % 3 : random_factor(r, 0);
                blocks.sizes.push_back(block * factor);
                end += blocks.sizes.back() + gap;
            }
            for (Rank r = 0; r < ranks; ++r) {
                end -= blocks.sizes[static_cast<std::size_t>(r)] + gap;
                blocks.offsets.push_back(end);
            }
        }
        sizes = blocks.sizes;
        offsets = blocks.offsets;
        bytes = total_bytes() / ranks;
    }
    static constexpr std::int64_t gap = 8;
    std::int64_t local_block = 0;
    bool is_alike = false;  // on all ranks, even if they do not know it
    static std::int64_t random_factor(Rank from, Rank to) {
        return static_cast<std::int64_t>(
            Prng(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to)).below(4));
    }
    // How much one rank sends to another, if only these two know.
    std::int64_t amount(Rank from, Rank to) const {
        if (is_alike) return local_block;
        // In place both directions have equal sizes.
        if (ranks % 2 == 1) {
            const bool is_swapped = in_place && to < from;
            return local_block * (is_swapped ? random_factor(to, from) : random_factor(from, to));
        }
        return local_block * ((in_place ? from + to : ranks - from + 2 * std::int64_t{to}) % 3);
    }

    // How ranks are placed on nodes: all on one, round robin, in blocks of three, and at random on four nodes or on
    // many. Nodes share cores, which moves leaders, but for those of blocks: real nodes do not.
    static constexpr const char* placements[] = {"one", "in turn", "blocks", "any", "many"};
    // Some nodes have many ranks, and many have one.
    Rank random_node(Prng& random) const {
        const std::uint64_t most = 1 + random.below(static_cast<std::uint64_t>(ranks));
        return static_cast<Rank>(random.below(most));
    }
    void place_on_nodes(const char* way) {
        static std::map<std::pair<Rank, std::string>, Topology> known;  // trials refer to them
        std::vector<Rank> marks, cores;
        Prng random(static_cast<std::uint64_t>(ranks));
        for (Rank r = 0; r < ranks; ++r) {
            const std::string name = lies = way;
            marks.push_back(name == "in turn"  ? r % 2
                            : name == "blocks" ? r / 3
                            : name == "any"    ? static_cast<Rank>(random.below(4))
                            : name == "many"   ? random_node(random)
                                               : 0);
        }
        for (Rank r = 0; r < ranks && lies != "blocks"; ++r)
            cores.push_back(lies == "in turn" ? r / 2 % 2 : static_cast<Rank>(random.below(4)) - 1);
        topology = &known.try_emplace({ranks, way}, marks, cores).first->second;
    }

    // The neighbors of all ranks, and the library's form of them.
    struct Surroundings {
        Neighbors neighbors;
        std::vector<Neighborhood> for_library;
    };
    const Surroundings* neighbors = nullptr;
    void surround(const char* kind) {
        static std::map<std::pair<Rank, std::string>, Surroundings> known;  // trials refer to them
        Surroundings& made = known[{ranks, lies = kind}];
        if (made.for_library.empty()) {
            made.neighbors = test::neighbors(kind, ranks);
            made.for_library = made.neighbors.for_library();
        }
        neighbors = &made;
    }

    void place_on_torus(const Sizes& of) {
        static std::map<Sizes, Torus> known;  // trials refer to them
        torus = &known.try_emplace(of, of).first->second;
        lies = test::to_text(of);
    }

    // In how many ways the ranks of such a call can be placed, and one of these ways.
    std::size_t ways(const Subject& subject) const {
        if (subject.first->is_among_neighbors()) return std::size(neighbor_kinds);
        if (subject.second->needs.torus) return tori(ranks).size();
        return subject.second->follows_topology ? std::size(placements) : 1;
    }
    void lie(const Subject& subject, std::size_t way) {
        if (subject.first->is_among_neighbors())
            surround(neighbor_kinds[way]);
        else if (subject.second->needs.torus)
            place_on_torus(tori(ranks)[way]);
        else if (subject.second->follows_topology)
            place_on_nodes(placements[way]);
    }
};

inline std::vector<Subject> everything() {
    std::vector<Subject> all;
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        for (const algorithm::Algorithm* known : spec.algorithms) {
            all.emplace_back(&spec, known);
        }
    }
    return all;
}

inline std::string subject_name(const testing::TestParamInfo<Subject>& test) {
    return std::string(test.param.first->name) + "_" + test.param.second->name;
}

inline std::string to_text(const Subject& subject, const Trial& p) {
    return std::string(subject.first->name) + " " + subject.second->name +
           " p=" + std::to_string(p.ranks) + " root=" + std::to_string(p.root) +
           " bytes=" + std::to_string(p.bytes) +
           " segment=" + std::to_string(p.tuning.segment_bytes) +
           " window=" + std::to_string(p.tuning.window.value_or(0)) +
           " ports=" + std::to_string(p.tuning.ports) + (p.tuning.throttle ? " throttled" : "") +
           (p.tuning.inner ? std::string(" inner=") + p.tuning.inner->name : "") +
           (p.tuning.leaders > 0 ? " leaders=" + std::to_string(p.tuning.leaders) : "") +
           (p.reproducible  ? " reproducible"
            : p.commutative ? ""
                            : " ordered") +
           (p.in_place ? " in place" : "") + (p.lies.empty() ? "" : " lies=" + p.lies);
}

inline EveryRank every_rank(const algorithm::CollectiveSpec& spec, const Trial& trial) {
    return EveryRank(
        spec, trial, trial.in_place, trial.offsets,
        [&](Rank from, Rank to, std::size_t block) {
            const bool has_edges = spec.send.root == algorithm::Blocks::neighbors &&
                                   spec.sizes == algorithm::Sizes::rank_local;
            return trial.amount(from, to) * (has_edges ? edge_factor(static_cast<int>(block)) : 1);
        },
        Trial::gap,
        trial.neighbors ? trial.neighbors->for_library : std::span<const Neighborhood>{});
}

inline Postcondition promise_of(const algorithm::CollectiveSpec& spec, const Trial& trial) {
    return spec.promise_of(every_rank(spec, trial).problems());
}

inline Result<std::vector<Schedule>> build_all(const Subject& subject, const Trial& trial) {
    return algorithm::build_all(*subject.second, every_rank(*subject.first, trial).problems());
}

// Large numbers of ranks: all of them if all tests run. Otherwise 64 and one more, which differs between algorithms and
// with WEFT_TEST_TURN, which ./dev test takes from the commit. The largest are chosen less often, and never if every
// rank has a block for every other: then the checker takes up to a minute.
inline std::vector<Rank> large_ranks(const Subject& subject) {
    if (runs_all()) return {64, 100, 127, 128, 255, 256, 257};
    static constexpr Rank in_turn[] = {100, 127, 128, 255, 100, 127, 128, 256};
    const std::vector<Subject> all = everything();
    const auto number = static_cast<std::size_t>(std::ranges::find(all, subject) - all.begin());
    const bool is_alltoall = subject.first->send.others == algorithm::Blocks::all &&
                             subject.first->recv.others == algorithm::Blocks::all;
    const std::size_t turns = is_alltoall ? 3 : std::size(in_turn);
    return {64, in_turn[(number + test_turn()) % turns]};
}

struct Grid {
    std::vector<Rank> ranks;
    bool any_root = true;  // false: the last rank only
    // With more ranks only the first, the middle, the last, and one that WEFT_TEST_TURN chooses.
    Rank all_roots_ranks = 1024;
    bool all_kinds =
        true;  // false: only one suitable combination of in place or not, commutative or not
    std::vector<std::int64_t> bytes;
    std::vector<algorithm::Tuning> pipelines = {{}};  // for algorithms with segments
    std::uint32_t ports_max = 4;                      // for algorithms with ports
};

// The tunings of the grid that the algorithm follows. Unless all tests run, leaders exchange by one of several
// algorithms in turn, and by the usual one.
inline std::vector<algorithm::Tuning> tunings(const Subject& subject, const Grid& grid,
                                              Rank ranks) {
    const algorithm::Algorithm& known = *subject.second;
    if (known.tunes == algorithm::Tunes::segments) return grid.pipelines;
    std::vector<algorithm::Tuning> all(1);
    while (known.tunes == algorithm::Tunes::ports && all.size() < grid.ports_max) {
        all.push_back(all.back());
        ++all.back().ports;
    }
    if (known.tunes == algorithm::Tunes::throttle) {
        all.push_back(all.back());
        all.back().throttle = true;
    }
    while (known.tunes == algorithm::Tunes::groups && all.size() <= 3)
        all.push_back(algorithm::Tuning{.leaders = static_cast<std::uint32_t>(all.size())});
    if (!known.follows_inner()) return all;
    const std::vector<const algorithm::Algorithm*> flat = subject.first->flat_algorithms();
    for (std::size_t i = 0; i < flat.size(); ++i) {
        if (!runs_all() && i != static_cast<std::size_t>(ranks) % flat.size()) continue;
        all.push_back(algorithm::Tuning{.inner = flat[i]});
        if (known.tunes == algorithm::Tunes::leaders)
            all.back().leaders = static_cast<std::uint32_t>(1 + (i + 1) % 3);
    }
    return all;
}

// Calls body(trial) for every call of the grid that suits the algorithm, in place and not, for
// operations that commute and do not, and reproducible. Elements have 8 bytes. Ends at the first fatal failure.
template <class Body>
void for_each_problem(const Subject& subject, const Grid& grid, Body body) {
    const algorithm::CollectiveSpec& spec = *subject.first;
    Trial p;
    p.element_bytes = 8;
    auto for_each_kind = [&] {
        for (int kind = 0; kind < 6; ++kind) {
            p.in_place = kind % 2 == 1;
            p.commutative = kind < 2;
            p.reproducible = kind >= 4;
            if (p.in_place && !spec.has_in_place()) continue;
            if (!p.commutative && !spec.reduces) continue;
            if (!subject.second->unmet_need(p).empty()) continue;
            body(p);
            if (testing::Test::HasFatalFailure() || !grid.all_kinds) return;
        }
    };
    for (Rank ranks : grid.ranks) {
        p.ranks = ranks;
        const std::size_t ways = p.ways(subject);
        const Rank roots = spec.has_root ? ranks : 1;
        for (p.root = grid.any_root ? 0 : roots - 1; p.root < roots; ++p.root) {
            const bool is_end = p.root == 0 || p.root == roots - 1 || p.root == roots / 2;
            const bool has_turn =
                p.root == static_cast<Rank>(test_turn() % static_cast<std::size_t>(roots));
            if (ranks > grid.all_roots_ranks && !is_end && !has_turn) continue;
            for (std::size_t i = 0; i < ways * grid.bytes.size(); ++i) {
                const std::int64_t bytes = p.bytes = grid.bytes[i / ways];
                p.lie(subject, i % ways);
                p.make_differ(spec, bytes);
                if (bytes > 0 && !spec.has_data()) continue;
                for (const algorithm::Tuning& tuning : tunings(subject, grid, ranks)) {
                    p.tuning = tuning;
                    for_each_kind();
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }
}

}  // namespace weft::test
