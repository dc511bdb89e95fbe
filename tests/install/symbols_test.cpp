// libweft.so exports what cmake/symbols.txt lists: a name that appears or goes is reviewed.
#include <gtest/gtest.h>

#include <fstream>

#include "support/process.h"

namespace weft::test::symbols_test {

TEST(Symbols, AreTheReviewedOnes) {
    const Finished nm = run(WEFT_NM " -D --defined-only " WEFT_BUILD_DIR
                                    "/libweft.so | sed 's/.* //' | LC_ALL=C sort");
    ASSERT_EQ(nm.status, 0) << nm.err;
    const Folder folder;
    std::ofstream(folder / "exported") << nm.out;
    const Finished difference =
        run("diff " WEFT_SOURCE_DIR "/cmake/symbols.txt " + (folder / "exported"));
    EXPECT_EQ(difference.status, 0)
        << "libweft.so (>) does not export what cmake/symbols.txt (<) lists:\n"
        << difference.out << difference.err
        << "If that is meant, ./dev symbols writes the list anew; a name that is gone or changed "
           "breaks programs that were linked before.";
}

// Linked statically, as in the wheel, the C++ library's streams and locales would add a megabyte.
TEST(Symbols, OfStreamsAreNotUsed) {
    const Finished nm =
        run(WEFT_NM " -D --undefined-only " WEFT_BUILD_DIR
                    "/libweft.so | grep -E 'St8ios_base|basic_[io]?f?stream|St6locale'");
    EXPECT_EQ(nm.out, "")
        << "expected texts to be read by base/first_line.h, take_until() and parse_ints()";
}

// Settings for tests are in one file, and only builds for tests have them. (libweft.so of this build,
// and that file as other builds compile it.)
TEST(Hooks, OfTestsAreNotInTheLibraryThatIsShipped) {
    const std::string hook = "WEFT_HOOK_";
    EXPECT_EQ(content(WEFT_BUILD_DIR "/libweft.so").find(hook) != hook.npos, WEFT_TEST_HOOKS != 0);
    const Finished files = run("cd " WEFT_SOURCE_DIR " && grep -rl " + hook + " src include");
    EXPECT_EQ(files.out, "src/base/setting.cpp\nsrc/base/setting.h\n");
    const Folder folder;
    const std::string object = folder / "setting.o";
    for (const bool has_hooks : {false, true}) {
        const Finished compiler =
            run("cd " WEFT_SOURCE_DIR " && " WEFT_CXX_COMPILER " -std=c++20 -I include -I src " +
                std::string(has_hooks ? "-DWEFT_TEST_HOOKS=1 " : "") +
                "-c src/base/setting.cpp -o " + object);
        ASSERT_EQ(compiler.status, 0) << compiler.err;
        EXPECT_EQ(content(object).find(hook) != hook.npos, has_hooks);
    }
}

// The library is built as it is shipped unless a preset for tests says otherwise.
TEST(Hooks, AreOffUnlessAPresetForTestsHasThem) {
    EXPECT_TRUE(contains(content(WEFT_SOURCE_DIR "/CMakeLists.txt"),
                         "only its tests use (WEFT_HOOK_*)\" OFF)"));
    const std::string presets = content(WEFT_SOURCE_DIR "/CMakePresets.json");
    const std::size_t release = presets.find("\"name\": \"release\"");
    ASSERT_NE(release, presets.npos);
    const std::size_t next = presets.find("\"name\": \"asan\"");
    EXPECT_EQ(presets.substr(release, next - release).find("WEFT_TEST_HOOKS"), presets.npos);
}

}  // namespace weft::test::symbols_test
