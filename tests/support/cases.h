// Cases of the specifications: every algorithm, number of ranks, seed; and the line that repeats
// one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "select/select.h"
#include "support/guarded.h"
#include "support/surroundings.h"
#include "support/tori.h"
#include "support/world.h"

namespace weft::test {

struct Case {
    std::string algorithm;  // as a setting: "bruck:ports=3"
    Rank ranks = 1;
    Rank root = 0;
    std::size_t count = 0;
    bool in_place = false;
    std::uint64_t seed = 0;

    std::string text() const {
        char line[160];
        std::snprintf(line, sizeof line, "%s p=%d root=%d count=%zu in_place=%d seed=0x%llx",
                      algorithm.c_str(), ranks, root, count, in_place,
                      static_cast<unsigned long long>(seed));
        return line;
    }
};

// The case named by WEFT_CASE ("./dev test bcast --case '...'"), if any.
inline bool chosen_case(Case& c) {
    const char* text = std::getenv("WEFT_CASE");
    if (!text) return false;
    char name[64];
    int ranks = 0;
    int root = 0;
    int in_place = 0;
    unsigned long long seed = 0;
    int fields = std::sscanf(text, "%63s p=%d root=%d count=%zu in_place=%d seed=%llx", name,
                             &ranks, &root, &c.count, &in_place, &seed);
    EXPECT_EQ(fields, 6) << "WEFT_CASE='" << text
                         << "'; expected 'NAME p=N root=N count=N in_place=0|1 seed=0xN'";
    c.algorithm = name;
    c.ranks = ranks;
    c.root = root;
    c.in_place = in_place != 0;
    c.seed = seed;
    return fields == 6;
}

// Seeds for each number of ranks: WEFT_SEEDS, or 100; more in a run of all tests.
inline std::uint64_t seeds() {
    const char* text = std::getenv("WEFT_SEEDS");
    if (text) return std::strtoull(text, nullptr, 10);
    return runs_all() ? 500 : 100;
}

inline const std::vector<Rank>& rank_counts() {
    static const std::vector<Rank> counts{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17};
    return counts;
}

// The setting that forces an algorithm, with segments small enough that pipelines have several, and with a number of
// ports that follows from the seed; none: the algorithm does not support such calls.
inline std::optional<std::string> setting(const algorithm::CollectiveSpec& spec,
                                          const algorithm::Algorithm& known,
                                          algorithm::GlobalArgs size, std::uint64_t seed) {
    std::string text = known.name;
    if (known.tunes == algorithm::Tunes::segments) text += ":segment=64,window=3";
    if (known.tunes == algorithm::Tunes::ports) {
        size.tuning.ports = static_cast<std::uint32_t>(1 + seed % 4);
        text += ":ports=" + std::to_string(size.tuning.ports);
    }
    if (known.tunes == algorithm::Tunes::throttle && seed % 2 == 1) text += ":throttle=1";
    if (known.follows_inner() && seed % 2 == 1) {
        const std::vector<const algorithm::Algorithm*> flat = spec.flat_algorithms();
        size.tuning.inner = flat[seed / 2 % flat.size()];
        text += std::string(":inner=") + size.tuning.inner->name;
    }
    if (known.follows_leaders() && seed % 2 == 1) {
        size.tuning.leaders = static_cast<std::uint32_t>(1 + seed % 3);
        text += (known.follows_inner() ? ",leaders=" : ":leaders=") +
                std::to_string(size.tuning.leaders);
    }
    if (!known.unmet_need(size).empty()) return std::nullopt;
    return text;
}

// Runs `body(Case)` for every algorithm of the collective, number of ranks and seed; root, count,
// and in place follow from the seed. Stops at the first failure and prints the line that repeats
// it. `kind`: the operation's, if there is one.
template <class Body>
void for_all_cases(Collective collective, Body body, const algorithm::GlobalArgs& kind = {}) {
    const algorithm::CollectiveSpec& spec = algorithm::spec_of(collective);
    auto run = [&](const Case& c) {
        body(c);
        if (!testing::Test::HasFailure()) return true;
        std::fprintf(stderr, "repeat with: ./dev test %s --case \"%s\"\n", spec.name,
                     c.text().c_str());
        return false;
    };
    if (Case c; chosen_case(c)) {
        run(c);
        return;
    }
    static const std::size_t sizes[] = {0, 1, 7, 64, 1000};
    std::uint64_t cases = 0;
    for (const algorithm::Algorithm* known : spec.algorithms) {
        for (Rank ranks : rank_counts()) {
            algorithm::GlobalArgs size = kind;
            size.ranks = ranks;
            const Torus torus(squarest_torus(ranks));  // World's
            size.torus = &torus;
            for (std::uint64_t i = 0; i < seeds(); ++i) {
                const Topology nodes(nodes_of(ranks, i));
                size.topology = &nodes;
                const std::optional<std::string> text = setting(spec, *known, size, i);
                if (!text) continue;
                Prng random(i * 1000003 + static_cast<std::uint64_t>(ranks));
                Case c;
                c.algorithm = *text;
                c.ranks = ranks;
                c.root = static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks)));
                c.count = sizes[random.below(std::size(sizes))];
                c.in_place = random.one_in(2);
                c.seed = i;
                if (!run(c)) return;
                ++cases;
            }
        }
    }
    testing::Test::RecordProperty("cases", std::to_string(cases));
    EXPECT_GT(cases, 0u);
}

// Settings that force the case's algorithm.
inline CommunicatorSettings forced(Collective collective, const Case& c) {
    CommunicatorSettings settings;
    Status status = settings.selector.force(collective, c.algorithm);
    EXPECT_TRUE(status.is_ok()) << last_detail();
    return settings;
}

// Simulation options that follow from the seed, including busy answers and immediate completions.
inline SimOptions sim_options(std::uint64_t seed) {
    SimOptions options;
    options.buffering = static_cast<Buffering>(seed % 3);
    options.busy_one_in = seed % 4 == 0 ? 5 : 0;
    options.done_at_once = seed % 2 == 0;
    return options;
}

// Element i of the rank's contribution; different for every rank, index and seed.
inline std::int32_t input(Rank rank, std::size_t i, std::uint64_t seed) {
    return static_cast<std::int32_t>(
        Prng(seed * 7919 + static_cast<std::uint64_t>(rank) * 1000003 + i).next() >> 33);
}

// Affine maps x -> a x + b modulo 2^16, packed; composition does not commute.
inline void compose(const void* in, void* inout, size_t count, weft_type, void*) {
    const auto* left = static_cast<const std::uint32_t*>(in);
    auto* right = static_cast<std::uint32_t*>(inout);
    for (size_t i = 0; i < count; ++i) {
        std::uint32_t a = (left[i] >> 16) * (right[i] >> 16) & 0xffff;
        std::uint32_t b = ((left[i] >> 16) * (right[i] & 0xffff) + (left[i] & 0xffff)) & 0xffff;
        right[i] = a << 16 | b;
    }
}

// Element i of all ranks' contributions, composed in rank order.
inline std::uint32_t composition(const Case& c, std::size_t i) {
    auto result = static_cast<std::uint32_t>(input(c.ranks - 1, i, c.seed));
    for (Rank rank = c.ranks - 2; rank >= 0; --rank) {
        const auto left = static_cast<std::uint32_t>(input(rank, i, c.seed));
        compose(&left, &result, 1, WEFT_UINT32, nullptr);
    }
    return result;
}

}  // namespace weft::test
