// Settings from the environment: what is taken, the sentences of what is refused or has changed, and
// that the table of them is what the source reads and the manual says.
#include "base/setting.h"

#include "base/engine_kind.h"
#include "base/transport_kind.h"
#include "offload/offload.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/test.h"
#include "transport/common/connect_setting.h"
#include "transport/mpi/settings.h"
#include "transport/shm/settings.h"
#if WEFT_HAS_TCP
#include "transport/tcp/settings.h"
#endif

namespace weft::setting_test {

using test::content;
using Words = std::set<std::string>;
using Sentences = std::vector<std::string>;

constexpr const char* name = "WEFT_SOMETHING";
constexpr SettingInfo whole = {name, nullptr, SettingForm::whole_number(1, 9)};
constexpr SettingInfo bytes = {name, nullptr, SettingForm::bytes(0, 1 << 20)};
constexpr SettingInfo seconds = {name, nullptr, SettingForm::seconds()};
constexpr SettingInfo words = {name, nullptr,
                               SettingForm::words("one, two:2 or three", "four or five", "one")};
constexpr SettingInfo zero_or_one = {name, nullptr, SettingForm::zero_or_one()};

class SettingTest : public ::testing::Test {
  protected:
    ~SettingTest() override {
        for (const char* set : {name, "WEFT_RESOURCES", "WEFT_CONNECT", "WEFT_SHM_RING",
                                "WEFT_QUEUE_DEPTH", "WEFT_CHECK"})
            unsetenv(set);
    }

    // The sentence, when `text` is refused.
    static std::string refusal(const char* text, const SettingInfo& setting) {
        setenv(name, text, 1);
        const Status status = setting.form.kind == SettingForm::Kind::words
                                  ? word_setting(setting).status()
                                  : number_setting(setting).status();
        if (status.is_ok()) return "";
        EXPECT_EQ(status.code, WEFT_REFUSED_SETTING);
        return last_detail();
    }
    static std::int64_t value(const char* text, const SettingInfo& setting) {
        setenv(name, text, 1);
        Setting result = number_setting(setting);
        return result.is_ok() ? result->value_or(-1) : -2;
    }
    // Of the whole environment, with WEFT_RESOURCES set to `list`.
    static std::string refused_list(const char* list) {
        setenv("WEFT_RESOURCES", list, 1);
        const Status status = check_settings();
        return status.is_ok() ? "" : last_detail();
    }
};

TEST_F(SettingTest, WhatIsNotSetIsNone) {
    EXPECT_EQ(*number_setting(whole), std::nullopt);
    EXPECT_EQ(*word_setting(words), std::nullopt);
    EXPECT_FALSE(*switch_setting(zero_or_one));
    EXPECT_TRUE(*switch_setting(zero_or_one, true));
    EXPECT_EQ(text_setting(whole), "");
}

TEST_F(SettingTest, WholeNumbersWithinARange) {
    EXPECT_EQ(value("1", whole), 1);
    EXPECT_EQ(value("9", whole), 9);
    EXPECT_EQ(refusal("10", whole), "WEFT_SOMETHING = '10'; expected a whole number 1..9");
    for (const char* text : {"", "0", "-1", "2.5", "2 ", "two", "99999999999999999999"}) {
        EXPECT_NE(refusal(text, whole), "") << text;
    }
}

TEST_F(SettingTest, BytesWithinARange) {
    EXPECT_EQ(value("0", bytes), 0);
    EXPECT_EQ(value("16k", bytes), 16 << 10);
    EXPECT_EQ(value("1M", bytes), 1 << 20);
    EXPECT_EQ(refusal("2M", bytes),
              "WEFT_SOMETHING = '2M'; expected a number of bytes 0..1048576, as 65536 or 64K");
    EXPECT_NE(refusal("", bytes), "");
}

TEST_F(SettingTest, SecondsAreNanosecondsInside) {
    EXPECT_EQ(value("10", seconds), 10'000'000'000);
    EXPECT_EQ(value("0.25", seconds), 250'000'000);
    EXPECT_EQ(value("1000000", seconds), 1'000'000'000'000'000);
    EXPECT_EQ(
        refusal("soon", seconds),
        "WEFT_SOMETHING = 'soon'; expected seconds, more than 0 and at most 1000000, as 10 or "
        "0.5");
    for (const char* text : {"", "0", "-1", "1s", "1000001", "inf", "nan", "0.5.1"}) {
        EXPECT_NE(refusal(text, seconds), "") << text;
    }
    const SettingInfo some = {name, nullptr, SettingForm::seconds(second_ns / 10)};
    EXPECT_EQ(value("0.1", some), 100'000'000);
    EXPECT_EQ(
        refusal("0.05", some),
        "WEFT_SOMETHING = '0.05'; expected seconds, at least 0.1 and at most 1000000, as 10 or "
        "0.5");
}

TEST_F(SettingTest, WordsAreOneOfAList) {
    for (const std::string word : {"one", "two:2", "three"}) {
        EXPECT_EQ(refusal(word.c_str(), words), "") << word;
        EXPECT_EQ(*word_setting(words), word);
    }
    for (const char* former : {"four", "five"}) {
        EXPECT_EQ(refusal(former, words), "") << former;
        EXPECT_EQ(*word_setting(words), "one") << former;
    }
    EXPECT_EQ(refusal("", words), "");
    EXPECT_EQ(*word_setting(words), std::nullopt);
    for (const std::string text : {"two", "One", " one", "one, two:2", "or", "two:2 or three"}) {
        EXPECT_EQ(refusal(text.c_str(), words),
                  "WEFT_SOMETHING = '" + text + "'; expected one, two:2 or three");
    }
}

TEST_F(SettingTest, SwitchesAreOffOrOn) {
    EXPECT_EQ(refusal("0", zero_or_one), "");
    EXPECT_FALSE(*switch_setting(zero_or_one));
    EXPECT_EQ(refusal("1", zero_or_one), "");
    EXPECT_TRUE(*switch_setting(zero_or_one));
    EXPECT_EQ(refusal("yes", zero_or_one), "WEFT_SOMETHING = 'yes'; expected 0 or 1");
    EXPECT_EQ(refusal("", zero_or_one), "WEFT_SOMETHING = ''; expected 0 or 1");
}

TEST_F(SettingTest, ItemsOfAListAreRead) {
    setenv("WEFT_RESOURCES", "connections=2+16,shm_ring=1M,connect=ahead", 1);
    EXPECT_EQ(text_setting("connections"), "2+16");
    EXPECT_EQ(*number_setting("shm_ring"), 1 << 20);
    EXPECT_EQ(*number_setting("queue_depth"), std::nullopt);
    EXPECT_TRUE(*connects_ahead_from_environment());
    EXPECT_TRUE(check_settings().is_ok());
    setenv("WEFT_RESOURCES", "connect=need", 1);
    EXPECT_FALSE(*connects_ahead_from_environment());
}

TEST_F(SettingTest, ListsThatAreNotUnderstoodAreRefused) {
    const std::string rest =
        "'; expected NAME=VALUE, separated by commas, each once, of connections, connect, "
        "dedicated_rendezvous, shm_ring, shm_large, queue_depth and on_demand";
    for (const std::string list :
         {"ring=1M", "connect", "connect=", "=", ",", "connect=ahead,", ",connect=ahead",
          "connect=ahead,,shm_ring=1M", "connect=ahead, shm_ring=1M", "connect=ahead,connect=need",
          "CONNECT=ahead", "connections=2,16"}) {
        EXPECT_EQ(refused_list(list.c_str()), "WEFT_RESOURCES = '" + list + rest);
    }
    EXPECT_EQ(refused_list("shm_ring=1M,connect=soon"),
              "connect in WEFT_RESOURCES = 'soon'; expected need or ahead");
    EXPECT_EQ(refused_list("queue_depth=1"),
              "queue_depth in WEFT_RESOURCES = '1'; expected a whole number 8..32768");
    EXPECT_EQ(refused_list("on_demand=2"), "on_demand in WEFT_RESOURCES = '2'; expected 0 or 1");
    EXPECT_EQ(refused_list(""), "");
}

// For one more release. The list counts where both are set.
TEST_F(SettingTest, ItemsThatWereVariablesStillWork) {
    setenv("WEFT_SHM_RING", "64K", 1);
    setenv("WEFT_CONNECT", "ahead", 1);
    EXPECT_EQ(*number_setting("shm_ring"), 64 << 10);
    EXPECT_TRUE(*connects_ahead_from_environment());
    setenv("WEFT_RESOURCES", "shm_ring=1M", 1);
    EXPECT_EQ(*number_setting("shm_ring"), 1 << 20);
    setenv("WEFT_CONNECT", "soon", 1);
    EXPECT_FALSE(check_settings().is_ok());
    EXPECT_EQ(std::string(last_detail()), "WEFT_CONNECT = 'soon'; expected need or ahead");
}

TEST_F(SettingTest, AnyMalformedOneIsRefused) {
    EXPECT_TRUE(check_settings().is_ok()) << last_detail();
    setenv("WEFT_CHECK", "2", 1);
    EXPECT_EQ(check_settings().code, WEFT_REFUSED_SETTING);
    EXPECT_EQ(std::string(last_detail()), "WEFT_CHECK = '2'; expected 0 or 1");
}

// --- Warnings ------------------------------------------------------------------------------------

Sentences warnings(std::vector<const char*> environment) {
    const std::vector<std::string> collectives = {"barrier", "bcast", "allgather"};
    return setting_warnings(environment, collectives);
}

TEST(SettingWarnings, MisspeltOnesAreNoticed) {
    const std::string rest = " is not a setting of Weft and has no effect";
    EXPECT_EQ(warnings({"PATH=/bin", "WEFT_ENGIN=kernel"}),
              Sentences{"WEFT_ENGIN" + rest + "; did you mean WEFT_ENGINE?"});
    EXPECT_EQ(warnings({"WEFT_RENDEVOUS=1", "WEFT_ALGORITHM_BCASTS=chain"}),
              (Sentences{"WEFT_RENDEVOUS" + rest + "; did you mean WEFT_RENDEZVOUS?",
                         "WEFT_ALGORITHM_BCASTS" + rest + "; did you mean WEFT_ALGORITHM?"}));
    // Hooks of the tests once, with no replacement.
    EXPECT_EQ(warnings({"WEFT_OFFER_ALL=1", "WEFT_DEDICATE=1", "WEFT_FLY_TO_THE_MOON=1"}),
              (Sentences{"WEFT_OFFER_ALL" + rest, "WEFT_DEDICATE" + rest,
                         "WEFT_FLY_TO_THE_MOON" + rest}));
}

TEST(SettingWarnings, OthersAreLeftAlone) {
    EXPECT_TRUE(warnings({"WEFT_ENGINE=auto", "WEFT_ENGINE", "WEFT_ALGORITHM=bcast=chain",
                          "WEFT_RESOURCES=connect=ahead", "WEFT_BENCH_MPI_MPICH=/opt",
                          "WEFT_CLUSTER_NODES=2", "WEFT_TEST_ALL=1", "WEFTING=1", "XWEFT_A=1"})
                    .empty());
}

TEST(SettingWarnings, SayWhatAFormerNameIsNow) {
    EXPECT_EQ(warnings({"WEFT_ALGORITHM_BCAST=chain:segment=64K"}),
              Sentences{"WEFT_ALGORITHM_BCAST is now WEFT_ALGORITHM=bcast=chain:segment=64K"});
    EXPECT_EQ(warnings({"WEFT_CONNECTIONS=2"}),
              Sentences{"WEFT_CONNECTIONS is now WEFT_RESOURCES=connections=2"});
    // In one sentence, so that it can be copied; with what the list has already.
    EXPECT_EQ(warnings({"WEFT_ALGORITHM_BCAST=chain", "WEFT_ALGORITHM=barrier=flat",
                        "WEFT_ALGORITHM_ALLGATHER=bruck", "WEFT_SHM_RING=1M"}),
              (Sentences{"WEFT_ALGORITHM_BCAST and WEFT_ALGORITHM_ALLGATHER are now "
                         "WEFT_ALGORITHM=barrier=flat,bcast=chain,allgather=bruck",
                         "WEFT_SHM_RING is now WEFT_RESOURCES=shm_ring=1M"}));
    EXPECT_EQ(warnings({"WEFT_ALGORITHM_BCAST=chain", "WEFT_ALGORITHM=bcast=binomial"}),
              Sentences{"WEFT_ALGORITHM_BCAST has no effect: WEFT_ALGORITHM has bcast"});
    EXPECT_TRUE(warnings({"WEFT_ALGORITHM_BCAST="}).empty()) << "it is not set";
}

TEST(SettingWarnings, SayWhatIsUsedInsteadOfAFormerValue) {
    EXPECT_EQ(warnings({"WEFT_ENGINE=thread:poll", "WEFT_SHM_LARGE=streaming"}),
              (Sentences{"WEFT_ENGINE=thread:poll is no longer known; thread is used instead",
                         "WEFT_SHM_LARGE is now WEFT_RESOURCES=shm_large=ring"}));
}

// --- The table -------------------------------------------------------------------------------------

Words known() {
    Words names;
    for (const SettingInfo& setting : setting_table) {
        EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " is there twice";
    }
    return names;
}

// What the pattern's first group catches.
Words found(const std::string& text, const std::string& pattern) {
    Words names;
    for (const test::Match& match : test::matches_in(text, pattern)) names.insert(match[1]);
    return names;
}

TEST(SettingTable, HasTheEnginesAndTransports) {
    std::string transports;
    for (const TransportTraits& one : transport_list) {
        if (!transports.empty()) transports += &one == &transport_list.back() ? " or " : ", ";
        transports += one.name;
    }
    for (const SettingInfo& setting : setting_table) {
        if (setting.name == std::string("WEFT_ENGINE")) {
            EXPECT_EQ(setting.form.values, engine_names());
            EXPECT_EQ(setting.if_unset, std::string(traits(default_engine).name));
        }
        if (setting.name == std::string("WEFT_TRANSPORT")) {
            EXPECT_EQ(setting.form.values, transports);
        }
    }
}

TEST(SettingTable, IsWhatTheSourceReads) {
    const Words all = known();
    Words quoted;
    for (const auto& file : std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/src")) {
        if (!file.is_regular_file() || file.path().filename() == "setting.h") continue;
        const std::string text = content(file.path());
        quoted.merge(found(text, "\"([A-Za-z_]+)\""));
        for (const std::string& read : found(text, "getenv\\(\\s*\"(WEFT_[A-Z_]+)\""))
            EXPECT_TRUE(all.contains(read)) << read << " in " << file.path();
    }
    for (const std::string& setting : all) EXPECT_TRUE(quoted.contains(setting)) << setting;
}

// Each of the manual, under the purpose's heading, and nothing else: few enough to be read.
TEST(SettingTable, IsTheManuals) {
    const std::string manual = content(WEFT_SOURCE_DIR "/docs/man/weft.1");
    std::vector<std::pair<std::string, std::string>> written, expected;
    std::string section;
    for (const test::Match& line : test::matches_in(manual, "\n\\.(Ss|It Ev) ([^\n]+)")) {
        if (line[1] == "Ss") section = line[2];
        if (line[1] == "Ss") continue;
        for (const test::Match& one : test::matches_in(line[2], "(WEFT_[A-Z_]+)"))
            written.emplace_back(section, one[1]);
    }
    for (const SettingInfo& setting : setting_table) {
        if (!setting.is_for_users()) continue;
        expected.emplace_back(setting.section, setting.name);
        EXPECT_NE(std::string(setting.purpose), "") << setting.name;
    }
    EXPECT_EQ(written, expected);
    EXPECT_LE(written.size(), 22u);
}

// Items of lists are in the manual, and on the page of their topic.
TEST(SettingTable, ItemsAreInTheManualAndOnTheirPage) {
    const std::string manual = content(WEFT_SOURCE_DIR "/docs/man/weft.1");
    Words items;
    for (const SettingInfo& setting : setting_table) {
        if (!setting.is_item()) continue;
        items.insert(setting.name);
        EXPECT_NE(manual.find(".It Cm " + std::string(setting.name) + "\n"), manual.npos)
            << setting.name;
    }
    const std::string page = content(WEFT_SOURCE_DIR "/docs/resources.md");
    EXPECT_EQ(found(page, "\n\\| `([a-z_]+)` \\|"), items);
}

// Other pages name no setting that does not exist, nor one that only Weft's own programs set.
TEST(SettingTable, HasWhatThePagesName) {
    Words users = {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD"};
    for (const SettingInfo& setting : setting_table) {
        if (setting.is_for_users()) users.insert(setting.name);
    }
    const std::string docs = WEFT_SOURCE_DIR "/docs/";
    for (const char* page : {"weft.1", "weft-info.1", "weft-preload.1", "weft-run.1"}) {
        const std::string text = content(docs + "man/" + page);
        const Words constants = found(text, "Dv (WEFT_[A-Z_]+)");
        for (const std::string& one : found(text, "\\b(WEFT_[A-Z_]*[A-Z])\\b(?![_<])")) {
            if (constants.contains(one) || one.starts_with("WEFT_CLUSTER_")) continue;
            EXPECT_TRUE(users.contains(one)) << one << " in " << page;
        }
    }
    std::vector<std::string> pages = {WEFT_SOURCE_DIR "/README.md"};
    for (const char* page : {"algorithms.md", "benchmarks.md", "cluster.md", "measuring.md",
                             "preload.md", "resources.md", "using.md", "waiting.md"})
        pages.push_back(docs + page);
    for (const std::string& page : pages) {
        for (const std::string& one : found(content(page), "`(WEFT_[A-Z_]*[A-Z])\\b(?![_<])")) {
            bool is_other = false;
            for (const char* other :
                 {"WEFT_BENCH_", "WEFT_BROKEN_", "WEFT_CLUSTER_", "WEFT_CRYPTO", "WEFT_TEST_",
                  "WEFT_REFUSED_", "WEFT_PENDING", "WEFT_TIMED_OUT"})
                is_other |= one.starts_with(other);
            EXPECT_TRUE(is_other || users.contains(one)) << one << " in " << page;
        }
    }
}

// The defaults that the table, the manual, README and the pages of topics name.
TEST(SettingTable, HasTheDefaults) {
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
    const auto in_table = [](KnownSetting setting) { return setting.info().if_unset; };
#if WEFT_HAS_TCP
    const tcp::Settings tcp;
    expect_in(manual, "Not set: " + number(shm.eager_threshold) + " in shared memory, " +
                          number(tcp.eager_threshold) + " over TCP, " +
                          number(mpi.eager_threshold) + " over UCX and over an MPI.");
    const std::string peer_timeout = number(tcp.peer_timeout_ns / second_ns);
    expect_in(manual, "Not set: " + peer_timeout + ".");
    EXPECT_EQ(in_table("WEFT_PEER_TIMEOUT"), peer_timeout);
    expect_in(resources, "up to " + number(tcp.dedicated_max) + " for the kernel engines");
    expect_in(in_table("connections"), "+" + number(tcp.dedicated_max));
    EXPECT_EQ(tcp.connections, 0u) << "one for each interface";
    EXPECT_FALSE(tcp.connects_ahead);
#endif
    EXPECT_EQ(shm.large, shm::LargeMethod::ring);
    const unsigned depth = Offload::Options().queue_depth;
    EXPECT_EQ(in_table("queue_depth"), number(depth));
    expect_in(resources, "| `queue_depth` | " + number(depth));
    const std::string engine = traits(default_engine).name;
    expect_in(manual, ".It Cm " + engine + "\nThe default:");
    expect_in(using_weft, "| `" + engine + "` (default) |");
    expect_in(readme, "| `WEFT_ENGINE` | `" + engine + "` |");
}

// --- Numbers and sizes -----------------------------------------------------------------------------

TEST(ParseBytes, PowersOf1024) {
    EXPECT_EQ(parse_bytes("0"), 0);
    EXPECT_EQ(parse_bytes("65536"), 65536);
    EXPECT_EQ(parse_bytes("64K"), 64 << 10);
    EXPECT_EQ(parse_bytes("3m"), 3 << 20);
    EXPECT_EQ(parse_bytes("2G"), std::int64_t{2} << 30);
    for (const char* text : {"", "K", "-1", "1.5K", "64KB", "64 K", "9999999999G", "0x10"}) {
        EXPECT_FALSE(parse_bytes(text)) << text;
    }
}

TEST(ParseSizes, ArePositiveAndSeparatedByX) {
    EXPECT_EQ(parse_sizes("4x4"), (std::vector<Rank>{4, 4}));
    EXPECT_EQ(parse_sizes("2x13x1"), (std::vector<Rank>{2, 13, 1}));
    EXPECT_EQ(parse_sizes("7"), std::vector<Rank>{7});
    EXPECT_EQ(parse_sizes("46341x46340"), (std::vector<Rank>{46341, 46340}));
    for (const char* text : {"", "x", "4x", "x4", "4xx4", "4X4", "0x4", "-1x4", "4 x4",
                             "46341x46341", "2147483648", "65536x65536x65536x65536"}) {
        EXPECT_FALSE(parse_sizes(text)) << text;
    }
}

}  // namespace weft::setting_test
