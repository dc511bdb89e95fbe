// No two types of src and sim have one name: a type of a namespace shares its name with no other type, nor with
// one inside a class. Transports are alike, each with its own peers, posts and settings.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "support/pattern.h"
#include "support/process.h"

namespace weft::test::type_names_test {

struct Definition {
    std::string file;
    bool is_inside;  // of a class
};

TEST(TypeNames, AreUsedOnce) {
    const std::string source = WEFT_SOURCE_DIR "/";
    std::map<std::string, std::vector<Definition>> all;
    for (const std::string folder : {"src", "sim"}) {
        for (const auto& file : std::filesystem::recursive_directory_iterator(source + folder)) {
            if (!file.is_regular_file()) continue;
            const std::string path = file.path().string().substr(source.size());
            for (const Match& type : matches_in("\n" + content(file.path()),
                                                "\n( *)(?:struct|class|union|enum class|enum) "
                                                "(?:alignas\\([^)]*\\) )?"
                                                "([A-Z][A-Za-z]*)(?: final)?(?: : [^;{]*)? \\{"))
                all[type[2]].push_back({path, !type[1].empty()});
        }
    }
    EXPECT_GT(all.size(), 300u);
    for (const auto& [name, definitions] : all) {
        std::string files;
        std::set<std::string> places;  // a transport's folder, or any other file
        bool is_of_namespace = false;
        for (const Definition& at : definitions) {
            files += " " + at.file;
            const bool is_transports = match_of(at.file, "src/transport/.*/.*").size() > 0;
            places.insert(is_transports ? "a transport" : at.file);
            is_of_namespace = is_of_namespace || !at.is_inside;
        }
        if (!is_of_namespace) continue;
        EXPECT_EQ(places.size(), 1u) << name << ":" << files;
    }
}

}  // namespace weft::test::type_names_test
