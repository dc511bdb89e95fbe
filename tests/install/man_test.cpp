// The manual names every subcommand and option that the program's --help names, and no other.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "algorithm/catalogue.h"
#include "support/pattern.h"
#include "support/process.h"

namespace weft::test::man_test {

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
    Words names;
    for (const Match& option : matches_in(text, "\\b(?:Fl) (-?[A-Za-z][a-z-]*)")) {
        names.insert("-" + option[1]);
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

// A macro that quotes takes the rest of its line: a second one would quote inside the quotation.
TEST(Man, NoQuotationStandsInsideAnother) {
    for (const std::string& command : commands()) {
        for (const Match& line :
             matches_in(content(page_of(command)),
                        "\n[^\n]*\\b(Ql|Dq|Sq|Qq)\\b[^\n]* (Ql|Dq|Sq|Qq) [^\n]*"))
            ADD_FAILURE() << page_of(command) << ":" << line[0];
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

// What a line of weft info lists, as "engines".
Words listed_by_info(const std::string& what) {
    Words words;
    std::istringstream lines(run(WEFT_BUILD_DIR "/weft info").out);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream stream(line);
        std::string first;
        stream >> first;
        if (first != what) continue;
        for (std::string word; stream >> word;) words.insert(word);
    }
    return words;
}

// Marked up as a word to be typed (Cm a , b).
bool names_word(const std::string& page, const std::string& word) {
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream stream(line);
        bool is_inside = false;
        for (std::string one; stream >> one;) {
            if (one == "Cm" || one == ".Cm") is_inside = true;
            if (is_inside && one == word) return true;
        }
    }
    return false;
}

TEST(Man, NamesEveryEngineAndTransport) {
    for (const char* what : {"engines", "transports"}) {
        const Words words = listed_by_info(what);
        EXPECT_GE(words.size(), 3u) << what;
        std::vector<const char*> pages = {"", "info"};
        if (what == std::string("engines")) pages.push_back("bench");
        for (const char* page : pages) {
            const std::string text = content(page_of(page));
            for (const std::string& word : words) {
                EXPECT_TRUE(names_word(text, word)) << word << " is not in " << page_of(page);
            }
        }
    }
}

// Each line of weft info, and each option in the synopsis.
TEST(Man, OfInfoExplainsWhatItPrints) {
    const std::string text = content(page_of("info"));
    std::istringstream lines(run(WEFT_BUILD_DIR "/weft info").out);
    for (std::string name, rest; lines >> name && std::getline(lines, rest);) {
        if (algorithm::find_spec(name)) continue;  // "barrier, bcast, ..."
        if (name.starts_with("WEFT_")) continue;   // "WEFT_ENGINE, ..."
        EXPECT_FALSE(matches_in(text, "\\.It [^\n]*\\b" + name + "\\b").empty()) << name;
    }
    const std::string synopsis = text.substr(0, text.find(".Sh DESCRIPTION"));
    for (const std::string& option : options("info")) {
        if (option == "-h" || option == "--help") continue;
        EXPECT_TRUE(contains(synopsis, "Fl " + option.substr(1)));
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

}  // namespace weft::test::man_test
