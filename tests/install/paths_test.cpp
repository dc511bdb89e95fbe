// The paths that CONTRIBUTING.md names exist.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/tools/process.h"

namespace weft::test {
namespace {

TEST(Contributing, NamesFilesThatExist) {
    const std::string text = content(WEFT_SOURCE_DIR "/CONTRIBUTING.md");
    const std::regex path("`((src|include|tests|tools|bench|docs|cmake)/[^`]*)`");
    int paths = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), path), end; at != end; ++at) {
        const std::string name = (*at)[1];
        if (name.find_first_of("<{*") != std::string::npos) continue;  // a pattern
        EXPECT_TRUE(std::filesystem::exists(WEFT_SOURCE_DIR "/" + name)) << name;
        ++paths;
    }
    EXPECT_GT(paths, 20);
}

}  // namespace
}  // namespace weft::test
