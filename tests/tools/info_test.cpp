// What `weft info` promises: that its lists are what the library takes.
#include "base/cores.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::info_test {

const std::string weft = WEFT_BUILD_DIR "/weft ";
// The shortest program that calls weft_init on two ranks.
const std::string job = weft + "bench aa --set collective=ibarrier --set repetitions=1";

using Words = std::set<std::string>;

Words words(std::string text) {
    for (char& c : text) c = c == ',' ? ' ' : c;
    std::istringstream stream(text);
    Words found;
    for (std::string word; stream >> word;) {
        if (word != "or") found.insert(word);
    }
    return found;
}

// What weft info says, by the first word of the line.
std::map<std::string, std::string> info(const std::string& settings = "") {
    std::map<std::string, std::string> lines;
    std::istringstream stream(run(settings + " " + weft + "info").out);
    for (std::string name, rest; stream >> name && std::getline(stream >> std::ws, rest);) {
        lines[name] = rest;
    }
    return lines;
}

// "WEFT_SELECT=model ..."; empty: the line is not there.
std::string selection(const std::string& settings) {
    const std::string out = run(settings + " " + weft + "info").out;
    const std::string mark = "\nselection ";
    const std::size_t begin = out.find(mark);
    if (begin == out.npos) return "";
    const std::size_t from = out.find_first_not_of(' ', begin + mark.size());
    return out.substr(from, out.find('\n', from) - from);
}

// The words behind "expected " in the sentence that refuses `setting`.
Words expected_by_refusal(const std::string& setting) {
    const std::string err = run(setting + "=magic " + job).err;
    const std::string mark = "expected ";
    const std::size_t begin = err.find(mark);
    if (begin == err.npos) return {"no refusal: " + err};
    const std::size_t from = begin + mark.size();
    return words(err.substr(from, err.find_first_of("(\n", from) - from));
}

TEST(Info, SaysWhichUcxThereIsAndWhatItWouldUse) {
    const std::string line = info("UCX_TLS=tcp")["ucx"];
    if (line.starts_with("not in this build") || line.starts_with("cannot be used"))
        GTEST_SKIP() << line;
    EXPECT_TRUE(std::regex_match(line, std::regex("1\\.[0-9]+\\.[0-9]+:( tcp/[^ ]+)+"))) << line;
    EXPECT_EQ(info("UCX_TLS=nothing UCX_LOG_LEVEL=fatal")["ucx"].find("cannot be used: UCX 1."),
              0u);
}

// One build works where UCX is missing.
TEST(Info, SaysWhyUcxCannotBeOpened) {
    const std::string before = info()["ucx"];
    if (before.starts_with("not in this build") || before.find("Sanitizer") != before.npos)
        GTEST_SKIP() << before;
    const Folder folder;
    std::ofstream(folder / "libucp.so.0") << std::string(4096, '-');
    const std::string missing = "LD_LIBRARY_PATH=" + (folder / "") + ":$LD_LIBRARY_PATH";
    const std::string sentence = "UCX is not found: " + (folder / "libucp.so.0");
    EXPECT_EQ(info(missing)["ucx"].find("cannot be used: " + sentence), 0u) << info(missing)["ucx"];
    expect_failure(missing + " WEFT_TRANSPORT=ucx " + job, sentence);
    for (const char* transport : {"auto", "tcp"}) {
        if (!words(info()["transports"]).contains(transport)) continue;
        expect_success(missing + " WEFT_TRANSPORT=" + transport + " " + job);
    }
}

TEST(Info, SaysWhenTheModelChooses) {
    EXPECT_EQ(selection(""), "");
    EXPECT_EQ(selection("WEFT_SELECT=table"), "");
    const Folder folder;
    const std::string path = folder / "loggp.json";
    std::ofstream(path) << "{\"messages\": \"small\", \"bytes_max\": 1024, \"L_ns\": 10000, "
                           "\"o_s_ns\": 1000, \"o_r_ns\": 1000, \"G_ns_per_byte\": 1, "
                           "\"O_ns_per_byte\": 0}\n";
    const std::string by_model = selection("WEFT_SELECT=model:cpu WEFT_MODEL=" + path);
    EXPECT_TRUE(by_model.starts_with(
        "WEFT_SELECT=model:cpu: between nodes by the model, with parameters with hash "))
        << by_model;
    EXPECT_TRUE(by_model.ends_with(" (WEFT_MODEL=" + path + ")")) << by_model;
    EXPECT_TRUE(selection("WEFT_SELECT=model")
                    .starts_with("refused: WEFT_SELECT=model without WEFT_MODEL"));
}

TEST(Info, NamesBuildAndMachine) {
    std::map<std::string, std::string> lines = info();
    for (const char* what : {"version", "commit", "compiler", "build", "kernel", "processor",
                             "cores", "ptrace_scope", "hugepages"}) {
        EXPECT_NE(lines[what], "") << what;
    }
    EXPECT_EQ("weft " + lines["version"] + "\n", run(weft + "--version").out);
}

TEST(Info, SaysThatOutputIsLost) {
    for (std::string call : {"info", "info --ranks 8", "run -n 2 " WEFT_BUILD_DIR "/weft info"}) {
        expect_refusal(WEFT_BUILD_DIR "/weft " + call + " > /dev/full", 1,
                       "weft: output is lost: No space left on device");
    }
}

TEST(Info, ListsTheEnginesThatTheLibraryTakes) {
    const std::map<std::string, std::string> lines = info();
    EXPECT_EQ(words(lines.at("engines")), expected_by_refusal("WEFT_ENGINE"));
}

TEST(Info, ListsTheTransportsThatTheLibraryTakes) {
    const std::map<std::string, std::string> lines = info();
    EXPECT_EQ(words(lines.at("transports")), expected_by_refusal("WEFT_TRANSPORT"));
}

TEST(Info, AJobReportsAMisspeltSettingOnce) {
    const Finished done = expect_success("WEFT_ENGIN=kernel " + job);
    EXPECT_EQ(done.err,
              "weft: WEFT_ENGIN is not a setting of Weft and has no effect; did you mean "
              "WEFT_ENGINE?\n");
}

// By one rank of the two, in a form that can be copied.
TEST(Info, RenamedVariablesWorkAndAreReportedOnce) {
    const Finished done = expect_success(
        "WEFT_ALGORITHM_BARRIER=dissemination:ports=3 WEFT_ALGORITHM_BCAST=chain " + job);
    EXPECT_EQ(done.err,
              "weft: WEFT_ALGORITHM_BARRIER and WEFT_ALGORITHM_BCAST are now "
              "WEFT_ALGORITHM=barrier=dissemination:ports=3,bcast=chain\n");
    expect_failure("WEFT_ALGORITHM_BARRIER=dissemination:port=3 " + job,
                   "WEFT_ALGORITHM_BARRIER: \"dissemination:port=3\"; expected");
}

TEST(Info, SaysWhatTheSettingsAre) {
    auto lines = info("WEFT_CHECK=1 WEFT_TIMEOUT=soon");
    EXPECT_EQ(lines["WEFT_CHECK"], "1: every collective first compares all ranks' calls");
    EXPECT_EQ(lines["WEFT_SELECT"],
              "not set (table): how algorithms are chosen that are not named");
    const std::string key = info("WEFT_JOB_KEY=abcdef")["WEFT_JOB_KEY"];
    EXPECT_TRUE(key.starts_with("set: ")) << key;
    EXPECT_TRUE(contains(lines["settings"], "refused: WEFT_TIMEOUT = 'soon'; expected seconds"));
    EXPECT_FALSE(info().contains("settings"));
}

TEST(Info, IsRefusedATransportThatNeedsTheProgramsMpi) {
    expect_failure("WEFT_TRANSPORT=mpi " + job, "expected weft_comm_from_mpi instead of weft_init");
}

TEST(Info, SaysWhyABuildHasNoTcp) {
    std::map<std::string, std::string> lines = info();
    if (WEFT_HAS_TCP) {
        EXPECT_FALSE(lines.contains("tcp")) << lines["tcp"];
    } else {
        EXPECT_TRUE(lines["tcp"].starts_with("not in this build: ")) << lines["tcp"];
    }
}

TEST(Info, ListsTheAlgorithmsOfEveryCollective) {
    std::map<std::string, std::string> lines = info();
    std::map<std::string, Words> listed;
    std::istringstream list(run(weft + "schedule --list").out);
    for (std::string spec, name; list >> spec >> name; list.ignore(4096, '\n')) {
        listed[spec].insert(name);
    }
    EXPECT_GE(listed.size(), 4u);
    for (const auto& [spec, names] : listed) EXPECT_EQ(words(lines[spec]), names) << spec;
}

// "tcp: 7 connections, 11 descriptors, 86.5 KiB" somewhere in the text.
struct Held {
    std::size_t connections = 0;
    std::size_t descriptors = 0;
    double kib = 0;
};

Held held(const std::string& text, const std::string& before) {
    Held found;
    std::istringstream stream(
        text.substr(std::min(text.size(), text.find(before) + before.size())));
    std::string word;
    std::string unit;
    stream >> found.connections >> word >> found.descriptors >> word >> found.kib >> unit;
    if (unit.starts_with("MiB")) found.kib *= 1024;
    return found;
}

TEST(Info, SaysWhatEachRankOfAJobHoldsWithinTheBound) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    struct Case {
        std::size_t ranks;
        const char* settings;
        const char* dedicated;
    };
    for (const auto& [ranks, settings, dedicated] : {Case{2, "WEFT_ENGINE=thread", "0"},
                                                     {5, "WEFT_ENGINE=thread", "0"},
                                                     {8, "WEFT_ENGINE=thread", "0"},
                                                     {5, "", "16"}}) {
        const std::string number = std::to_string(ranks);
        const Finished ranked =
            expect_success("WEFT_TRANSPORT=tcp WEFT_INTERFACES=lo " + std::string(settings) + " " +
                           weft + "run -n " + number + " " + weft + "info");
        EXPECT_TRUE(ranked.out.starts_with("version ")) << ranked.out;
        EXPECT_EQ(ranked.out.find("version ", 1), std::string::npos) << "one listing";
        Lines lines;
        for (const std::string& line : sorted_lines(ranked.out)) {
            if (line.starts_with("rank ")) lines.push_back(line);
        }
        ASSERT_EQ(lines.size(), ranks) << ranked.out;
        const Held most = held(
            run(weft + "info --ranks " + number + " --dedicated " + dedicated).out, "at most ");
        EXPECT_GE(most.connections, ranks - 1);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const std::string& line = lines[rank];
            EXPECT_TRUE(
                line.starts_with("rank " + std::to_string(rank) + " on node 0: met all others in "))
                << line;
            // Of an alltoall, an allgather and a barrier.
            EXPECT_TRUE(contains(line, "; cached schedules: 3, ")) << line;
            EXPECT_TRUE(contains(line, " of at most 64.0 MiB; on cores ")) << line;
            const Held own = held(line, "tcp: ");
            EXPECT_GE(own.connections, ranks - 1) << line;
            EXPECT_LE(own.connections, most.connections) << line;
            EXPECT_GT(own.descriptors, own.connections) << line;
            EXPECT_LE(own.descriptors, most.descriptors) << line;
            EXPECT_GT(own.kib, 64) << line;
            EXPECT_LE(own.kib, most.kib) << line;
        }
    }
}

// The lines of two ranks, each bound to `core`.
Lines ranks_on(int core, const std::string& settings) {
    const Finished ranked =
        expect_success(settings + " WEFT_TRANSPORT=shm taskset -c " + std::to_string(core) + " " +
                       weft + "run -n 2 --bind none " + weft + "info");
    Lines lines;
    for (const std::string& line : sorted_lines(ranked.out)) {
        if (line.starts_with("rank ")) lines.push_back(line);
    }
    EXPECT_EQ(lines.size(), 2u) << ranked.out;
    return lines;
}

TEST(Info, SaysWhereEachRankAndItsThreadRun) {
    const std::vector<int> cores = own_cores();
    const std::string first = std::to_string(cores.front());
    const std::string last = std::to_string(cores.back());
    const auto expect = [&](const std::string& settings, const std::string& thread) {
        for (const std::string& line : ranks_on(cores.front(), settings))
            EXPECT_TRUE(contains(line, "; on cores " + first + "; engine " + thread)) << line;
    };
    expect("WEFT_ENGINE=thread", "thread, its thread on the same cores");
    expect("WEFT_ENGINE=thread WEFT_PROGRESS_CPUS=" + first,
           "thread, its thread on cores " + first + ", of which ranks may use " + first);
    const Lines manual = ranks_on(cores.front(), "WEFT_ENGINE=manual");
    EXPECT_TRUE(manual[0].ends_with("; engine manual")) << manual[0];
    const std::vector<int> siblings = siblings_of(cores.front());
    if (std::ranges::count(siblings, cores.back())) GTEST_SKIP() << "there is only one core";
    expect("WEFT_ENGINE=thread WEFT_PROGRESS_CPUS=" + last,
           "thread, its thread on cores " + last + ", set aside");
}

// The warning of a job of two ranks.
TEST(Info, SaysOnceThatProgressThreadsShareTheirCores) {
    const std::string core = std::to_string(own_cores().front());
    const Finished shared = expect_success("WEFT_PROGRESS_CPUS=" + core + " " + job);
    EXPECT_EQ(shared.err, "weft: WEFT_PROGRESS_CPUS=" + core +
                              " of rank 0: its progress thread shares cores " + core +
                              " with ranks that may compute there, or on their hyperthreads; "
                              "expected cores on which no rank computes\n");
}

TEST(Info, BoundsWhatLargeJobsHold) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    const std::string large = weft + "info --ranks 1024 ";
    const Held one = held(run(large + "--dedicated 0").out, "at most ");
    const Held many = held(run(large + "--dedicated 0 --communicators 64").out, "at most ");
    EXPECT_EQ(one.connections, 2u * 1023);
    EXPECT_EQ(many.connections, one.connections) << "communicators share connections";
    EXPECT_LT(one.kib, 140 * 1024);
    const Held dedicated = held(run(large).out, "at most ");
    EXPECT_EQ(dedicated.connections, one.connections + 4 * 4 * 1023);
    EXPECT_EQ(dedicated.descriptors, one.descriptors + 4 * 4 * 1023);
    EXPECT_LT(dedicated.kib - one.kib, 12 * 1024);
    EXPECT_LT(many.kib, 256 * 1024);
    EXPECT_NE(run(weft + "info --communicators 64").status, 0) << "of how many ranks?";
}

// The commit is that of the source and never an old one: cmake/commit.cmake asks in every build.
class Commit : public testing::Test {
  protected:
    std::string commit() {
        expect_success(WEFT_CMAKE " -DSOURCE_DIR=" + (folder_ / "source") + " -DOUTPUT=" +
                       (folder_ / "commit.h") + " -P " WEFT_SOURCE_DIR "/cmake/commit.cmake");
        return content(folder_ / "commit.h");
    }
    std::string git(const std::string& arguments) {
        const Finished done = expect_success(
            "cd " + (folder_ / "source") +
            " && git -c user.name=weft -c user.email=weft@localhost -c commit.gpgsign=false " +
            arguments);
        return done.out.substr(0, done.out.find('\n'));
    }
    void write(const std::string& text) { std::ofstream(folder_ / "source/file") << text; }

    void SetUp() override { std::filesystem::create_directories(folder_ / "source/inner"); }

    Folder folder_;
};

TEST_F(Commit, IsUnknownOutsideOfGit) { EXPECT_EQ(commit(), "#define WEFT_COMMIT \"unknown\"\n"); }

TEST_F(Commit, FollowsTheRepository) {
    if (run("git --version").status != 0) GTEST_SKIP() << "git is not installed";
    git("init --quiet .");
    write("one");
    git("add file");
    git("commit --quiet --message one");
    const std::string first = git("rev-parse HEAD");
    EXPECT_EQ(commit(), "#define WEFT_COMMIT \"" + first + "\"\n");
    write("two");
    EXPECT_EQ(commit(), "#define WEFT_COMMIT \"" + first + "-dirty\"\n");
    git("commit --quiet --all --message two");
    const std::string second = git("rev-parse HEAD");
    EXPECT_NE(first, second);
    EXPECT_EQ(commit(), "#define WEFT_COMMIT \"" + second + "\"\n");
}

}  // namespace weft::test::info_test
