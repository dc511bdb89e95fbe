// What `weft bench` promises, tried from outside. Only lower bounds of times that are slept, and
// shares of operations whose times are known, are looked at.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/process.h"
#include "support/test.h"

namespace weft::test::bench_test {

using Json = nlohmann::json;

const std::string bench = WEFT_BUILD_DIR "/weft bench ";

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Fails unless every line is an object.
std::vector<Json> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(Json::parse(line, nullptr, false));
        EXPECT_TRUE(lines.back().is_object()) << line;
    }
    return lines;
}

std::vector<Json> of_kind(const std::vector<Json>& lines, const std::string& kind) {
    std::vector<Json> found;
    for (const Json& line : lines)
        if (line.value("kind", "") == kind) found.push_back(line);
    return found;
}

// By repetition, the slowest rank's.
std::vector<double> times(const std::vector<Json>& lines, const Json& cell,
                          const std::string& column) {
    const Json& columns = cell.at("columns");
    const auto at = static_cast<std::size_t>(std::find(columns.begin(), columns.end(), column) -
                                             columns.begin());
    std::vector<double> found;
    for (const Json& sample : of_kind(lines, "sample")) {
        if (sample.at("cell") != cell.at("id")) continue;
        double slowest = 0;
        for (const Json& rank : sample.at("ranks"))
            slowest = std::max(slowest, rank.at(at).get<double>());
        found.push_back(slowest);
    }
    return found;
}

// Operations of 100 ms that pass by a timer: how much of them is hidden is known. A busy machine only
// makes sleeps longer, so the shortest repetition is the one to judge by. All jobs sleep at the
// same time.
TEST(Bench, MeasuresTheShareThatATimerHides) {
    const Folder folder;
    const std::vector<std::string> shares = {"0", "50", "100"};
    std::vector<std::string> jobs;
    for (const std::string& share : shares) {
        const Json scenario = {
            {"name", "timer"},
            {"says", "hidden"},
            {"bytes", "2M"},
            {"cores", "none"},
            {"compute", {{"for", "100ms"}, {"what", "sleep"}}},
            {"repetitions", 7},
            {"until", 0},
            {"members",
             {{{"name", share}, {"implementation", "timer"}, {"hides", std::stod(share) / 100}}}}};
        write(folder / (share + ".json"), scenario.dump());
        jobs.push_back(bench + (folder / (share + ".json")) + " --json " + (folder / share));
    }
    expect_success(run_at_once(jobs));
    for (const std::string& share : shares) {
        const std::vector<Json> lines = lines_of(folder / share);
        const Json cell = of_kind(lines, "cell").at(0);
        const auto shortest = [&](const char* column) {
            return std::ranges::min(times(lines, cell, column));
        };
        const double work = shortest("work");
        const double blocking = shortest("blocking");
        const double hidden =
            100 * (work + blocking - shortest("total")) / std::min(work, blocking);
        EXPECT_NEAR(hidden, std::stod(share), 3) << cell;
    }
}

// Both timers measure the same delay of 5 ms: a wrong unit is a factor of 1,000.
TEST(Bench, MeasuresInMicrosecondsByTheClockAndByTheCycleCounter) {
    const Folder folder;
    write(folder / "timers.json", R"({"name": "timers", "collective": "ibarrier", "cores": "none",
        "compute": {"who": "none"}, "late": {"who": [0], "by": "5ms"}, "repetitions": 5, "until": 0,
        "timer": ["clock", "cycles"], "members": [{"engine": "manual"}]})");
    const std::string samples = folder / "samples";
    expect_success(bench + (folder / "timers.json") + " --json " + samples);
    const std::vector<Json> lines = lines_of(samples);
    const std::vector<Json> cells = of_kind(lines, "cell");
    ASSERT_EQ(cells.size(), 2u);
    EXPECT_EQ(cells[0].at("timer"), "clock");
    EXPECT_EQ(cells[1].at("timer"), "cycles");
    for (const Json& cell : cells) {
        // (On a busy machine the other rank may be late, too.)
        EXPECT_GE(std::ranges::max(times(lines, cell, "total")), 1000) << cell;
        EXPECT_LE(std::ranges::min(times(lines, cell, "total")), 500'000) << cell;
        EXPECT_GT(cell.at("timer_ns"), 0);
    }
}

TEST(Bench, AMemberWithOtherRanksNodesOrLinkHasAJobOfItsOwn) {
    const Folder folder;
    write(folder / "places.json", R"({"name": "places", "bytes": 8, "nodes": 2, "members": [
        {"engine": "manual"}, {"engine": "thread"}, {"name": "ranks", "ranks": 4},
        {"name": "nodes", "nodes": 0}, {"name": "link", "link": {"rate": "100mbit"}}]})");
    const Finished done = expect_success(bench + (folder / "places.json") + " --plan");
    std::istringstream text(done.out);
    std::vector<std::vector<std::string>> jobs;
    while (text >> std::ws && text.good()) {
        Json job;
        text >> job;
        std::vector<std::string>& members = jobs.emplace_back();
        for (const Json& contest : job.at("contests"))
            for (const Json& cell : contest.at("cells"))
                members.push_back(cell.value("name", cell.value("engine", "")));
    }
    EXPECT_EQ(jobs, (std::vector<std::vector<std::string>>{
                        {"manual", "thread"}, {"ranks"}, {"nodes"}, {"link"}}));
}

// What a run writes to a terminal, as its stderr.
std::string on_terminal(const std::string& command) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64] = "";
    if (grantpt(terminal) != 0 || unlockpt(terminal) != 0 ||
        ptsname_r(terminal, name, sizeof name) != 0)
        return "no terminal here";
    // Kept open: what was written is lost with the last one that has it open.
    const int other_end = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    expect_success(command + " 2> " + name);
    std::string text;
    pollfd ready{terminal, POLLIN, 0};
    for (char part[4096]; poll(&ready, 1, 0) == 1;) {
        const ssize_t bytes = read(terminal, part, sizeof part);
        if (bytes <= 0) break;
        text.append(part, static_cast<std::size_t>(bytes));
    }
    close(other_end);
    close(terminal);
    return text;
}

TEST(Bench, DrawsItsProgressAndTheTimeLeftOnATerminalAlone) {
    const std::string command =
        bench + "aa --set bytes=8 --set collective=ibcast --set repetitions=2 --set cores=none";
    const std::string drawn = on_terminal(command);
    EXPECT_TRUE(contains(drawn, "#"));
    EXPECT_TRUE(contains(drawn, " 50 %  about 0 s left  aa: ibcast 8"));
    EXPECT_TRUE(contains(drawn, "100 %"));
    EXPECT_EQ(expect_success(command).err, "");
}

// An operation that is not measured, of 100 ms, lies between two that are.
TEST(Bench, BeginsEachTurnWithAnOperationThatIsNotMeasured) {
    const Folder folder;
    write(folder / "turns.json", R"({"name": "turns", "bytes": "2M", "cores": "none",
        "compute": {"who": "none"}, "repetitions": 2, "until": 0,
        "members": [{"implementation": "timer"}]})");
    const std::string samples = folder / "samples";
    expect_success(bench + (folder / "turns.json") + " --json " + samples);
    const std::vector<Json> lines = lines_of(samples);
    const Json cell = of_kind(lines, "cell").at(0);
    const std::vector<double> begun = times(lines, cell, "begun");
    const std::vector<double> done = times(lines, cell, "done");
    ASSERT_EQ(begun.size(), 2u);
    EXPECT_GE(begun[1] - done[0], 99'000) << "us between two measured operations";
}

TEST(Bench, FailsIfAResultIsWrong) {
    const Folder folder;
    write(folder / "wrong.json", R"({"name": "wrong", "bytes": "4M", "cores": "none",
        "compute": {"who": "none"}, "members": [{"implementation": "timer:wrong"}]})");
    const std::string samples = folder / "samples";
    const Finished done = run(bench + (folder / "wrong.json") + " --json " + samples);
    EXPECT_EQ(done.status, 1);
    EXPECT_TRUE(contains(done.err, "ibcast of 4194304 bytes: wrong result: byte "));
    EXPECT_TRUE(contains(done.out, "These samples are not complete"));
    const std::vector<Json> ends = of_kind(lines_of(samples), "end");
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].at("complete"), false);
}

TEST(Bench, WritesWhatItsScenarioSaysAndEveryRepetition) {
    const Folder folder;
    const std::string samples = folder / "samples";
    expect_success(bench +
                   "overlap --set collective=ibcast,ibarrier --set bytes=1K,4K --set ranks=3 "
                   "--set cores=none --set engine=thread --set repetitions=2 --set "
                   "progress=tests:3 --set call=persistent --set algorithm=bcast=chain --set "
                   "compute.for=3ms --set compute.what=sleep --seed 7 --json " +
                   samples);
    const std::vector<Json> lines = lines_of(samples);
    const Json run_line = lines.at(0);
    EXPECT_EQ(run_line.at("kind"), "run");
    EXPECT_EQ(run_line.at("schema"), 1);
    EXPECT_EQ(run_line.at("seed"), 7);
    EXPECT_EQ(run_line.at("weft").at("version"), WEFT_VERSION);
    EXPECT_EQ(run_line.at("scenarios").at("overlap").at("compute").at("for"), "3ms");
    const std::vector<Json> cells = of_kind(lines, "cell");
    ASSERT_EQ(cells.size(), 6u) << "2 members of ibcast 1K, ibcast 4K and ibarrier";
    for (const Json& cell : cells)
        EXPECT_EQ(cell["collective"] == "ibarrier", cell["bytes"] == 0) << cell.dump();
    std::set<int> contests;
    for (const Json& cell : cells) {
        contests.insert(cell.at("contest").get<int>());
        EXPECT_EQ(cell.at("call"), "persistent");
        EXPECT_EQ(cell.at("progress"), "tests:3");
        EXPECT_EQ(cell.at("algorithm"), "bcast=chain");
        EXPECT_EQ(cell.at("ranks"), 3);
        for (const double us : times(lines, cell, "work")) EXPECT_GE(us, 3000);
        for (const double us : times(lines, cell, "tests")) EXPECT_GT(us, 0);
        for (const double number : times(lines, cell, "test_calls"))
            EXPECT_TRUE(number >= 1 && number <= 3) << number;
    }
    EXPECT_EQ(contests.size(), 3u);
    const std::vector<Json> all = of_kind(lines, "sample");
    ASSERT_EQ(all.size(), 12u);
    std::set<int> orders;
    for (const Json& sample : all) {
        orders.insert(sample.at("order").get<int>());
        ASSERT_EQ(sample.at("ranks").size(), 3u);
        for (const Json& rank : sample.at("ranks"))
            EXPECT_EQ(rank.size(), cells[0].at("columns").size());
    }
    EXPECT_EQ(orders, (std::set<int>{0, 1, 2, 3}));
    EXPECT_EQ(lines.back().at("kind"), "end");
    EXPECT_EQ(lines.back().at("complete"), true);
}

// The first call in a communicator makes its schedule, which takes memory; one whose schedule is
// cached takes none.
TEST(Bench, MakesEachFirstCallInANewCommunicator) {
    const Folder folder;
    write(folder / "first.json", R"({"name": "first", "collective": "ibcast", "bytes": "1K",
        "cores": "none", "compute": {"who": "none"}, "repetitions": 3, "until": 0, "members": [
        {"name": "cached", "engine": "manual"},
        {"name": "first", "engine": "manual", "call": "first"},
        {"name": "sockets", "implementation": "sockets", "call": "first"}]})");
    const std::string samples = folder / "samples";
    expect_success(bench + (folder / "first.json") + " --json " + samples);
    const std::vector<Json> lines = lines_of(samples);
    const std::vector<Json> cells = of_kind(lines, "cell");
    ASSERT_EQ(cells.size(), 2u);
    EXPECT_EQ(cells[0].at("call"), "nonblocking");
    EXPECT_EQ(cells[1].at("call"), "first");
    const Json& columns = cells[0].at("columns");
    const auto at = static_cast<std::size_t>(
        std::find(columns.begin(), columns.end(), "allocations") - columns.begin());
    const bool is_counted = !of_kind(lines, "sample").at(0).at("ranks")[0].at(at).is_null();
    for (const Json& cell : cells) {
        const std::vector<double> starts = times(lines, cell, "start");
        EXPECT_EQ(starts.size(), 3u);
        if (!is_counted) continue;
        for (const double number : times(lines, cell, "allocations"))
            EXPECT_EQ(number > 0, cell.at("call") == "first") << number << cell;
    }
    const std::vector<Json> missing = of_kind(lines, "missing");
    ASSERT_EQ(missing.size(), 1u);
    EXPECT_EQ(missing[0].at("member"), "sockets");
    EXPECT_TRUE(contains(missing[0].at("why"), "no communicator of its own")) << missing[0];
}

TEST(Bench, StartsLateRanksLate) {
    const Folder folder;
    write(folder / "late.json", R"({"name": "late", "collective": "ibarrier", "cores": "none",
        "compute": {"who": "none"}, "late": {"who": [0], "by": "5ms"}, "repetitions": 3,
        "members": [{"engine": "manual"}]})");
    const std::string samples = folder / "samples";
    expect_success(bench + (folder / "late.json") + " --json " + samples);
    const std::vector<Json> lines = lines_of(samples);
    const Json cell = of_kind(lines, "cell").at(0);
    for (const double us : times(lines, cell, "total")) EXPECT_GE(us, 4000);
}

TEST(Bench, CountsMessagesBeforeTheirReceiveAndTellsUserFromSystem) {
    const Folder folder;
    write(folder / "early.json", R"({"name": "early", "bytes": 8, "cores": "none",
        "transport": "tcp", "compute": {"who": "none"}, "late": {"who": [1], "by": "20ms"},
        "repetitions": 6, "until": 0,
        "members": [{"engine": "manual"}, {"implementation": "sockets"}]})");
    const std::string samples = folder / "samples";
    expect_success(bench + (folder / "early.json") + " --json " + samples);
    const std::vector<Json> lines = lines_of(samples);
    const std::vector<Json> cells = of_kind(lines, "cell");
    ASSERT_EQ(cells.size(), 2u);
    EXPECT_EQ(std::ranges::max(times(lines, cells[0], "unexpected")), 1) << "rank 1 is late";
    for (const Json& cell : cells) {
        EXPECT_GT(cell.at("resident_kib"), 1000);
        const Json& columns = cell.at("columns");
        for (const Json& sample : of_kind(lines, "sample")) {
            if (sample.at("cell") != cell.at("id")) continue;
            for (const Json& rank : sample.at("ranks")) {
                const auto value = [&](const char* column) -> const Json& {
                    return rank.at(static_cast<std::size_t>(std::ranges::find(columns, column) -
                                                            columns.begin()));
                };
                EXPECT_NEAR(value("user").get<double>() + value("system").get<double>(),
                            value("cpu").get<double>(), 0.01);
                EXPECT_EQ(value("unexpected").is_null(), cell.at("member") == "sockets");
            }
        }
    }
}

// Two ranks that something else than `weft run` starts.
TEST(Bench, MeasuresInTheJobOfAnotherLauncher) {
    const Folder folder;
    const std::string samples = folder / "samples";
    const std::string rank = " WEFT_RANKS=2 WEFT_STARTUP_DIR=" + (folder / "job") + " " + bench +
                             "aa --set bytes=8 --set repetitions=2 --json " + samples;
    const Finished done = expect_success("WEFT_RANK=1" + rank + " & WEFT_RANK=0" + rank +
                                         "; zero=$?; wait $! && exit $zero");
    EXPECT_TRUE(contains(done.out, "aa: How far apart are two measurements of the same?"));
    const std::vector<Json> lines = lines_of(samples);
    EXPECT_EQ(of_kind(lines, "run").size(), 1u);
    EXPECT_EQ(of_kind(lines, "sample").size(), 2u * 3 * 2);
    EXPECT_EQ(of_kind(lines, "cell").at(0).at("timer"), "clock");
    EXPECT_EQ(of_kind(lines, "cell").at(0).at("barrier"), "ours");
    EXPECT_EQ(lines.back().at("complete"), true);
}

TEST(Bench, GivesAMemberSettingsInAJobOfItsOwn) {
    const Folder folder;
    write(folder / "settings.json", R"({"name": "settings", "bytes": 8, "cores": "none",
        "repetitions": 1, "compute": {"who": "none"}, "members": [{"engine": "manual"},
        {"name": "told", "engine": "manual", "settings": {"WEFT_STATS": 1}}]})");
    const std::string samples = folder / "samples";
    const Finished done = expect_success(bench + (folder / "settings.json") + " --json " + samples);
    EXPECT_EQ(matches_in(done.err, "weft: rank [01]: [0-9]+ operations").size(), 2u)
        << "of one job of two";
    const std::vector<Json> cells = of_kind(lines_of(samples), "cell");
    ASSERT_EQ(cells.size(), 2u);
    EXPECT_EQ(cells[0].at("settings"), Json::object());
    EXPECT_EQ(cells[1].at("settings"), Json({{"WEFT_STATS", "1"}}));
    expect_refusal(bench + "aa --set 'settings={\"WEFT_NOPE\":1}'", 2,
                   "settings = \"WEFT_NOPE\"; expected Weft's, such as WEFT_RENDEZVOUS");
}

TEST(Bench, RunsTwoBuildsInOneJob) {
    const Folder folder;
    const std::string samples = folder / "samples";
    // Another file is another library in the process, also if it is a copy.
    const std::string copy = folder / "libweft.so";
    std::filesystem::copy_file(WEFT_BUILD_DIR "/libweft.so", copy);
    expect_success(bench + "builds --build " + copy +
                   " --set collective=ibcast,iallreduce --set bytes=8,100K --set repetitions=2 "
                   "--set cores=none --json " +
                   samples);
    const std::vector<Json> lines = lines_of(samples);
    EXPECT_EQ(of_kind(lines, "missing").size(), 0u);
    EXPECT_EQ(of_kind(lines, "sample").size(), 4u * 3 * 2);
    EXPECT_EQ(of_kind(lines, "cell").at(0).at("implementation"), "build:" + copy);
}

TEST(Bench, NamesWhatIsMissing) {
    const Finished done = expect_success(
        bench + "builds --set collective=ibarrier --set repetitions=1 --set cores=none");
    EXPECT_TRUE(contains(done.out, "Missing: builds, old: --build PATH names the other build"));
    const Finished other = expect_success(
        bench + "builds --build /nowhere --set collective=ibarrier --set repetitions=1");
    EXPECT_TRUE(contains(other.out, "Missing: builds, old: /nowhere: cannot open"));
}

TEST(Bench, RefusesWithTheValueAndWhatIsExpected) {
    const Folder folder;
    write(folder / "bad.json", "{\"name\": \"bad\", ");
    write(folder / "unknown.json", R"({"name": "unknown", "colour": 1})");
    write(folder / "rank.json", R"({"name": "rank", "compute": {"who": [2]}})");
    const std::vector<std::pair<std::string, std::string>> refused = {
        {"nothing", "scenario = \"nothing\"; expected one of aa, all, "},
        {folder / "none.json", "none.json: cannot be read"},
        {folder / "bad.json", "bad.json: [json.exception.parse_error"},
        {folder / "unknown.json", "unknown axis \"colour\"; expected "},
        {folder / "rank.json", "rank 2 of 2 computes or is late; expected fewer"},
        {"aa --set bytes=64Q", "bytes = \"64Q\"; expected a size, a range as 8:4M"},
        {"aa --set bytes", "--set bytes; expected AXIS=VALUES"},
        {"aa --set colour=1", "--set colour=1: unknown axis; expected "},
        {"aa --set ranks=0", "ranks = \"0\"; expected a number from "},
        {"aa --set collective=ibcst", "collective = \"ibcst\"; expected one of ibarrier"},
        {"aa --set progress=test:3", "progress = \"test:3\"; expected none, tests:N"},
        {"aa --set compute.for=fast", "\"fast\" is no time; expected one such as 300us"},
        {"aa --set compute.what=dance", "compute.what = \"dance\"; expected one of loop, sleep"},
        {"aa --set compute.where=here", "compute has \"where\"; expected who, for, what"},
        {"aa --set call=phone", "call = \"phone\"; expected one of nonblocking, blocking"},
        {"aa --set repetitions=0", "repetitions = \"0\"; expected 1 to 1000000"},
    };
    for (const auto& [arguments, sentence] : refused) {
        const Finished done = run(bench + arguments);
        EXPECT_EQ(done.status, 2) << arguments;
        EXPECT_TRUE(contains(done.err, sentence)) << arguments << "\n" << done.err;
        EXPECT_EQ(done.out, "") << arguments;
    }
}

TEST(Bench, KeepsTheSamplesWhenItIsInterrupted) {
    const Folder folder;
    const std::string samples = folder / "samples";
    const Finished done =
        run(bench +
            "aa --set bytes=8 --set repetitions=1000000 --set until=0 --set cores=none "
            "--json " +
            samples + " & for i in $(seq 1000); do grep -q '\"kind\":\"sample\"' " + samples +
            " 2>/dev/null && break; sleep 0.01; done; kill $!; wait $!");
    EXPECT_EQ(done.status, 143);
    EXPECT_TRUE(contains(done.out, "These samples are not complete: the run was interrupted"));
    const std::vector<Json> lines = lines_of(samples);
    EXPECT_GE(of_kind(lines, "sample").size(), 1u);
    EXPECT_EQ(lines.back().at("complete"), false);
}

TEST(Bench, ShowsAFileOfSamplesAgain) {
    const Folder folder;
    const std::string samples = folder / "samples";
    const Finished done = expect_success(
        bench + "aa --set bytes=8 --set repetitions=2 --set cores=none --json " + samples);
    EXPECT_EQ(expect_success(bench + "--show " + samples).out, done.out);
    write(samples, "{\"kind\": \"run\", \"schema\": 2}\n");
    const Finished later = run(bench + "--show " + samples);
    EXPECT_EQ(later.status, 1);
    EXPECT_TRUE(contains(later.err, "samples:1: schema = 2; this program reads 1"));
}

TEST(Bench, HasTheScenariosThatItLists) {
    const Finished done = expect_success(bench + "--list");
    for (const char* name :
         {"all", "overlap", "background", "latency", "messages", "cpu", "idle", "relay", "waits",
          "pipeline", "behind", "start", "fibers", "builds", "wire", "lists", "aa"}) {
        EXPECT_TRUE(contains("\n" + done.out, std::string("\n") + name + " "));
        expect_success(bench + name + std::string(" --plan --build somewhere"));
    }
    // Those of papers stand apart, each with its own name.
    const std::size_t papers = done.out.find("\nFor what five papers say (docs/papers.md):\n");
    ASSERT_NE(papers, std::string::npos) << done.out;
    EXPECT_GT(done.out.find("\nlibnbc-fig4 "), papers);
    EXPECT_LT(done.out.find("\noverlap "), papers);
    const Finished one = expect_success(bench + "libnbc-fig4 --plan");
    EXPECT_TRUE(contains(one.out, "\"scenario\": \"libnbc-fig4\""));
    EXPECT_FALSE(contains(one.out, "\"scenario\": \"libnbc-fig3-left\""));
    const Finished all = expect_success(bench + "libnbc --plan");
    EXPECT_TRUE(contains(all.out, "\"scenario\": \"libnbc-fig3-left\""));
}

// Weft's members are measured all the same, in a job of Weft's own.
TEST(Bench, WhereNoMpiCanBeOnlyThatIsMissing) {
    const Folder folder;
    write(folder / "crowded.json", R"({"name": "crowded", "ranks": 3, "nodes": 2,
        "members": [{"name": "auto"}, {"name": "mpi", "implementation": "mpi"}]})");
    const Finished plan =
        expect_success(bench + (folder / "crowded.json") + " --against mpich --plan");
    EXPECT_TRUE(contains(plan.out, "\"launcher\": \"\"")) << plan.out;
    EXPECT_TRUE(contains(plan.out, "\"name\": \"auto\"")) << plan.out;
    EXPECT_FALSE(contains(plan.out, "mpich")) << plan.out;
    const Finished even =
        expect_success(bench + (folder / "crowded.json") + " --set ranks=4 --against mpich --plan");
    EXPECT_TRUE(contains(even.out, "\"launcher\": \"mpich\"")) << even.out;
}

// Two values would be two jobs, each with all of its ranks on one core.
TEST(Bench, TakesTheCoresOfAJobAsOneValue) {
    const Finished done = expect_success(bench + "overlap --set cores=0,1 --plan");
    EXPECT_TRUE(contains(done.out, "\"cores\": \"0,1\"")) << done.out;
}

TEST(Bench, MeasuresBuildingAndReducing) {
    const Finished done = expect_success(bench + "micro --repetitions 1");
    EXPECT_TRUE(contains(done.out, "building bcast circulant, 1,048,576 ranks "));
    EXPECT_TRUE(contains(done.out, "reducing sum of float64, 64 KiB "));
    for (const char* what : {"sum of bfloat16", "sum of float16", "prod of complex128"})
        for (const char* size : {", 64 KiB ", ", 16 MiB "})
            EXPECT_TRUE(contains(done.out, std::string("reducing ") + what + " by portable" + size))
                << done.out;
}

}  // namespace weft::test::bench_test
