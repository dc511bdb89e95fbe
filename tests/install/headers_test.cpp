// Each public header compiles by itself, and twice, as strict C99 and as C++20, without a warning.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/pattern.h"
#include "support/process.h"

namespace weft::test::headers_test {

const std::string strict =
    " -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only -I" WEFT_SOURCE_DIR
    "/include ";

class Headers : public testing::TestWithParam<std::string> {
  protected:
    void expect_compiles(const std::string& compiler, const std::string& suffix) {
        const Folder folder;
        const std::string file = folder / ("alone." + suffix);
        const std::string include = "#include <weft/" + GetParam() + ">\n";
        std::ofstream(file) << include << include << "int weft_has_been_included;\n";
        const Finished done = run(compiler + strict + file);
        EXPECT_EQ(done.status, 0) << done.err;
    }
};

std::vector<std::string> headers() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/include/weft")) {
        // mpi.h needs an MPI's compiler: tests/mpi compiles it.
        const std::string name = entry.path().filename();
        if (name != "mpi.h") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

TEST_P(Headers, CompilesAloneAsC99) {
    if (GetParam().ends_with(".hpp")) GTEST_SKIP() << "a header for C++";
    expect_compiles(WEFT_C_COMPILER " -std=c99", "c");
}

TEST_P(Headers, CompilesAloneAsCxx20) { expect_compiles(WEFT_CXX_COMPILER " -std=c++20", "cpp"); }

// With an older standard the C headers compile, and those for C++20 say what they need, and nothing else.
TEST_P(Headers, CompilesAsCxx17OrSaysWhatItNeeds) {
    if (!GetParam().ends_with(".hpp"))
        return expect_compiles(WEFT_CXX_COMPILER " -std=c++17", "cpp");
    const Folder folder;
    const std::string file = folder / "old.cpp";
    std::ofstream(file) << "#include <weft/" << GetParam()
                        << ">\nint main() { return weft::Communicator::world().rank(); }\n";
    const Finished done = run(WEFT_CXX_COMPILER " -std=c++17" + strict + file);
    EXPECT_NE(done.status, 0);
    const std::vector<Match> errors = matches_in(done.err, " error: ([^\n]*)");
    ASSERT_EQ(errors.size(), 1u) << done.err;
    EXPECT_TRUE(contains(errors[0][1], "weft.hpp needs C++20 (-std=c++20)"));
}

INSTANTIATE_TEST_SUITE_P(Public, Headers, testing::ValuesIn(headers()), [](const auto& header) {
    std::string name = header.param;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
});

}  // namespace weft::test::headers_test
