// Every algorithm of the catalogue, and the problems that tests try it on.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "algorithm/catalogue.h"
#include "schedule/check_promise.h"

namespace weft::test {

using Subject = std::pair<const algorithm::Family*, const algorithm::Algorithm*>;

inline std::vector<Subject> everything() {
    std::vector<Subject> all;
    for (const algorithm::Family& family : algorithm::catalogue()) {
        for (const algorithm::Algorithm* known : family.algorithms) {
            all.emplace_back(&family, known);
        }
    }
    return all;
}

inline std::string subject_name(const testing::TestParamInfo<Subject>& test) {
    return std::string(test.param.first->name) + "_" + test.param.second->name;
}

inline std::string to_text(const Subject& subject, const algorithm::Problem& p) {
    return std::string(subject.first->name) + " " + subject.second->name +
           " p=" + std::to_string(p.ranks) + " root=" + std::to_string(p.root) +
           " bytes=" + std::to_string(p.bytes) +
           " segment=" + std::to_string(p.tuning.segment_bytes) +
           " window=" + std::to_string(p.tuning.window) + (p.in_place ? " in place" : "");
}

inline Promise promise_of(const algorithm::Family& family, const algorithm::Problem& p) {
    Result<Promise> promise = weft::promise_of(family.name, {.ranks = p.ranks,
                                                             .root = p.root,
                                                             .bytes = p.bytes,
                                                             .element_bytes = p.element_bytes,
                                                             .in_place = p.in_place});
    EXPECT_TRUE(promise.is_ok()) << last_detail();
    return *promise;
}

struct Grid {
    std::vector<Rank> ranks;
    bool any_root = true;  // false: the last rank only
    std::vector<std::int64_t> bytes;
    std::vector<algorithm::Tuning> tunings = {{}};
};

// Calls body(problem) for every problem of the grid that suits the algorithm, in place and not;
// elements have 8 bytes. Ends with the first fatal failure.
template <class Body>
void for_each_problem(const Subject& subject, const Grid& grid, Body body) {
    const algorithm::Family& family = *subject.first;
    algorithm::Problem p;
    p.element_bytes = 8;
    auto for_each_tuning = [&] {
        for (const algorithm::Tuning& tuning : grid.tunings) {
            p.tuning = tuning;
            for (bool in_place : {false, true}) {
                p.in_place = in_place;
                if (in_place && !family.has_in_place()) continue;
                body(p);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    };
    for (Rank ranks : grid.ranks) {
        p.ranks = ranks;
        const Rank roots = family.has_root ? ranks : 1;
        for (p.root = grid.any_root ? 0 : roots - 1; p.root < roots; ++p.root) {
            for (std::int64_t bytes : grid.bytes) {
                p.bytes = bytes;
                if (bytes > 0 && family.recv == algorithm::Blocks::none) continue;  // no data
                for_each_tuning();
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

}  // namespace weft::test
