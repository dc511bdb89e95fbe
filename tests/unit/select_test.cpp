// Which algorithm is chosen, and what settings are refused.
#include <sys/stat.h>
#include <unistd.h>

#include "base/setting.h"
#include "model/closed_form.h"
#include "select/select.h"
#include "support/test.h"

namespace weft::select_test {

using algorithm::GlobalArgs;

class Select : public testing::Test {
  protected:
    void SetUp() override { clear(); }
    void TearDown() override { clear(); }

    static void clear() {
        for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
            unsetenv(former_setting("WEFT_ALGORITHM_", spec.name).c_str());
        }
        unsetenv("WEFT_ALGORITHM");
        unsetenv("WEFT_TUNING");
        unsetenv("WEFT_SELECT");
        unsetenv("WEFT_MODEL");
    }

    static Selector read() {
        Result<Selector> selector = Selector::from_environment();
        EXPECT_TRUE(selector.is_ok()) << last_detail();
        return *selector;
    }

    static std::string refusal(const char* variable, const char* value) {
        setenv(variable, value, 1);
        Result<Selector> selector = Selector::from_environment();
        unsetenv(variable);
        EXPECT_EQ(selector.status().code, WEFT_REFUSED_SETTING) << value;
        return selector.is_ok() ? "" : last_detail();
    }
};

std::string choice(const Selector& selector, Collective collective, Rank ranks, std::int64_t bytes,
                   bool combines = false) {
    GlobalArgs size;
    size.combines = combines;
    size.ranks = ranks;
    size.bytes = bytes;
    size.collective = collective;
    return selector.choose(size)->algorithm->name;
}

GlobalArgs of(Collective collective, GlobalArgs agreed) {
    agreed.collective = collective;
    return agreed;
}

TEST_F(Select, FollowsTheTableWhenNothingIsForced) {
    const Selector selector = read();
    EXPECT_EQ(choice(selector, Collective::bcast, 1, 1 << 30), "binomial");
    EXPECT_EQ(choice(selector, Collective::bcast, 2, 1 << 30), "binomial");
    EXPECT_EQ(choice(selector, Collective::bcast, 3, 256 * 1024), "binomial");
    EXPECT_EQ(choice(selector, Collective::bcast, 3, 256 * 1024 + 1), "chain");
    EXPECT_EQ(choice(selector, Collective::allgather, 2, 8), "ring");
    EXPECT_EQ(choice(selector, Collective::allgather, 3, 8 * 1024), "bruck");
    EXPECT_EQ(choice(selector, Collective::allgather, 3, 8 * 1024 + 1), "ring");
    EXPECT_EQ(choice(selector, Collective::barrier, 1, 0), "dissemination");
    EXPECT_EQ(choice(selector, Collective::allreduce, 1, 0), "recursive_doubling");
    EXPECT_EQ(choice(selector, Collective::allreduce, 2, 512 * 1024 - 1), "recursive_doubling");
    EXPECT_EQ(choice(selector, Collective::allreduce, 2, 512 * 1024), "ring");
    EXPECT_EQ(choice(selector, Collective::allreduce, 3, 256 * 1024 - 1), "recursive_doubling");
    EXPECT_EQ(choice(selector, Collective::allreduce, 3, 256 * 1024), "ring");
    EXPECT_EQ(choice(selector, Collective::scan, 5, 512 * 1024 - 1), "recursive_doubling");
    EXPECT_EQ(choice(selector, Collective::scan, 5, 512 * 1024), "transposed");
    EXPECT_EQ(choice(selector, Collective::exscan, 5, 512 * 1024), "transposed");
}

TEST_F(Select, FollowsOtherLinesBetweenNodes) {
    const Selector selector = read();
    const std::vector<Rank> node_of = {0, 0, 1, 1};
    const Topology nodes(node_of);
    const auto chosen = [&](Collective collective, std::int64_t bytes) {
        const Choice choice =
            *selector.choose(of(collective, {.ranks = 4, .bytes = bytes, .topology = &nodes}));
        return choice.algorithm->name + std::string(" ") + std::to_string(choice.tuning.ports) +
               " " + std::to_string(choice.tuning.segment_bytes);
    };
    const GlobalArgs usual;
    const std::string segments = std::to_string(usual.tuning.segment_bytes);
    EXPECT_EQ(chosen(Collective::bcast, 16 * 1024), "knomial 3 " + segments);
    EXPECT_EQ(chosen(Collective::bcast, 16 * 1024 + 1), "circulant 1 16384");
    EXPECT_EQ(chosen(Collective::bcast, 64 * 1024 + 1), "chain 1 16384");
    EXPECT_EQ(chosen(Collective::allreduce, 16 * 1024 - 1), "recursive_doubling 1 " + segments);
    EXPECT_EQ(chosen(Collective::allreduce, 16 * 1024), "rabenseifner 1 " + segments);
    EXPECT_EQ(chosen(Collective::alltoall, 8 * 1024), "bruck 1 " + segments);
}

TEST_F(Select, KnowsWhereReceivesCombine) {
    const Selector selector = read();
    EXPECT_EQ(choice(selector, Collective::allreduce, 2, 16 * 1024 - 1, true),
              "recursive_doubling");
    EXPECT_EQ(choice(selector, Collective::allreduce, 2, 16 * 1024, true), "ring");
    EXPECT_EQ(choice(selector, Collective::allreduce, 3, 16 * 1024, true), "recursive_doubling");
    EXPECT_EQ(choice(selector, Collective::allreduce, 4, 256 * 1024 - 1, true),
              "recursive_doubling");
    EXPECT_EQ(choice(selector, Collective::allreduce, 4, 256 * 1024, true),
              "reduce_scatter_allgather");
    EXPECT_EQ(choice(selector, Collective::allreduce, 4, 256 * 1024), "ring");
    EXPECT_EQ(choice(selector, Collective::allreduce, 5, 256 * 1024, true), "ring");
}

// Also: the table names only algorithms that exist.
TEST_F(Select, EveryCallHasAnAlgorithm) {
    const Selector selector = read();
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        for (Rank ranks : {1, 2, 3, 8, 9, 100, 1024}) {
            for (std::int64_t bytes : {0, 1, 100, 10000, 100000, 1000000, 100000000}) {
                EXPECT_NE(choice(selector, spec.collective, ranks, bytes), "");
            }
        }
    }
}

TEST_F(Select, ForcedAlgorithmsAndTuningWin) {
    setenv("WEFT_ALGORITHM", "bcast=chain:segment=64K,window=3,allgather=bruck", 1);
    const Selector selector = read();
    EXPECT_EQ(choice(selector, Collective::bcast, 2, 8), "chain");
    EXPECT_EQ(selector.choose(of(Collective::bcast, {}))->tuning.segment_bytes, 64 * 1024);
    EXPECT_EQ(selector.choose(of(Collective::bcast, {}))->tuning.window, 3u);
    EXPECT_EQ(choice(selector, Collective::allgather, 2, 1 << 20), "bruck");
    EXPECT_EQ(selector.choose(of(Collective::allgather, {}))->tuning.window,
              algorithm::Tuning{}.window);
}

TEST_F(Select, OnlyWhatACallAllows) {
    GlobalArgs size;
    size.ranks = 8;
    size.bytes = 1 << 20;
    EXPECT_STREQ(read().choose(of(Collective::allreduce, size))->algorithm->name, "ring");
    size.commutative = false;
    EXPECT_STREQ(read().choose(of(Collective::allreduce, size))->algorithm->name, "rabenseifner");

    setenv("WEFT_ALGORITHM", "allreduce=ring", 1);
    EXPECT_EQ(read().choose(of(Collective::allreduce, size)).status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(last_detail(),
                 "WEFT_ALGORITHM=allreduce=ring needs an operation that commutes; this call's "
                 "does not");

    setenv("WEFT_ALGORITHM", "allgather=standard_exchange:ports=2", 1);
    EXPECT_EQ(read().choose(of(Collective::allgather, size)).status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(last_detail(),
                 "WEFT_ALGORITHM=allgather=standard_exchange:ports=2 needs a number of ranks that "
                 "is a power of 3; this call has 8");
    size.ranks = 9;
    EXPECT_EQ(read().choose(of(Collective::allgather, size))->tuning.ports, 2u);
}

TEST_F(Select, LeadersExchangeByTheAlgorithmThatIsNamed) {
    const std::vector<Rank> marks = {0, 0, 0, 1, 1, 2};
    const Topology nodes(marks);
    GlobalArgs call = of(Collective::allgather, {.ranks = 6, .topology = &nodes});
    setenv("WEFT_ALGORITHM", "allgather=multi_leader:leaders=2,inner=ring", 1);
    EXPECT_STREQ(read().choose(call)->tuning.inner->name, "ring");
    EXPECT_EQ(read().choose(call)->tuning.leaders, 2u);

    // Its needs are those of a call among leaders: of three nodes, or with two leaders where there
    // are two ranks.
    setenv("WEFT_ALGORITHM", "allgather=hierarchical:inner=standard_exchange", 1);
    EXPECT_EQ(read().choose(call).status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(
        last_detail(),
        "WEFT_ALGORITHM=allgather=hierarchical:inner=standard_exchange needs among leaders "
        "a number of ranks that is a power of 2; this call has 3");
    setenv("WEFT_ALGORITHM", "allgather=hierarchical:inner=standard_exchange,ports=2", 1);
    ASSERT_TRUE(read().choose(call).is_ok()) << last_detail();
    EXPECT_EQ(read().choose(call)->tuning.ports, 2u);
    setenv("WEFT_ALGORITHM", "allgather=hierarchical:inner=standard_exchange,ports=3", 1);
    EXPECT_EQ(read().choose(call).status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(
        last_detail(),
        "WEFT_ALGORITHM=allgather=hierarchical:inner=standard_exchange,ports=3 needs among leaders "
        "a number of ranks that is a power of 4; this call has 3");
    setenv("WEFT_ALGORITHM", "allgather=multi_leader:leaders=2,inner=standard_exchange", 1);
    EXPECT_EQ(read().choose(call).status().code, WEFT_REFUSED_SETTING);
    setenv("WEFT_ALGORITHM", "allgather=multi_leader:leaders=3,inner=standard_exchange", 1);
    EXPECT_EQ(read().choose(call).status().code, WEFT_REFUSED_SETTING);
    const Topology even{std::span<const Rank>{marks}.subspan(1)};
    call.ranks = 5;
    call.topology = &even;
    EXPECT_EQ(read().choose(call).status().code, WEFT_REFUSED_SETTING);
    const Topology two{std::span<const Rank>{marks}.first(5)};
    call.topology = &two;
    setenv("WEFT_ALGORITHM", "allgather=multi_leader:leaders=2,inner=standard_exchange", 1);
    EXPECT_TRUE(read().choose(call).is_ok());
}

TEST_F(Select, OnlyWhatKeepsTheOrderOfAReproducibleReduction) {
    GlobalArgs call;
    call.commutative = false;
    call.reproducible = true;
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        if (!spec.reduces) continue;
        for (call.ranks = 1; call.ranks <= 33; ++call.ranks) {
            for (call.bytes = 8; call.bytes <= 1 << 24; call.bytes *= 8) {
                const Choice choice = *read().choose(of(spec.collective, call));
                EXPECT_NE(choice.algorithm->reproducible, algorithm::Reproducible::never);
            }
        }
    }
    call.ranks = 5;
    call.bytes = 8;
    EXPECT_STREQ(read().choose(of(Collective::allreduce, call))->algorithm->name, "reduce_bcast");
    call.bytes = 256 * 1024;
    EXPECT_STREQ(read().choose(of(Collective::allreduce, call))->algorithm->name,
                 "reduce_scatter_allgather");
    call.ranks = 8;
    EXPECT_STREQ(read().choose(of(Collective::allreduce, call))->algorithm->name, "rabenseifner");
    call.ranks = 5;

    setenv("WEFT_ALGORITHM", "allreduce=recursive_doubling", 1);
    EXPECT_EQ(read().choose(of(Collective::allreduce, call)).status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(last_detail(),
                 "WEFT_ALGORITHM=allreduce=recursive_doubling needs a number of ranks that is a "
                 "power of 2 to be reproducible; this call has 5");
    call.ranks = 8;
    EXPECT_TRUE(read().choose(of(Collective::allreduce, call)).is_ok());
    setenv("WEFT_ALGORITHM", "allreduce=ring", 1);
    EXPECT_EQ(read().choose(of(Collective::allreduce, call)).status().code, WEFT_REFUSED_SETTING);
    EXPECT_STREQ(last_detail(),
                 "WEFT_ALGORITHM=allreduce=ring needs operands that may be combined in any order; "
                 "this call is reproducible");
}

// The last line that applies, and whose needs the call meets.
TEST(Tables, AreReadFromTheEnd) {
    AlgorithmTable table;
    ASSERT_TRUE(table
                    .add("# a comment\n\n"
                         "allreduce ring\n"
                         "allreduce ranks=4-8 bytes=1K-2K reduce_bcast # behind\n"
                         "  allreduce\tnodes=2-  bytes=8 combines recursive_doubling\r\n"
                         "bcast ranks=3 chain:segment=64K,window=3",
                         "here")
                    .is_ok())
        << last_detail();
    const Topology two(std::vector<Rank>{0, 0, 1, 1});
    GlobalArgs agreed = {.collective = Collective::allreduce, .ranks = 4, .bytes = 1024};
    const auto name = [&] {
        const Choice* found = table.choose(agreed);
        return found ? std::string(found->algorithm->name) : "";
    };
    EXPECT_EQ(name(), "reduce_bcast");
    agreed.bytes = 2048;
    EXPECT_EQ(name(), "reduce_bcast");
    agreed.bytes = 2049;
    EXPECT_EQ(name(), "ring");
    agreed.commutative = false;
    EXPECT_EQ(name(), "") << "the ring cannot keep rank order";
    agreed.commutative = true;
    agreed.bytes = 8;
    agreed.topology = &two;
    EXPECT_EQ(name(), "ring");
    agreed.combines = true;
    EXPECT_EQ(name(), "recursive_doubling");
    agreed = {.collective = Collective::bcast, .ranks = 3, .bytes = 1};
    EXPECT_EQ(table.choose(agreed)->tuning.segment_bytes, 64 * 1024);
    EXPECT_EQ(table.choose(agreed)->tuning.window, 3u);
    agreed.ranks = 4;
    EXPECT_EQ(name(), "");
    // Where only some ranks know the bytes, a line with a range of them does not apply.
    ASSERT_TRUE(table.add("gatherv sequential\ngatherv bytes=0- flat", "there").is_ok());
    agreed = {.collective = Collective::gatherv, .ranks = 3, .bytes = -1};
    EXPECT_EQ(name(), "sequential");
}

TEST(Tables, LinesForAnEngineNeedItOnAllRanks) {
    AlgorithmTable table;
    ASSERT_TRUE(table.add("bcast binomial\nbcast engine=fiber chain", "here").is_ok());
    const GlobalArgs call = {.collective = Collective::bcast, .ranks = 3, .bytes = 1};
    const auto name = [&](std::optional<EngineKind> engine) {
        return std::string(table.choose(call, engine)->algorithm->name);
    };
    EXPECT_EQ(name(EngineKind::fiber), "chain");
    EXPECT_EQ(name(EngineKind::thread), "binomial");
    EXPECT_EQ(name(std::nullopt), "binomial");
}

TEST(Tables, LinesForReproducibleReductionsHoldForNoOthers) {
    AlgorithmTable table;
    ASSERT_TRUE(table.add("scan hypercube\nscan reproducible transposed", "here").is_ok());
    GlobalArgs call = {.collective = Collective::scan, .ranks = 4, .bytes = 1};
    EXPECT_STREQ(table.choose(call)->algorithm->name, "hypercube");
    call.commutative = false;
    EXPECT_STREQ(table.choose(call)->algorithm->name, "hypercube");
    call.reproducible = true;
    EXPECT_STREQ(table.choose(call)->algorithm->name, "transposed");
}

TEST(Tables, AreRefusedByLine) {
    const auto refused = [](const std::string& text) {
        AlgorithmTable table;
        EXPECT_EQ(table.add(text, "file").code, WEFT_REFUSED_SETTING) << text;
        return std::string(last_detail());
    };
    for (const char* line :
         {"allredcue ring", "allreduce", "allreduce ranks=4", "allreduce ring 4",
          "allreduce ranks=-4 ring", "allreduce ranks=8-4 ring", "allreduce size=4 ring",
          "allreduce ranks= ring", "allreduce engine=kernal ring"}) {
        EXPECT_EQ(refused(std::string("\n") + line),
                  std::string("file, line 2: \"") + line +
                      "\"; expected COLLECTIVE [ranks=RANGE] [nodes=RANGE] [bytes=RANGE] "
                      "[combines] [reproducible] [engine=ENGINE] ALGORITHM, a range such as 4, "
                      "4-8 or 64K-, an engine one of " +
                      engine_names());
    }
    EXPECT_TRUE(refused("bcast rnig").starts_with("file, line 1: \"rnig\" is not known; expected"));
    EXPECT_EQ(refused("bcast binomial:ports=2"),
              "file, line 1: \"binomial:ports=2\"; binomial has no ports");
}

// The limits that the shipped table takes from there lie between the sizes at which one or the other is faster.
TEST(Tables, ShippedLimitsAreThoseOfTheFormulas) {
    constexpr std::int64_t byte_ps = 100;
    const auto is_faster = [](Collective collective, const char* one, const char* other, Rank ranks,
                              std::int64_t bytes, std::int64_t latency_ps) {
        const algorithm::CollectiveSpec& spec = algorithm::spec_of(collective);
        const GlobalArgs call = {.collective = collective, .ranks = ranks, .bytes = bytes};
        const model::LogGpParameters parameters = {.latency_ps = latency_ps,
                                                   .overhead_ps = 0,
                                                   .gap_ps = 0,
                                                   .byte_gap_ps = byte_ps,
                                                   .eager_bytes_max = model::time_max_ps};
        const auto time = [&](const char* name) {
            return model::closed_form(*spec.find(name), call, parameters)->time_ps;
        };
        return time(one) < time(other);
    };
    const auto chain = [&](std::int64_t bytes) {
        return is_faster(Collective::bcast, "chain", "binomial", 4, bytes, 0);
    };
    EXPECT_FALSE(chain(128 * 1024));
    EXPECT_TRUE(chain(384 * 1024));
    for (const Rank ranks : {4, 8}) {
        const auto ring = [&](std::int64_t bytes) {
            return is_faster(Collective::allreduce, "ring", "recursive_doubling", ranks, bytes,
                             30'000 * byte_ps);
        };
        EXPECT_FALSE(ring(224 * 1024));
        EXPECT_TRUE(ring(288 * 1024));
    }
}

TEST_F(Select, ReadsATable) {
    const std::string path = testing::TempDir() + "weft_select_table_" + std::to_string(getpid());
    std::ofstream(path) << "bcast ranks=2 chain\n";
    setenv("WEFT_TUNING", path.c_str(), 1);
    const Selector selector = read();
    EXPECT_EQ(choice(selector, Collective::bcast, 2, 8), "chain");
    EXPECT_EQ(choice(selector, Collective::bcast, 3, 8), "binomial") << "as shipped";
    EXPECT_EQ(selector.tuning().find("a table with hash "), 0u);
    EXPECT_EQ(read().tuning(), selector.tuning());
    std::ofstream(path) << "bcast ranks=2 binomial\n";
    EXPECT_NE(read().tuning(), selector.tuning());
    std::ofstream(path) << "bcast ranks=2 engine=kernel chain\n";
    Selector with_engine = read();
    with_engine.set_engine(EngineKind::kernel);
    EXPECT_EQ(choice(with_engine, Collective::bcast, 2, 8), "chain");
    with_engine.set_engine(std::nullopt);
    EXPECT_EQ(choice(with_engine, Collective::bcast, 2, 8), "binomial");
    std::ofstream(path) << "bcast ranks=2 chian\n";
    EXPECT_EQ(refusal("WEFT_TUNING", path.c_str()),
              "WEFT_TUNING=" + path + ", line 1: \"chian\" is not known; expected one of: " +
                  algorithm::spec_of(Collective::bcast).known_names());
    std::ofstream(path) << "# no lines\n";
    EXPECT_EQ(choice(read(), Collective::bcast, 2, 8), "binomial");
    std::filesystem::remove(path);
    EXPECT_EQ(refusal("WEFT_TUNING", path.c_str()),
              "WEFT_TUNING=" + path +
                  ": No such file or directory; expected a file as `weft tune` "
                  "writes it");
}

TEST_F(Select, FilesThatCannotBeReadAreRefused) {
    const std::string folder = testing::TempDir() + "weft_select_files_" + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    const auto path = [&](const char* name) { return folder + "/" + name; };
    std::ofstream(path("empty")).close();
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    std::ofstream(path("large")).close();
    std::filesystem::resize_file(path("large"), 1 << 30);
    std::ofstream(path("junk")) << std::string(
        "\x7f"
        "ELF\0\1\2\3\n\xff\n",
        11);
    std::ofstream(path("zeros")) << std::string(100, '\0');
    std::filesystem::create_symlink("circle", path("circle"));
    std::ofstream(path("secret")) << "bcast chain\n";
    std::filesystem::permissions(path("secret"), std::filesystem::perms::none);
    std::vector<std::pair<std::string, std::string>> files = {
        {folder, "Is a directory"},
        {path("none"), "No such file or directory"},
        {path("junk") + "/in", "Not a directory"},
        {path("empty"), "it is empty"},
        {path("fifo"), "it is no regular file"},
        {"/dev/zero", "it is no regular file"},
        {path("large"), "it has more than 16 MiB"},
        {path("junk"), "it is no text"},
        {path("zeros"), "it is no text"},
        {path("circle"), "Too many levels of symbolic links"}};
    if (geteuid() != 0) files.emplace_back(path("secret"), "Permission denied");
    setenv("WEFT_SELECT", "model", 1);
    for (const auto& [file, reason] : files) {
        EXPECT_EQ(refusal("WEFT_MODEL", file.c_str()),
                  "WEFT_MODEL=" + file + ": " + reason +
                      "; expected a file as `weft bench loggp --json` writes it");
    }
    unsetenv("WEFT_SELECT");
    for (const auto& [file, reason] : files) {
        EXPECT_EQ(
            refusal("WEFT_TUNING", file.c_str()),
            "WEFT_TUNING=" + file + ": " + reason + "; expected a file as `weft tune` writes it");
    }
    // The sentence has room for what was expected.
    std::ofstream(path("long")) << std::string(5000, 'x') << "\n";
    EXPECT_NE(refusal("WEFT_TUNING", path("long").c_str()).find("xxx\"; expected COLLECTIVE"),
              std::string::npos);
    std::filesystem::remove_all(folder);
}

// Parameters of a network with L 10 us, o 1 us and the given G.
std::string parameters_file(const std::string& byte_gap) {
    const std::string path = testing::TempDir() + "weft_select_model_" + std::to_string(getpid());
    std::ofstream(path)
        << "{\"messages\": \"small\", \"bytes_max\": 1024, \"L_ns\": {\"value\": 10000}, "
           "\"o_s_ns\": {\"value\": 1000}, \"o_r_ns\": {\"value\": 1000}, \"G_ns_per_byte\": "
           "{\"value\": "
        << byte_gap << "}, \"O_ns_per_byte\": {\"value\": 0}}\n";
    return path;
}

TEST_F(Select, ByModel) {
    const std::string path = parameters_file("1");
    setenv("WEFT_SELECT", "model", 1);
    setenv("WEFT_MODEL", path.c_str(), 1);
    const Selector selector = read();
    EXPECT_EQ(selector.model().find("parameters with hash "), 0u);
    const std::vector<Rank> node_of = {0, 1, 2, 3, 4, 5, 6, 7};
    const std::vector<Rank> one_node(8, 0);
    const Topology nodes(node_of);
    const Topology node(one_node);
    GlobalArgs call = of(Collective::allreduce, {.ranks = 8, .bytes = 8});
    const auto chosen = [&](const Selector& by, std::int64_t bytes, const Topology* topology) {
        call.bytes = bytes;
        call.topology = topology;
        return std::string(by.choose(call)->algorithm->name);
    };
    // Few rounds for small messages, few bytes for large ones: 3 rounds of all bytes, or 14 or 6 with 7/4.
    EXPECT_EQ(chosen(selector, 8, &nodes), "recursive_doubling");
    EXPECT_EQ(chosen(selector, 10'000'000, &nodes), "rabenseifner");
    // Within a node the shipped table chooses.
    EXPECT_EQ(chosen(selector, 10'000'000, &node), chosen(Selector(), 10'000'000, &node));
    EXPECT_EQ(chosen(selector, 10'000'000, nullptr), chosen(Selector(), 10'000'000, nullptr));

    // By a pipeline, with segments as large as their number makes worth it.
    call.collective = Collective::bcast;
    EXPECT_EQ(chosen(selector, 8, &nodes), "binomial");
    EXPECT_EQ(chosen(selector, 100'000'000, &nodes), "chain");
    EXPECT_GT(selector.choose(call)->tuning.segment_bytes, 4096);

    // A forced algorithm and a measured table go before it.
    Selector forced = selector;
    ASSERT_TRUE(forced.force(Collective::bcast, "circulant").is_ok());
    EXPECT_EQ(chosen(forced, 8, &nodes), "circulant");
    const std::string table = testing::TempDir() + "weft_select_before_" + std::to_string(getpid());
    std::ofstream(table) << "bcast bytes=8 chain\n";
    setenv("WEFT_TUNING", table.c_str(), 1);
    EXPECT_EQ(chosen(read(), 8, &nodes), "chain");
    EXPECT_EQ(chosen(read(), 9, &nodes), "binomial");
    std::filesystem::remove(table);
    std::filesystem::remove(path);
}

TEST_F(Select, ByModelForLittleCpuTime) {
    const std::string path = parameters_file("1");
    setenv("WEFT_SELECT", "model:cpu", 1);
    setenv("WEFT_MODEL", path.c_str(), 1);
    const Selector selector = read();
    const std::vector<Rank> node_of = {0, 1, 2, 3, 4, 5, 6, 7};
    const Topology nodes(node_of);
    // The fewest messages, however large: a binomial tree, not a pipeline.
    const GlobalArgs call =
        of(Collective::bcast, {.ranks = 8, .bytes = 100'000'000, .topology = &nodes});
    EXPECT_STREQ(selector.choose(call)->algorithm->name, "binomial");
    std::ofstream(path, std::ios::app) << "\n";
    EXPECT_NE(read().model(), selector.model());
    std::filesystem::remove(path);
}

TEST_F(Select, ByModelIsRefusedWithoutParameters) {
    EXPECT_EQ(refusal("WEFT_SELECT", "best"),
              "WEFT_SELECT = 'best'; expected table, model or model:cpu");
    EXPECT_EQ(refusal("WEFT_SELECT", "model"),
              "WEFT_SELECT=model without WEFT_MODEL; expected a file as `weft bench loggp --json` "
              "writes it");
    setenv("WEFT_SELECT", "model", 1);
    EXPECT_EQ(refusal("WEFT_MODEL", "/none"),
              "WEFT_MODEL=/none: No such file or directory; expected a file as `weft bench loggp "
              "--json` writes it");
    const std::string path = testing::TempDir() + "weft_select_none_" + std::to_string(getpid());
    std::ofstream(path) << "{}\n";
    EXPECT_EQ(refusal("WEFT_MODEL", path.c_str()),
              "WEFT_MODEL=" + path +
                  ": no parameters of messages in it; expected a file as `weft bench loggp --json` "
                  "writes it");
    std::filesystem::remove(path);
    setenv("WEFT_SELECT", "table", 1);
    EXPECT_EQ(read().model(), "");
}

// A comma comes before another parameter, or another collective.
TEST_F(Select, OneVariableNamesAlgorithmsOfSeveralCollectives) {
    const char* const list =
        "bcast=chain:segment=64K,window=8,allgather=multi_leader:leaders=2,inner=ring,"
        "gather=binomial,neighbor_allgather=flat";
    setenv("WEFT_ALGORITHM", list, 1);
    const Selector selector = read();
    EXPECT_EQ(choice(selector, Collective::bcast, 8, 8), "chain");
    EXPECT_EQ(choice(selector, Collective::gather, 8, 8), "binomial");
    // In the catalogue's order, so that ranks may name them in any.
    EXPECT_EQ(selector.text(),
              "bcast=chain:segment=64K,window=8,gather=binomial,"
              "allgather=multi_leader:leaders=2,inner=ring,neighbor_allgather=flat");
}

TEST_F(Select, AListThatIsNotUnderstoodIsRefused) {
    std::string collectives;
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue())
        collectives += (collectives.empty() ? "" : ", ") + std::string(spec.name);
    const std::string expected = "; expected COLLECTIVE=ALGORITHM, of " + collectives;
    const std::string bcasts = algorithm::spec_of(Collective::bcast).known_names();
    for (const auto& [list, sentence] : std::vector<std::pair<std::string, std::string>>{
             {"bcats=chain", "WEFT_ALGORITHM: \"bcats\" is no collective" + expected},
             {"chain", "WEFT_ALGORITHM: \"chain\" is no collective" + expected},
             {"IBCAST=chain", "WEFT_ALGORITHM: \"IBCAST\" is no collective" + expected},
             {"=chain", "WEFT_ALGORITHM: \"\" is no collective" + expected},
             {",", "WEFT_ALGORITHM: \"\" is no collective" + expected},
             {"window=8", "WEFT_ALGORITHM: \"window\" is no collective" + expected},
             {"bcast=chain:segment=64K,allgathr=bruck",
              "WEFT_ALGORITHM: \"allgathr\" is neither a collective nor a parameter" + expected},
             {"bcast=chain,",
              "WEFT_ALGORITHM: \"\" is neither a collective nor a parameter" + expected},
             {"bcast=chain, allgather=ring",
              "WEFT_ALGORITHM: \" allgather\" is neither a collective nor a parameter" + expected},
             {"bcast=chain,bcast=binomial",
              "WEFT_ALGORITHM: bcast is there twice; expected it once"},
             {"bcast", "WEFT_ALGORITHM: \"bcast\"; expected bcast=ALGORITHM, one of: " + bcasts},
             {"allgather=ring,bcast",
              "WEFT_ALGORITHM: \"bcast\"; expected bcast=ALGORITHM, one of: " + bcasts},
             {"bcast=", "WEFT_ALGORITHM=bcast: \"\" is not known; expected one of: " + bcasts},
             {"bcast=,allgather=ring",
              "WEFT_ALGORITHM=bcast: \"\" is not known; expected one of: " + bcasts},
             {"allgather=ring,bcast=chian",
              "WEFT_ALGORITHM=bcast: \"chian\" is not known; expected one of: " + bcasts},
             {"bcast=chain,window=8",
              "WEFT_ALGORITHM=bcast: \"chain,window=8\" is not known; a colon comes before "
              "parameters; expected one of: " +
                  bcasts},
             {"bcast=chain:,allgather=ring",
              "WEFT_ALGORITHM=bcast: \"chain:\"; expected NAME, NAME:segment=BYTES,window=COUNT, "
              "NAME:ports=COUNT, NAME:throttle=1 or NAME:leaders=COUNT,inner=NAME,ports=COUNT"},
             {"bcast=chain:segment=64K,ports=2,allgather=ring",
              "WEFT_ALGORITHM=bcast: \"chain:segment=64K,ports=2\"; chain has no ports"}}) {
        EXPECT_EQ(refusal("WEFT_ALGORITHM", list.c_str()), sentence) << list;
    }
}

// For one more release. The list counts where both name a collective.
TEST_F(Select, OneVariableForEachCollectiveStillWorks) {
    setenv("WEFT_ALGORITHM_BCAST", "binomial", 1);
    setenv("WEFT_ALGORITHM_ALLGATHER", "bruck", 1);
    setenv("WEFT_ALGORITHM_GATHER", "", 1);
    setenv("WEFT_ALGORITHM", "bcast=chain", 1);
    EXPECT_EQ(read().text(), "bcast=chain,allgather=bruck");
}

TEST_F(Select, WhatIsNotUnderstoodIsRefused) {
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "bcast=chian"),
              "WEFT_ALGORITHM=bcast: \"chian\" is not known; expected one of: " +
                  algorithm::spec_of(Collective::bcast).known_names());
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "bcast=chain:segment=x"),
              "WEFT_ALGORITHM=bcast: \"chain:segment=x\"; expected segment=BYTES, such as 64K");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "bcast=chain:window=0"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "bcast=chain:window=1M"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "bcast=chain:speed=9"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "bcast=chain:segment"), "");
    for (const char* const form :
         {"chain:", "chain::", "chain:,", "chain:segment=64K,", "chain:segment=64K,,window=2",
          "chain:,segment=64K", ":", "chain:segment=64K:window=2"}) {
        EXPECT_NE(refusal("WEFT_ALGORITHM", (std::string("bcast=") + form).c_str()), "") << form;
    }
    EXPECT_NE(refusal("WEFT_ALGORITHM", "allgather=bruck:ports=0"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "allgather=bruck:ports=65"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "bcast=binomial:throttle=2"), "");
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "bcast=chain:throttle=1"),
              "WEFT_ALGORITHM=bcast: \"chain:throttle=1\"; chain has no throttle");
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "allgather=ring:ports=2"),
              "WEFT_ALGORITHM=allgather: \"ring:ports=2\"; ring has no ports");
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "bcast=binomial:segment=64K"),
              "WEFT_ALGORITHM=bcast: \"binomial:segment=64K\"; binomial has no segments");
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "allgather=ring:inner=bruck"),
              "WEFT_ALGORITHM=allgather: \"ring:inner=bruck\"; ring has no inner algorithm");
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "allgather=hierarchical:inner=ring,ports=2"),
              "WEFT_ALGORITHM=allgather: \"hierarchical:inner=ring,ports=2\"; ring has no ports");
    EXPECT_EQ(refusal("WEFT_ALGORITHM", "allgather=hierarchical:leaders=2"),
              "WEFT_ALGORITHM=allgather: \"hierarchical:leaders=2\"; hierarchical has no choice of "
              "leaders");
    for (const std::string inner : {"rnig", "hierarchical", ""}) {
        EXPECT_EQ(refusal("WEFT_ALGORITHM", ("allgather=hierarchical:inner=" + inner).c_str()),
                  "WEFT_ALGORITHM=allgather: \"hierarchical:inner=" + inner + "\": inner=" + inner +
                      " is not a flat algorithm; expected one of: ring, linear, bruck, "
                      "standard_exchange, circulant");
    }
    EXPECT_NE(refusal("WEFT_ALGORITHM", "allgather=multi_leader:leaders=0"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "barrier=ring"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "allgather=binomial"), "");
    EXPECT_NE(refusal("WEFT_ALGORITHM", "allreduce=:window=2"), "");
    EXPECT_EQ(refusal("WEFT_ALGORITHM_BCAST", "chain:segment=x"),
              "WEFT_ALGORITHM_BCAST: \"chain:segment=x\"; expected segment=BYTES, such as 64K");
}

}  // namespace weft::select_test
