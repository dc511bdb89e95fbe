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

}  // namespace weft::test::symbols_test
