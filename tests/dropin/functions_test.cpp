// The tables of wrapped functions, and the list of those that stay with the MPI, against the headers of the MPIs: a
// function of the standard is in one of them.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "mpi/mpis.h"
#include "support/process.h"

namespace weft::test::functions_test {

using Names = std::set<std::string>;

const Names& wrapped() {
    static const Names names = {
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_) \
    "MPI_I" #name, "MPI_" #Name "_init", "MPI_" #Name,
#define COLLECTIVE(Name, name, parameters, arguments, call_)            \
    COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_) \
    "MPI_I" #name "_c", "MPI_" #Name "_init_c", "MPI_" #Name "_c",
#define CONSTRUCTOR(name, parameters, arguments) "MPI_" #name,
#define FUNCTION(name) "MPI_" #name,
#define EXTENSION(name) "MPIX_" #name,
#include "mpi_dropin/collectives.def"
#include "mpi_dropin/functions.def"
#undef COLLECTIVE
    };
    return names;
}

// The patterns of left.txt.
Names left() {
    Names patterns;
    std::istringstream lines(content(WEFT_SOURCE_DIR "/src/mpi_dropin/left.txt"));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        const std::size_t end = line.find(' ');
        EXPECT_NE(line.find_first_not_of(' ', end), std::string::npos) << line << ": why?";
        EXPECT_TRUE(patterns.insert(line.substr(0, end)).second) << line << " is there twice";
    }
    return patterns;
}

bool matches(const std::string& pattern, const std::string& name) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// "MPI_Send" of "OMPI_DECLSPEC  int MPI_Send(const void *buf, ..."; empty: the line declares no such function.
std::string declared_in(const std::string& line) {
    const std::size_t first = line.find_first_not_of(" \t"), open = line.find('(');
    if (first == std::string::npos || open == std::string::npos) return "";
    if (line.starts_with("typedef") || std::string("#/*").find(line[first]) != std::string::npos)
        return "";
    const auto is_of_name = [](char c) { return std::isalnum(c) || c == '_'; };
    std::size_t begin = open;
    while (begin > first && is_of_name(line[begin - 1])) --begin;
    const std::string name = line.substr(begin, open - begin);
    if (!name.starts_with("MPI_") || begin == first) return "";
    for (std::size_t i = first; i < begin; ++i) {
        if (!is_of_name(line[i]) && std::string(" \t*").find(line[i]) == std::string::npos)
            return "";
    }
    return name;
}

Names declared_by(const std::string& folder) {
    Names names;
    for (const char* header : {"mpi.h", "mpi_proto.h", "mpi_abi.h"}) {
        if (!std::filesystem::exists(folder + "/" + header)) continue;
        std::istringstream lines(content(folder + "/" + header));
        for (std::string line; std::getline(lines, line);) {
            if (const std::string name = declared_in(line); !name.empty()) names.insert(name);
        }
    }
    return names;
}

// The functions that each MPI declares, including MPIs that are tried only when all tests run.
std::map<std::string, Names> declared() {
    std::map<std::string, Names> all;
    for (const Mpi& mpi : mpis()) {
        const std::string folder = mpi.folder() + "/include";
        if (std::filesystem::exists(folder)) all[mpi.name] = declared_by(folder);
    }
    return all;
}

TEST(Functions, EachIsWrappedOrLeftToTheMpi) {
    const auto all = declared();
    if (all.empty()) GTEST_SKIP() << "there is no MPI";
    const Names patterns = left();
    for (const auto& [mpi, names] : all) {
        EXPECT_GT(names.size(), 350u) << mpi;
        for (const std::string& name : names) {
            if (wrapped().contains(name)) continue;
            bool is_left = false;
            for (const std::string& pattern : patterns) is_left |= matches(pattern, name);
            EXPECT_TRUE(is_left) << name << " of " << mpi
                                 << " is neither wrapped nor in src/mpi_dropin/left.txt";
        }
    }
}

TEST(Functions, EachLineOfTheListNamesSome) {
    const auto all = declared();
    if (all.empty()) GTEST_SKIP() << "there is no MPI";
    for (const std::string& pattern : left()) {
        bool names_one = false;
        for (const auto& [mpi, names] : all) {
            for (const std::string& name : names)
                names_one |= !wrapped().contains(name) && matches(pattern, name);
        }
        EXPECT_TRUE(names_one) << pattern << " in src/mpi_dropin/left.txt";
    }
}

TEST(Functions, WrappedOnesExist) {
    Names known;
    const auto all = declared();
    if (!all.contains("mpich")) GTEST_SKIP() << "there is no MPI of the newest standard";
    for (const auto& [mpi, names] : all) known.insert(names.begin(), names.end());
    const std::string extensions = content(mpis().front().folder() + "/include/mpi_proto.h");
    for (const std::string& name : wrapped()) {
        const bool is_extension = extensions.find("int " + name + "(") != std::string::npos;
        EXPECT_TRUE(known.contains(name) || (name.starts_with("MPIX_") && is_extension)) << name;
    }
}

class Stub : public testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(library)) GTEST_SKIP() << "there is no " << library;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        GTEST_SKIP() << "a sanitizer adds libraries and functions";
#endif
    }
    const std::string library = WEFT_BUILD_DIR "/libweft_mpi.so";
};

TEST_F(Stub, ExportsEachWrappedFunctionByBothItsNamesAndNothingElse) {
    const Finished listed = run(WEFT_NM " -D --defined-only " + library);
    ASSERT_EQ(listed.status, 0) << listed.err;
    Names exported, wanted;
    std::istringstream lines(listed.out);
    for (std::string address, kind, name; lines >> address >> kind >> name;) exported.insert(name);
    for (const std::string& name : wrapped()) {
        wanted.insert(name);
        wanted.insert("P" + name);
    }
    EXPECT_EQ(exported, wanted);
}

TEST_F(Stub, DependsOnTheCLibraryAlone) {
    const Finished listed = run("readelf -d " + library);
    if (listed.status != 0) GTEST_SKIP() << "readelf is not installed";
    const Names parts_of_it = {"[libc.so.6]", "[libdl.so.2]", "[ld-linux-x86-64.so.2]"};
    std::istringstream lines(listed.out);
    int needed = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.find("(NEEDED)") == std::string::npos) continue;
        EXPECT_TRUE(parts_of_it.contains(line.substr(line.find('[')))) << line;
        ++needed;
    }
    EXPECT_GT(needed, 0);
}

// Python loads its MPI for one module alone: a symbol of the MPI would not be found.
TEST(Part, NeedsNoSymbolOfAnMpiThatItDoesNotName) {
    bool is_there = false;
    for (const char* part : {"mpich", "abi"}) {
        const std::string library = std::string(WEFT_BUILD_DIR "/weft_mpi_") + part + ".so";
        if (!std::filesystem::exists(library)) continue;
        is_there = true;
        const Finished listed = run("nm -D --undefined-only " + library);
        if (listed.status != 0) GTEST_SKIP() << "nm is not installed";
        EXPECT_EQ(listed.out.find(" MPI_"), std::string::npos) << library << "\n" << listed.out;
    }
    if (!is_there) GTEST_SKIP() << "no part was built for which this matters";
}

}  // namespace weft::test::functions_test
