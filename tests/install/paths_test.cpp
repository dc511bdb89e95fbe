// The paths that CONTRIBUTING.md names exist.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/pattern.h"
#include "support/process.h"

namespace weft::test::paths_test {

TEST(Contributing, NamesFilesThatExist) {
    const std::string text = content(WEFT_SOURCE_DIR "/CONTRIBUTING.md");
    int paths = 0;
    for (const Match& path :
         matches_in(text, "`((src|include|tests|tools|bench|docs|cmake|python)/[^`]*)`")) {
        const std::string& name = path[1];
        if (name.find_first_of("<{*") != std::string::npos) continue;  // a pattern
        EXPECT_TRUE(std::filesystem::exists(WEFT_SOURCE_DIR "/" + name)) << name;
        ++paths;
    }
    EXPECT_GT(paths, 20);
}

}  // namespace weft::test::paths_test
