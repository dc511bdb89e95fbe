// The arrows between the folders of src run one way, as ARCHITECTURE.md's table has them; bench uses
// tools/weft, that uses lab and sim, and these use src, not the other way; and no file of them needs
// another that needs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "support/pattern.h"
#include "support/process.h"

namespace weft::test::layers_test {

using Names = std::set<std::string>;

const std::string source_dir = WEFT_SOURCE_DIR "/";

// By folder, those that it may use.
std::map<std::string, Names> table() {
    std::map<std::string, Names> rows;
    std::istringstream text(content(WEFT_SOURCE_DIR "/ARCHITECTURE.md"));
    for (std::string line; std::getline(text, line);) {
        const Match cells = match_of(line, R"(\| `([a-z_/<>]+)` \| .* \| (.*) \|)");
        if (cells.empty()) continue;
        const std::string folder = "src/" + cells[1].substr(0, cells[1].find("/<"));
        Names& uses = rows[folder];
        std::istringstream list(cells[2]);
        for (std::string name; std::getline(list >> std::ws, name, ',');) {
            uses.insert("src/" + name);
        }
    }
    return rows;
}

// The row of a file or folder: that of the longest folder around it.
std::string row_of(const std::map<std::string, Names>& rows, std::string path) {
    while (!path.empty() && !rows.contains(path)) {
        const std::size_t slash = path.rfind('/');
        path = slash == std::string::npos ? "" : path.substr(0, slash);
    }
    return path;
}

// What may be used directly or by way of others.
Names reach(const std::map<std::string, Names>& rows, const std::string& folder) {
    Names all;
    std::vector<std::string> open{folder};
    while (!open.empty()) {
        const std::string next = open.back();
        open.pop_back();
        if (!all.insert(next).second || !rows.contains(next)) continue;
        for (const std::string& used : rows.at(next)) open.push_back(used);
    }
    return all;
}

// By file of these folders, without its ending, the files that its header or source includes.
std::map<std::string, Names> includes(const Names& folders) {
    std::map<std::string, Names> all;
    for (const std::string& folder : folders) {
        for (const auto& file :
             std::filesystem::recursive_directory_iterator(source_dir + folder)) {
            const std::string ending = file.path().extension();
            if (ending != ".h" && ending != ".cpp") continue;
            const std::string unit = (file.path().parent_path() / file.path().stem()).string();
            Names& used = all[unit.substr(source_dir.size())];
            for (const Match& include : matches_in(content(file.path()), "#include \"([^\"]+)\"")) {
                const std::string& header = include[1];
                for (const std::string from : {"src/", "tools/", ""}) {
                    if (!std::filesystem::exists(source_dir + from + header)) continue;
                    used.insert(from + header.substr(0, header.rfind('.')));
                    break;
                }
            }
        }
    }
    return all;
}

TEST(Layers, EveryFolderIsInTheTable) {
    const auto rows = table();
    ASSERT_GT(rows.size(), 10u);
    for (const auto& [unit, used] : includes({"src"})) EXPECT_NE(row_of(rows, unit), "") << unit;
}

TEST(Layers, NoArrowRunsUp) {
    const auto rows = table();
    std::size_t arrows = 0;
    for (const auto& [unit, used] : includes({"src"})) {
        const std::string from = row_of(rows, unit);
        const Names allowed = reach(rows, from);
        for (const std::string& name : used) {
            const std::string to = row_of(rows, name);
            EXPECT_TRUE(allowed.contains(to)) << unit << " (" << from << ") uses " << name;
            ++arrows;
        }
    }
    EXPECT_GT(arrows, 300u);
}

// shm, tcp, ucx and mpi stand behind the interface; who joins a job chooses among them.
TEST(Layers, OnlyJoiningAJobNamesATransport) {
    for (const auto& [unit, used] : includes({"src"})) {
        if (unit.starts_with("src/transport/") || unit.starts_with("src/process/join/")) continue;
        for (const std::string& name : used) {
            if (!name.starts_with("src/transport/")) continue;
            EXPECT_EQ(name.rfind('/'), std::string("src/transport").size())
                << unit << " uses " << name;
        }
    }
}

// Whether a run is offloaded, and how, is decided behind one header.
TEST(Layers, OffloadingHasOneDoor) {
    const std::string room = "src/offload/";
    std::size_t callers = 0;
    for (const auto& [unit, used] : includes({"src", "sim", "lab", "tools", "bench"})) {
        if (unit.starts_with(room)) continue;
        for (const std::string& name : used) {
            if (!name.starts_with(room)) continue;
            EXPECT_EQ(name, room + "offload") << unit;
            ++callers;
        }
    }
    EXPECT_GT(callers, 3u);
}

TEST(Layers, BenchUsesTheProgramThatTheLabAndThatTheLibrary) {
    const std::vector<std::string> from_below = {"src", "sim", "lab", "tools", "bench"};
    const auto level = [&](const std::string& unit) {
        const std::string top = unit.substr(0, unit.find('/'));
        return std::ranges::find(from_below, top) - from_below.begin();
    };
    std::size_t arrows = 0;
    for (const auto& [unit, used] : includes({"src", "sim", "lab", "tools", "bench"})) {
        for (const std::string& name : used) {
            EXPECT_LE(level(name), level(unit)) << unit << " uses " << name;
            ++arrows;
        }
    }
    EXPECT_GT(arrows, 600u);
}

TEST(Layers, NoFileNeedsOneThatNeedsIt) {
    const auto used = includes({"src", "sim", "lab", "tools", "bench"});
    std::map<std::string, int> state;  // 1: on the path, 2: done
    std::vector<std::string> path;
    std::function<void(const std::string&)> visit = [&](const std::string& unit) {
        state[unit] = 1;
        path.push_back(unit);
        for (const std::string& next : used.at(unit)) {
            if (next == unit || !used.contains(next)) continue;
            if (state[next] == 0) visit(next);
            if (state[next] != 1) continue;
            std::string cycle;
            for (auto at = std::ranges::find(path, next); at != path.end(); ++at)
                cycle += *at + " -> ";
            ADD_FAILURE() << cycle << next;
        }
        path.pop_back();
        state[unit] = 2;
    };
    for (const auto& [unit, names] : used) {
        if (state[unit] == 0) visit(unit);
    }
}

// clang-format leaves comments and tables as they are.
TEST(Layers, LinesHaveAtMost100Columns) {
    std::size_t lines = 0;
    for (const char* top : {"src", "sim", "include", "compat"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir + top)) {
            const std::string ending = entry.path().extension();
            if (!Names{".h", ".hpp", ".c", ".cpp", ".def"}.contains(ending)) continue;
            std::istringstream text(content(entry.path()));
            int number = 0;
            for (std::string line; std::getline(text, line); ++lines) {
                ++number;
                const auto columns = std::ranges::count_if(
                    line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
                EXPECT_LE(columns, 100) << entry.path().string() << ":" << number;
            }
        }
    }
    EXPECT_GT(lines, 40'000u);
}

}  // namespace weft::test::layers_test
