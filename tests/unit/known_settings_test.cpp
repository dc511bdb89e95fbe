// A setting that is misspelt is noticed, and every one that is read is known.
#include "base/known_settings.h"
#include "base/engine_kind.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <set>

#include "process/join/kernel_engine.h"
#include "support/pattern.h"
#include "support/process.h"
#include "transport/mpi/settings.h"
#include "transport/shm/settings.h"
#if WEFT_HAS_TCP
#include "transport/tcp/settings.h"
#endif

namespace weft::known_settings_test {

using test::content;

using Words = std::set<std::string>;

Words known() {
    Words names;
    for (const std::string_view name : known_settings()) names.emplace(name);
    return names;
}

// What the pattern's first group catches.
Words found(const std::string& text, const std::string& pattern) {
    Words names;
    for (const test::Match& match : test::matches_in(text, pattern)) names.insert(match[1]);
    return names;
}

std::vector<std::string> warnings(std::vector<const char*> environment) {
    const std::vector<std::string> further = {"WEFT_ALGORITHM_BCAST"};
    return warnings_of_unknown_settings(environment, further);
}

TEST(KnownSettings, MisspeltOnesAreNoticed) {
    using Sentences = std::vector<std::string>;
    const std::string rest = " is not a setting of Weft and has no effect; did you mean ";
    EXPECT_EQ(warnings({"PATH=/bin", "WEFT_ENGIN=kernel"}),
              Sentences{"WEFT_ENGIN" + rest + "WEFT_ENGINE?"});
    EXPECT_EQ(warnings({"WEFT_RENDEVOUS=1", "WEFT_ALGORITHM_BCASTS=chain"}),
              (Sentences{"WEFT_RENDEVOUS" + rest + "WEFT_RENDEZVOUS?",
                         "WEFT_ALGORITHM_BCASTS" + rest + "WEFT_ALGORITHM_BCAST?"}));
}

TEST(KnownSettings, OthersAreLeftAlone) {
    EXPECT_TRUE(warnings({"WEFT_ENGINE=auto", "WEFT_ENGINE", "WEFT_ALGORITHM_BCAST=chain",
                          "WEFT_BENCH_MPI_MPICH=/opt", "WEFT_CLUSTER_NODES=2", "WEFT_TEST_ALL=1",
                          "WEFTING=1", "XWEFT_A=1"})
                    .empty());
}

TEST(KnownSettings, AreThoseThatTheSourceReads) {
    const std::string read = "(?:getenv|_setting|is_set)\\(\\s*\"(WEFT_[A-Z_]+)\"";
    Words names;
    for (const auto& file : std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/src")) {
        if (file.is_regular_file()) names.merge(found(content(file.path()), read));
    }
    EXPECT_EQ(names, known());
}

// What the manual mentions: not constants (Dv), and not what weft-run sets for launchers.
Words in_manual(const std::string& text) {
    const Words constants = found(text, "Dv (WEFT_[A-Z_]+)");
    Words names = found(text, "\\b(WEFT_[A-Z_]*[A-Z])\\b(?![_<])");
    std::erase_if(names, [&](const std::string& name) {
        return constants.contains(name) || name.starts_with("WEFT_CLUSTER_") ||
               name.starts_with("WEFT_ALGORITHM_");
    });
    return names;
}

// Code in Markdown that begins with a setting.
Words in_markdown(const std::string& text) {
    Words names = found(text, "`(WEFT_[A-Z_]*[A-Z])\\b(?![_<])");
    std::erase_if(names, [](const std::string& name) {
        for (const char* other : {"WEFT_ALGORITHM_", "WEFT_BENCH_", "WEFT_BROKEN_", "WEFT_CLUSTER_",
                                  "WEFT_PENDING", "WEFT_REFUSED_", "WEFT_TEST_"}) {
            if (name.starts_with(other)) return true;
        }
        return false;
    });
    return names;
}

// Each where it belongs: the manual, or the page of its topic.
TEST(KnownSettings, AreDocumented) {
    const std::string docs = WEFT_SOURCE_DIR "/docs/";
    Words names;
    for (const char* page : {"weft.1", "weft-info.1", "weft-preload.1", "weft-run.1"})
        names.merge(in_manual(content(docs + "man/" + page)));
    for (const char* page : {"cluster.md", "preload.md", "resources.md", "using.md", "waiting.md"})
        names.merge(in_markdown(content(docs + page)));
    names.merge(in_markdown(content(WEFT_SOURCE_DIR "/CONTRIBUTING.md")));
    EXPECT_EQ(names, known());
}

// The table of the manual stays short enough to be read. A collective's algorithm is one more.
TEST(KnownSettings, OfUsersAreFew) {
    Words names;
    const std::string manual = content(WEFT_SOURCE_DIR "/docs/man/weft.1");
    for (const test::Match& line : test::matches_in(manual, "\n\\.It Ev (WEFT_[^\n]+)"))
        names.merge(found(line[1], "(WEFT_[A-Z_]+)"));
    EXPECT_GE(names.size(), 15u);
    EXPECT_LE(names.size(), 22u);
}

// The defaults that the manual, README and the pages of topics name.
TEST(KnownSettings, HaveTheDefaultsThatAreWrittenDown) {
    const std::string manual = content(WEFT_SOURCE_DIR "/docs/man/weft.1");
    const std::string readme = content(WEFT_SOURCE_DIR "/README.md");
    const std::string resources = content(WEFT_SOURCE_DIR "/docs/resources.md");
    const std::string using_weft = content(WEFT_SOURCE_DIR "/docs/using.md");
    [[maybe_unused]] const shm::Settings shm;
    [[maybe_unused]] const mpi::Settings mpi;
    const auto number = [](auto value) { return std::to_string(value); };
    const auto expect_in = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), text.npos) << part;
    };
#if WEFT_HAS_TCP
    const tcp::Settings tcp;
    expect_in(manual, "Not set: " + number(shm.eager_threshold) + " in shared memory, " +
                          number(tcp.eager_threshold) + " over TCP, " +
                          number(mpi.eager_threshold) + " over UCX and over an MPI.");
    expect_in(manual, "Not set: " + number(tcp.peer_timeout_ns / 1'000'000'000) + ".");
    expect_in(resources, "up to " + number(tcp.dedicated_max) + " for the kernel engines");
    EXPECT_EQ(tcp.connections, 0u) << "one for each interface";
    EXPECT_FALSE(tcp.connects_ahead);
#endif
    unsetenv("WEFT_QUEUE_DEPTH");
    const Result<unsigned> depth = queue_depth_from_environment();
    ASSERT_TRUE(depth.is_ok());
    expect_in(resources, "| `WEFT_QUEUE_DEPTH` | " + number(*depth));
    const std::string engine = traits(default_engine).name;
    expect_in(manual, ".It Cm " + engine + "\nThe default:");
    expect_in(using_weft, "| `" + engine + "` (default) |");
    expect_in(readme, "| `WEFT_ENGINE` | `" + engine + "` |");
}

// README has those that most users need.
TEST(KnownSettings, OfReadmeExist) {
    const Words names = in_markdown(content(WEFT_SOURCE_DIR "/README.md"));
    const Words all = known();
    EXPECT_GE(names.size(), 6u);
    for (const std::string& name : names) EXPECT_TRUE(all.contains(name)) << name;
}

}  // namespace weft::known_settings_test
