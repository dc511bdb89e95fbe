// What a rank does in the tests of how ranks join: three exchanges, all of them checked.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "startup/startup.h"
#include "support/process.h"

namespace weft::test {

// The card of a rank in a round: sizes differ, one is empty, one does not fit a socket buffer.
inline std::string card_of(Rank rank, int round) {
    std::size_t bytes = rank == 0 ? 0 : rank == 1 ? 900'000 : static_cast<std::size_t>(rank * 10);
    return std::string(bytes, static_cast<char>('a' + rank + round));
}

inline int say_and_fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    return 1;
}

inline std::string hex(const JobKey& key) {
    std::string text;
    for (std::byte b : key) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(b));
        text += digits;
    }
    return text;
}

// Whether what everybody on this machine may see of this process shows the key.
inline bool is_visible(const JobKey& key) {
    const std::string raw(reinterpret_cast<const char*>(key.data()), key.size());
    for (const char* path : {"/proc/self/cmdline", "/proc/self/environ"}) {
        const std::string text = content(path);
        if (contains(text, raw) || contains(text, hex(key))) return true;
    }
    return false;
}

// For "after:FILE": rank 2 dies, rank 0 learns of that and ends, and only then rank 1 asks.
inline void die_or_wait_for_rank_0(Rank rank, const std::string& file) {
    if (rank == 2) raise(SIGKILL);
    if (rank == 0) std::ofstream(file) << getpid() << std::flush;
    if (rank == 1) {
        EXPECT_TRUE(becomes_true([&] { return pid_in(file) > 0 && !is_alive(pid_in(file)); }));
    }
}

// For "joined:FILE": rank 0 has joined and goes on, then rank 2 dies. What does rank 1 learn?
inline int live_die_or_ask(std::unique_ptr<Startup> startup, const std::string& file) {
    const Rank rank = startup->rank();
    if (!startup->exchange("a card").is_ok()) return say_and_fail(last_detail());
    if (rank == 0) {
        startup.reset();
        std::ofstream(file) << getpid() << std::flush;
        pause();
    }
    EXPECT_TRUE(becomes_true([&] { return pid_in(file) > 0; }));
    if (rank == 2) raise(SIGKILL);
    (void)startup->cause_of(failure_of_rank(WEFT_BROKEN_RANK, 0, "rank 0 cannot be reached"));
    return say_and_fail(last_detail());
}

inline int rank_program(const std::string& behaviour) {
    if (behaviour == "never" && std::strcmp(getenv("WEFT_RANK"), "1") == 0) return 0;
    auto startup = startup_from_environment();
    if (!startup.is_ok()) return say_and_fail(last_detail());
    if (behaviour == "alone") return (*startup)->ranks() == 1 ? 0 : say_and_fail("not alone");
    Rank rank = (*startup)->rank();
    if (behaviour == "die" && rank == 1) raise(SIGKILL);
    if (behaviour.starts_with("joined:"))
        return live_die_or_ask(std::move(*startup), behaviour.substr(7));
    if (behaviour == "die-later") {
        if (!(*startup)->own_address().is_ok()) return say_and_fail(last_detail());
        if (rank == 1) raise(SIGKILL);
    }
    if (behaviour.starts_with("after:")) die_or_wait_for_rank_0(rank, behaviour.substr(6));
    JobKey key{};
    for (int round = 0; round < 3; ++round) {
        auto cards = (*startup)->exchange(card_of(rank, round));
        if (!cards.is_ok()) return say_and_fail(last_detail());
        for (Rank other = 0; other < (*startup)->ranks(); ++other) {
            if ((*cards)[static_cast<std::size_t>(other)] != card_of(other, round)) {
                return say_and_fail("a wrong card");
            }
        }
        if (round > 0 && (*startup)->key() != key) return say_and_fail("another key");
        key = (*startup)->key();
    }
    if (is_visible(key)) return say_and_fail("a visible key");
    if (behaviour == "key") std::puts(hex(key).c_str());
    return 0;
}

// This program, which the tests start as their ranks.
inline std::string own_path;

inline int run_tests_or_rank(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--rank") return rank_program(argv[2]);
    own_path = std::filesystem::canonical(argv[0]);
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}

}  // namespace weft::test
