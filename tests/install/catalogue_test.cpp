// Adding a collective takes nine files: done here in a copy of the sources, as CONTRIBUTING.md says.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/engine_kind.h"
#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test::catalogue_test {

// A file to make, or a text to put in front of `before` in one that there is.
struct Edit {
    const char* file;
    const char* before;
    const char* text;
};

// Every rank gets the block of the rank before it.
const Edit edits[] = {
    {"include/weft/collective.h", "\n} weft_collective;", R"(,
    WEFT_COLLECTIVE_ROTATE = 22)"},
    {"include/weft/collective.h", "#ifdef __cplusplus\n}\n#endif",
     R"(WEFT_API weft_status weft_irotate(const void* send_buf, void* recv_buf, size_t count,
                                  weft_type type, weft_comm comm, weft_request* request);
WEFT_API weft_status weft_rotate(const void* send_buf, void* recv_buf, size_t count,
                                 weft_type type, weft_comm comm);
WEFT_API weft_status weft_rotate_init(const void* send_buf, void* recv_buf, size_t count,
                                      weft_type type, weft_comm comm, weft_request* request);
)"},
    {"include/weft/weft.hpp", "    // Among neighbors: for communicators made",
     R"(    WEFT_FORMS(rotate, ROTATE, (template <OutBuffer R, BufferOf<R> S>),
               (S&& send, R&& recv),
               detail::buffers(send, recv, 1, function), WEFT_OP_NULL, 0)
)"},
    {"src/algorithm/collectives.def", "#undef NEIGHBOR_COLLECTIVE",
     R"(COLLECTIVE(rotate, ROTATE, (const void* send_buf, void* recv_buf, size_t count, weft_type type, ),
           UNIFORM(send_buf, count), UNIFORM(recv_buf, count), WEFT_OP_NULL, 0)
)"},
    {"src/algorithm/catalogue.cpp", "// --- The collectives, in the order",
     R"(void from_the_left(Postconditions& p) {
    for (Rank r = 0; r < p.ranks(); ++r) p.move({(r + p.ranks() - 1) % p.ranks(), 0}, {r, 0});
}
)"},
    {"src/algorithm/catalogue.cpp", "};\nstatic_assert(std::size(specs) == collectives);",
     R"(    {.collective = Collective::rotate,
     .name = "rotate",
     .send = everywhere(Blocks::one),
     .recv = everywhere(Blocks::one),
     .promise = from_the_left,
     .algorithms = algorithms_of(Collective::rotate)},
)"},
    {"src/algorithm/algorithms.def", nullptr, "ALGORITHM(rotate, rotate_direct)\n"},
    {"src/algorithm/rotate/direct.cpp", nullptr, R"(#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status direct(const Problem& in, ScheduleBuilder& schedule) {
    if (in.ranks() == 1) {
        schedule.copy(in.send.block(), in.recv.block());
        return ok;
    }
    schedule.send(in.send.block(), around(in.rank, 1, in.ranks()));
    schedule.recv(in.recv.block(), around(in.rank, -1, in.ranks()));
    return ok;
}

}  // namespace

extern const Algorithm rotate_direct = {
    .name = "direct",
    .source = "a test",
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = direct,
};

}  // namespace weft::algorithm
)"},
    {"tests/support/reference.cpp", "    {\"reduce\", Spares::send_at_root",
     R"(    {"rotate", Spares::none, 1, 1, 1, 1,
     [](const Arguments& a, int r, int) { return of((r + a.ranks - 1) % a.ranks, 0); }},
)"},
    {"bench/collective/rotate.cpp", nullptr, R"(#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

void fill(Case& c, std::uint64_t seed) {
    const int left = (c.job.rank + c.job.ranks - 1) % c.job.ranks;
    fill_pattern(c.expected.as<std::uint8_t>(), left, seed);
    fill_pattern(c.send.as<std::uint8_t>(), c.job.rank, seed);
    fill_blank(c.recv);
}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->rotate, request, c.send.data(), c.recv.data(), c.bytes, WEFT_BYTE,
                 c.job.comm);
}

}  // namespace

extern const Collective irotate = {
    .name = "irotate",
    .has_size = true,
    .send_bytes = one_block,
    .recv_bytes = one_block,
    .fill = fill,
    .start = start,
    .plain = {},
};

}  // namespace weft::bench
)"},
    {"CHANGELOG.md", "- Schedules: builder,",
     "- Collective rotate, with the algorithm `direct`.\n"},
};

// Uses it in every form, and as a record.
const char* const program =
    R"cpp(#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/any_call.h"

          int line_of_failure(int line) {
              std::fprintf(stderr, "line %d: %s\n", line, weft_last_detail());
              std::exit(1);
          }
#define EXPECT(condition) (void)((condition) || line_of_failure(__LINE__))

          int main() {
              const weft::Environment environment;
              const weft::Communicator world = weft::Communicator::world();
              const std::vector<std::int64_t> own(5, world.rank());
              const std::vector<std::int64_t> wanted(5, (world.rank() + world.size() - 1) % world.size());
              std::vector<std::int64_t> got;
              const auto is_right = [&] {
                  return std::exchange(got, std::vector<std::int64_t>(5, -1)) == wanted;
              };
              is_right();
              weft_request request = WEFT_REQUEST_NULL;
              EXPECT(weft_irotate(own.data(), got.data(), 5, WEFT_INT64, world.handle(),
                                  &request) == WEFT_OK);
              EXPECT(weft_wait(&request) == WEFT_OK && is_right());
              EXPECT(weft_rotate(own.data(), got.data(), 5, WEFT_INT64, world.handle()) == WEFT_OK);
              EXPECT(is_right());
              EXPECT(weft_rotate_init(own.data(), got.data(), 5, WEFT_INT64, world.handle(),
                                      &request) == WEFT_OK);
              EXPECT(weft_start(&request) == WEFT_OK && weft_wait(&request) == WEFT_OK && is_right());
              EXPECT(weft_request_free(&request) == WEFT_OK);
              world.irotate(own, got).wait();
              EXPECT(is_right());
              world.rotate(own, got);
              EXPECT(is_right());
              weft::Request persistent = world.rotate_init(own, got);
              persistent.start();
              persistent.wait();
              EXPECT(is_right());
              weft::test::OneCall one(weft::Collective::rotate, world.rank(), world.size(), {});
              EXPECT(weft_start_call(&one.call(), WEFT_BLOCKING, world.handle(), nullptr) == WEFT_OK);
              EXPECT(one.is_right());
              EXPECT(weft_irotate(own.data(), got.data(), 5, WEFT_INT64, world.handle(), nullptr) < 0);
              EXPECT(std::strstr(weft_last_detail(), "(weft_irotate)"));
              std::printf("rotated\n");
          }
    )cpp";

void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
}

void apply(const std::string& folder, const Edit& edit) {
    const std::string path = folder + "/" + edit.file;
    std::string text = std::filesystem::exists(path) ? content(path) : "";
    const std::size_t at = edit.before ? text.find(edit.before) : text.size();
    ASSERT_NE(at, std::string::npos) << edit.file << " has no '" << edit.before << "'";
    write(path, text.insert(at, edit.text));
}

std::string done(const std::string& command) {
    const Finished finished = run(command, std::int64_t{900} * 1'000'000'000);
    EXPECT_EQ(finished.status, 0) << command << "\n" << finished.out << finished.err;
    return finished.out;
}

TEST(Catalogue, GetsACollectiveByNineFiles) {
    const Folder folder;
    const std::string copy = folder / "copy";
    std::filesystem::create_directories(copy);
    for (const std::string part : {"CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "LICENSE",
                                   "README.md", "bench", "cmake", "compat", "docs", "examples",
                                   "include", "lab", "sim", "src", "tests/support", "tools"}) {
        std::filesystem::create_directories(std::filesystem::path(copy + "/" + part).parent_path());
        std::filesystem::copy(WEFT_SOURCE_DIR "/" + part, copy + "/" + part,
                              std::filesystem::copy_options::recursive);
    }
    std::set<std::string> files;
    for (const Edit& edit : edits) {
        files.insert(edit.file);
        ASSERT_NO_FATAL_FAILURE(apply(copy, edit));
    }
    EXPECT_LE(files.size(), 9u);
    // Compiling the library takes a minute of two cores.
    if (!runs_all()) GTEST_SKIP() << "it is compiled only in a run of all tests";
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "no program weft";

    const std::string in_copy = "cd '" + copy + "' && ";
    const std::string compile = in_copy + WEFT_CXX_COMPILER +
                                " -std=c++20 -Wall -Wextra -Werror"
                                " -Iinclude -Isrc -Itests -I. ";
    done(in_copy + WEFT_CMAKE +
         " --preset minimal -G '" WEFT_GENERATOR "' -DCMAKE_MAKE_PROGRAM=" WEFT_MAKE_PROGRAM
         " -DCMAKE_C_COMPILER=" WEFT_C_COMPILER " -DCMAKE_CXX_COMPILER=" WEFT_CXX_COMPILER
         " -DCMAKE_CXX_FLAGS_RELEASE=-O0 && " +
         WEFT_CMAKE + " --build build/minimal --target weft_shared --parallel 2");
    done(compile + "-fsyntax-only bench/collective/list.cpp bench/collective/rotate.cpp");
    write(copy + "/program.cpp", program);
    done(compile +
         "program.cpp tests/support/any_call.cpp tests/support/reference.cpp"
         " tests/support/neighbors.cpp -Lbuild/minimal -lweft -o program");
    EXPECT_EQ(done(in_copy + "WEFT_CHECK=1 LD_LIBRARY_PATH=build/minimal " +
                   WEFT_BUILD_DIR "/weft run -n 3 ./program"),
              "rotated\nrotated\nrotated\n");
}

TEST(Catalogue, UsersReadAboutEveryEngine) {
    const std::string text = content(WEFT_SOURCE_DIR "/docs/using.md");
    for (const EngineTraits& engine : engine_list) {
        if (engine.is_hidden) continue;
        EXPECT_NE(text.find(std::string("\n| `") + engine.name + "`"), std::string::npos)
            << engine.name;
    }
}

}  // namespace weft::test::catalogue_test
