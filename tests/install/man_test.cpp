// The manual names every subcommand and option that the program's --help names, and no other.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/tools/process.h"

namespace weft::test {
namespace {

using Words = std::set<std::string>;

std::string help(const std::string& command) {
    const Finished done = run(WEFT_BUILD_DIR "/weft " + command + " --help");
    EXPECT_EQ(done.status, 0) << done.err;
    return done.out;
}

// The words of a help text's lines that begin with two blanks, after `heading`.
Words first_words(const std::string& text, const std::string& heading) {
    Words words;
    std::istringstream stream(text);
    bool is_inside = false;
    for (std::string line; std::getline(stream, line);) {
        if (!line.starts_with(" ")) is_inside = line == heading;
        if (is_inside && line.starts_with("  ") && line.size() > 2 && line[2] != ' ') {
            words.insert(line.substr(2, line.find(' ', 2) - 2));
        }
    }
    return words;
}

Words subcommands(const std::string& command) { return first_words(help(command), "Subcommands:"); }

// "-n", "--ranks": of a command and the commands below it.
Words options(const std::string& command) {
    Words all;
    for (const std::string& names : first_words(help(command), "Options:")) {
        std::istringstream stream(names);
        for (std::string name; std::getline(stream, name, ',');) all.insert(name);
    }
    if (command.empty()) return all;  // the commands below weft have pages of their own
    for (const std::string& below : subcommands(command)) all.merge(options(command + " " + below));
    return all;
}

std::string page_of(const std::string& command) {
    return WEFT_SOURCE_DIR "/docs/man/weft" + (command.empty() ? "" : "-" + command) + ".1";
}

// What a page marks up as an option (.Fl -ranks), of Weft's own.
Words options_of_page(const std::string& page) {
    const std::string text = content(page);
    const std::regex option("\\b(?:Fl) (-?[a-z][a-z-]*)");
    Words names;
    for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) {
        names.insert("-" + (*at)[1].str());
    }
    return names;
}

Words commands() {
    Words all = subcommands("");
    EXPECT_GE(all.size(), 4u);
    all.insert("");
    return all;
}

TEST(Man, NamesEveryOptionAndNoOther) {
    for (const std::string& command : commands()) {
        ASSERT_TRUE(std::filesystem::exists(page_of(command))) << page_of(command);
        EXPECT_EQ(options_of_page(page_of(command)), options(command)) << page_of(command);
    }
}

TEST(Man, NamesEverySubcommand) {
    for (const std::string& command : commands()) {
        const std::string text = content(page_of(command));
        for (const std::string& below : subcommands(command)) {
            EXPECT_TRUE(text.find("Cm " + below) != text.npos ||
                        text.find("Xr weft-" + below + " 1") != text.npos)
                << below << " is not in " << page_of(command);
        }
    }
}

TEST(Man, IsFormattedWithoutWarnings) {
    // Minimal systems have a stub of this name.
    if (!run("man --version").out.starts_with("man ")) GTEST_SKIP() << "man is not installed";
    for (const std::string& command : commands()) {
        const Finished man =
            run("LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z " +
                page_of(command) + " > /dev/null");
        EXPECT_EQ(man.status, 0) << man.err;
        EXPECT_EQ(man.err, "") << page_of(command);
    }
}

}  // namespace
}  // namespace weft::test
