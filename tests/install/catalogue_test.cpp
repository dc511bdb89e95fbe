// Every collective of the catalogue is there for users: declared for C and C++, measured, documented,
// and known to the tests' reference.
#include <gtest/gtest.h>

#include <regex>

#include "algorithm/catalogue.h"
#include "base/engine_kind.h"
#include "support/process.h"

namespace weft::test::catalogue_test {

struct Appearance {
    const char* file;
    // What stands there: $ is the collective's name.
    std::vector<const char*> texts;
    bool has_neighbors = true;  // also of collectives among neighbors
};

const Appearance appearances[] = {
    {"include/weft/collective.h", {" weft_i$(", " weft_$(", " weft_$_init("}},
    {"src/c_api/collectives.def", {"\nCOLLECTIVE($, "}},
    {"include/weft/weft.hpp", {" WEFT_FORMS($, "}},
    {"bench/collective/list.cpp", {" i$;", "&i$,"}, /*has_neighbors=*/false},
    {"tests/support/reference.cpp", {"{\"$\","}},
    {"tests/support/random/program.h", {"{\"$\","}},
    {"tests/conformance/cpp_program.cpp", {".i$("}},
    {"tests/conformance/refused_test.cpp", {"\"weft_i$\"", "\"weft_$\"", "\"weft_$_init\""}},
};

// Name every collective.
const char* const lists[] = {"docs/using.md", "docs/man/weft-schedule.1", "CHANGELOG.md"};

TEST(Catalogue, IsEverywhere) {
    for (const Appearance& place : appearances) {
        const std::string text = content(std::string(WEFT_SOURCE_DIR "/") + place.file);
        ASSERT_FALSE(text.empty()) << place.file;
        for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
            if (spec.is_among_neighbors() && !place.has_neighbors) continue;
            for (std::string wanted : place.texts) {
                wanted.replace(wanted.find('$'), 1, spec.name);
                EXPECT_NE(text.find(wanted), std::string::npos)
                    << place.file << " has no '" << wanted << "'";
            }
        }
    }
}

TEST(Catalogue, IsInTheListsForUsers) {
    for (const char* file : lists) {
        const std::string text = content(std::string(WEFT_SOURCE_DIR "/") + file);
        for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
            const std::regex word(std::string("\\b") + spec.name + "\\b");
            EXPECT_TRUE(std::regex_search(text, word)) << file << " has no '" << spec.name << "'";
        }
    }
}

TEST(Catalogue, UsersReadAboutEveryEngine) {
    const std::string text = content(WEFT_SOURCE_DIR "/docs/using.md");
    for (const EngineTraits& engine : engine_list) {
        if (engine.is_hidden) continue;
        EXPECT_NE(text.find(std::string("\n| `") + engine.name + "`"), std::string::npos)
            << engine.name;
    }
}

}  // namespace weft::test::catalogue_test
