// The compiler vectorises the reduction kernels: asks it to compile them and to say what it did.
#include <unistd.h>

#include "support/test.h"

namespace weft::reduce_vectorised_test {

// By kernel, "int, Sum": whether GCC's dump of its vectoriser says that the loop was vectorised.
std::map<std::string, bool> kernels_in(const std::filesystem::path& dump) {
    std::map<std::string, bool> kernels;
    std::ifstream file(dump);
    std::string kernel;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(";; Function")) {
            std::size_t begin = line.find("combine<");
            std::size_t end = line.find("> (", begin);
            kernel.clear();
            if (begin == line.npos || end == line.npos) continue;
            kernel = line.substr(begin + 8, end - begin - 8);
            std::size_t scope = kernel.rfind("::");
            std::size_t comma = kernel.find(',');
            kernel = kernel.substr(0, comma) + ", " + kernel.substr(scope + 2);
            kernels.emplace(kernel, false);
        } else if (!kernel.empty() && line.find("loop vectorized") != line.npos) {
            kernels[kernel] = true;
        }
    }
    return kernels;
}

TEST(ReduceVectorised, SumProductMinMaxAndBitwise) {
#if !defined(__x86_64__) && !defined(__aarch64__)
    GTEST_SKIP() << "vector instructions are not part of every machine of this kind";
#endif
    const std::string compiler = WEFT_CXX_COMPILER;
    if (std::system(("'" + compiler + "' --version 2>&1 | grep -q 'Free Software'").c_str()) != 0) {
        GTEST_SKIP() << compiler << " is not GCC here";
    }
    const std::string source = WEFT_SOURCE_DIR;
    const std::filesystem::path dump =
        std::filesystem::temp_directory_path() / ("weft-vect-" + std::to_string(getpid()));
    const std::string command =
        "timeout 60 '" + compiler + "' -std=c++20 -O3 -fPIC -I'" + source + "/src' -I'" + source +
        "/include' -c '" + source +
        "/src/reduce/kernels.cpp' -o /dev/null -fdump-tree-vect-optimized='" + dump.string() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    const std::map<std::string, bool> kernels = kernels_in(dump);
    std::filesystem::remove(dump);

    for (const char* type : {"int", "float", "double"}) {
        for (const char* op : {"Sum", "Prod", "Min", "Max"}) {
            auto kernel = kernels.find(std::string(type) + ", " + op);
            ASSERT_NE(kernel, kernels.end()) << type << ' ' << op << " is not in the dump";
            EXPECT_TRUE(kernel->second) << type << ' ' << op << " is not vectorised";
        }
    }
    for (const char* type : {"int", "long int"}) {
        for (const char* op : {"Sum", "BitAnd", "BitOr", "BitXor"}) {
            auto kernel = kernels.find(std::string(type) + ", " + op);
            ASSERT_NE(kernel, kernels.end()) << type << ' ' << op << " is not in the dump";
            EXPECT_TRUE(kernel->second) << type << ' ' << op << " is not vectorised";
        }
    }
}

}  // namespace weft::reduce_vectorised_test
