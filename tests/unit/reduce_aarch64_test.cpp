// The loops of 16-bit and complex elements and of int8 blocks give the bits on aarch64 that they give here: compiled for it,
// and run by an emulator.
#include "support/pattern.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::reduce_aarch64_test {

using Hashes = std::map<std::string, std::string>;  // by version and loop

Hashes hashes_of(const std::string& compiler, const std::string& emulator) {
    const Folder folder;
    const std::string source = WEFT_SOURCE_DIR;
    std::string sources = source + "/tests/unit/programs/loop_hashes.cpp";
    for (const char* file : {"kernels", "half_kernels", "complex_kernels", "int8_blocks"})
        sources += " " + source + "/src/reduce/" + file + ".cpp";
    const Finished compiled =
        run("'" + compiler + "' -std=c++20 -O3 -ffp-contract=off -static -I '" + source +
            "/src' -I '" + source + "/include' " + sources + " -o " + (folder / "hashes"));
    EXPECT_EQ(compiled.status, 0) << compiled.err;
    const Finished done = run("timeout 300 " + emulator + " " + (folder / "hashes"));
    EXPECT_EQ(done.status, 0) << done.err;
    Hashes hashes;
    for (const auto& line : matches_in(done.out, "([^ \n]+ [^ \n]+) ([0-9a-f]+)\n"))
        hashes.emplace(line[1], line[2]);
    return hashes;
}

TEST(ReduceAarch64, HasTheBitsOfThisProcessorInAllVersions) {
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    if (run("command -v aarch64-linux-gnu-g++ && command -v qemu-aarch64").status != 0) {
        GTEST_SKIP() << "no aarch64-linux-gnu-g++ or no qemu-aarch64 (Debian's packages "
                        "g++-aarch64-linux-gnu and qemu-user)";
    }
    const Hashes here = hashes_of(WEFT_CXX_COMPILER, "env");
    const Hashes there = hashes_of("aarch64-linux-gnu-g++", "qemu-aarch64");
    EXPECT_EQ(there.size(), 2 * here.size());
    for (const auto& [loop, hash] : there) {
        const std::string portable = "portable" + loop.substr(loop.find(' '));
        EXPECT_EQ(hash, here.count(portable) > 0 ? here.at(portable) : "none") << loop;
    }
}

}  // namespace weft::test::reduce_aarch64_test
