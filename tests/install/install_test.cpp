// What `cmake --install` promises: programs outside of this tree find Weft with CMake or pkg-config
// and run, also after the prefix was moved.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/process.h"

namespace weft::test::install_test {

const std::string outside = WEFT_SOURCE_DIR "/tests/install/outside";

void expect_done(const std::string& command) {
    const Finished done = run(command);
    EXPECT_EQ(done.status, 0) << command << "\n" << done.out << done.err;
}

// Installs once, and moves it: whatever still knows the first place fails.
class Install : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        folder_ = new Folder;
        const std::string first = *folder_ / "first";
        prefix_ = *folder_ / "moved here";
        expect_done(WEFT_CMAKE " --install " WEFT_BUILD_DIR " --prefix " + first);
        std::filesystem::rename(first, prefix_);
    }
    static void TearDownTestSuite() { delete folder_; }

    // lib or, say, lib64.
    static std::string find(const std::string& name) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(prefix_)) {
            if (entry.path().filename() == name) return entry.path().string();
        }
        ADD_FAILURE() << name << " is not installed";
        return "";
    }
    static std::string folder_of(const std::string& name) {
        return std::filesystem::path(find(name)).parent_path().string();
    }

    static bool has_fibers() { return std::filesystem::exists(WEFT_BUILD_DIR "/libweft_fiber.so"); }

    // Runs a built program alone and, where the program weft is installed, as two ranks.
    static void expect_sums(const std::string& program) {
        const std::string libraries =
            "LD_LIBRARY_PATH='" + folder_of("libweft.so.0") + "':$LD_LIBRARY_PATH ";
        const Finished alone = run(libraries + program);
        EXPECT_EQ(alone.out, "sum 1\n") << alone.err;
        EXPECT_EQ(alone.status, 0);
        if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) return;
        const Finished two = run(libraries + "'" + prefix_ + "/bin/weft" + "' run -n 2 " + program);
        EXPECT_EQ(two.out, "sum 3\n") << two.err;
        EXPECT_EQ(two.status, 0);
    }

    static inline Folder* folder_ = nullptr;
    static inline std::string prefix_;
};

TEST_F(Install, CMakeFindsThePackage) {
    const std::string build = *folder_ / "build";
    expect_done(WEFT_CMAKE " -S " + outside + " -B " + build +
                " -G '" WEFT_GENERATOR "' -DCMAKE_MAKE_PROGRAM=" WEFT_MAKE_PROGRAM
                " -DCMAKE_C_COMPILER=" WEFT_C_COMPILER " -DCMAKE_CXX_COMPILER=" WEFT_CXX_COMPILER
                " '-DCMAKE_C_FLAGS=" WEFT_C_FLAGS "' '-DCMAKE_CXX_FLAGS=" WEFT_CXX_FLAGS
                "' '-DCMAKE_PREFIX_PATH=" +
                prefix_ + "' -DWEFT_VERSION_WANTED=" WEFT_VERSION);
    expect_done(WEFT_CMAKE " --build " + build);
    expect_sums(build + "/sum_c");
    expect_sums(build + "/sum_cpp");
    expect_sums(build + "/sum_cpp_by_default");
    if (has_fibers()) expect_sums(build + "/sum_fibers");
}

TEST_F(Install, CMakeRefusesAnotherVersion) {
    const Finished other = run(WEFT_CMAKE " -S " + outside + " -B " + (*folder_ / "other") +
                               " -G '" WEFT_GENERATOR "' -DCMAKE_MAKE_PROGRAM=" WEFT_MAKE_PROGRAM
                               " -DCMAKE_C_COMPILER=" WEFT_C_COMPILER
                               " -DCMAKE_CXX_COMPILER=" WEFT_CXX_COMPILER " '-DCMAKE_PREFIX_PATH=" +
                               prefix_ + "' -DWEFT_VERSION_WANTED=1000");
    EXPECT_NE(other.status, 0);
    EXPECT_TRUE(contains(other.err, "requested version \"1000\""));
}

TEST_F(Install, PkgConfigFindsThePackage) {
    if (run("pkg-config --version").status != 0) GTEST_SKIP() << "pkg-config is not installed";
    const std::string ask = "PKG_CONFIG_PATH='" + folder_of("weft.pc") + "' pkg-config ";
    EXPECT_EQ(run(ask + "--modversion weft").out, WEFT_VERSION "\n");
    // eval: a path with blanks comes quoted for a shell.
    const std::string flags = "$(" + ask + "--cflags --libs weft)";
    const std::string warnings = " -Wall -Wextra -Wpedantic -Werror ";
    const std::string c = *folder_ / "by_pkg_config_c";
    const std::string cpp = *folder_ / "by_pkg_config_cpp";
    expect_done("eval \"" WEFT_C_COMPILER " " WEFT_C_FLAGS " -std=c99" + warnings + outside +
                "/sum.c -o " + c + " " + flags + "\"");
    expect_done("eval \"" WEFT_CXX_COMPILER " " WEFT_CXX_FLAGS " -std=c++20" + warnings + outside +
                "/sum.cpp -o " + cpp + " " + flags + "\"");
    expect_sums(c);
    expect_sums(cpp);
    if (!has_fibers()) return;
    const std::string fibers = *folder_ / "by_pkg_config_fibers";
    expect_done("eval \"" WEFT_CXX_COMPILER " " WEFT_CXX_FLAGS " -std=c++20" + warnings + outside +
                "/sum_fibers.cpp -o " + fibers + " $(" + ask + "--cflags --libs weft_fiber)\"");
    expect_sums(fibers);
}

TEST_F(Install, HoldsEveryPublicHeaderAndTheLicence) {
    for (const std::string folder : {"/include/weft", "/compat/nbc/weft"}) {
        for (const auto& header : std::filesystem::directory_iterator(WEFT_SOURCE_DIR + folder)) {
            const std::string name = header.path().filename();
            EXPECT_EQ(content(prefix_ + "/include/weft/" + name), content(header.path()));
        }
    }
    EXPECT_EQ(content(prefix_ + "/include/nbc.h"), content(WEFT_SOURCE_DIR "/compat/nbc/nbc.h"));
    EXPECT_EQ(content(find("LICENSE")), content(WEFT_SOURCE_DIR "/LICENSE"));
}

TEST_F(Install, HoldsTheDocumentsWhereReadmeLooksForThem) {
    const std::string readme = find("README.md");
    EXPECT_EQ(content(readme), content(WEFT_SOURCE_DIR "/README.md"));
    const std::string docs = std::filesystem::path(readme).parent_path() / "docs";
    std::size_t pages = 0;
    for (const std::string folder : {"", "/algorithms"}) {  // below it, the drawings of a page
        for (const auto& page :
             std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/docs" + folder)) {
            if (page.is_directory()) continue;
            const std::string name = page.path().filename();
            EXPECT_EQ(content(docs + folder + "/" + name), content(page.path())) << name;
            ++pages;
        }
    }
    EXPECT_GE(pages, 40u);
}

// A part is looked for beside the library that is preloaded.
TEST_F(Install, HoldsTheLibraryForMpiProgramsAndItsParts) {
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/libweft_mpi.so")) GTEST_SKIP() << "not built";
    const std::string folder = folder_of("libweft_mpi.so");
    for (const std::string part : {"mpich", "openmpi", "abi"}) {
        const std::string name = "weft_mpi_" + part + ".so";
        if (!std::filesystem::exists(WEFT_BUILD_DIR "/" + name)) continue;
        EXPECT_EQ(folder_of(name), folder);
        // It finds Weft where both are now.
        const Finished needed = run("ldd '" + folder + "/" + name + "' | grep libweft");
        EXPECT_TRUE(contains(needed.out, prefix_)) << needed.out;
    }
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) return;
    const Finished printed = run("'" + prefix_ + "/bin/weft' preload --print");
    EXPECT_EQ(printed.out,
              "LD_PRELOAD=" + std::filesystem::canonical(folder).string() + "/libweft_mpi.so\n")
        << printed.err;
}

TEST_F(Install, TheProgramRunsAndHasItsManual) {
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "built without it";
    const std::string program = "'" + prefix_ + "/bin/weft' ";
    EXPECT_EQ(run(program + "--version").out, "weft " WEFT_VERSION "\n");
    const Finished bench =
        run(program +
            "bench latency --set collective=ibarrier --set engine=manual --set repetitions=1");
    EXPECT_EQ(bench.status, 0) << bench.err;  // it starts itself again, as two ranks
    for (const auto& page : std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/docs/man")) {
        const std::string name = page.path().filename();
        EXPECT_EQ(content(find(name)), content(page.path()));
    }
}

// What a package is made with.
TEST_F(Install, HonoursDestdir) {
    const Folder root;
    expect_done("DESTDIR=" + (root / "image") +
                " " WEFT_CMAKE " --install " WEFT_BUILD_DIR " --prefix /opt/weft");
    EXPECT_TRUE(std::filesystem::exists(root / "image/opt/weft/include/weft/weft.h"));
    EXPECT_EQ(root.files(), 1u);
}

}  // namespace weft::test::install_test
