// Random traffic of one rank, checked as it goes: every pair of ranks plays the same lists of
// messages on several lanes, in an order that only the seed knows.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "transport/transport.h"

namespace weft::test {

struct TrafficShape {
    Rank ranks = 2;
    std::uint32_t lanes = 3;
    std::uint32_t messages = 30;  // per lane
    std::size_t bytes_max = 300'000;
    std::uint64_t seed = 1;
};

class Traffic {
  public:
    Traffic(Transport& transport, Rank rank, TrafficShape shape)
        : transport_(transport), rank_(rank), shape_(shape), prng_(shape.seed * 64 + number(rank)) {
        for (Rank peer = 0; peer < shape.ranks; ++peer) {
            if (peer == rank) continue;
            for (std::uint32_t lane = 0; lane < shape.lanes; ++lane) {
                for (bool sends : {true, false}) {
                    lists_.push_back(std::make_unique<List>());
                    lists_.back()->peer = peer;
                    lists_.back()->lane = lane;
                    lists_.back()->sends = sends;
                }
            }
        }
    }

    bool is_done() const { return done_ == lists_.size() * shape_.messages; }

    // Posts something, now and then.
    void post_some() {
        List& list = *lists_[prng_.below(lists_.size())];
        if (list.posted == shape_.messages || list.posted - list.done >= 8) return;
        const std::uint32_t message = list.posted;
        std::vector<std::byte>& buffer = list.buffers[message % 8];
        const std::size_t bytes = size_of(list, message);
        buffer.assign(bytes + 2 * guard, std::byte{0xee});
        const std::span<std::byte> data(buffer.data() + guard, bytes);
        const Lane lane{list.peer, {5, list.lane}};
        const Token token{&list, message};
        Posted posted;
        if (list.sends) {
            for (std::size_t i = 0; i < bytes; i += stride(bytes))
                data[i] = fill_of(list, message, i);
            posted = transport_.post_send(lane, data, token);
        } else {
            posted = transport_.post_recv(lane, data, token);
        }
        ASSERT_NE(posted, Posted::busy);
        ++list.posted;
        if (posted == Posted::done) finish(list, message);
    }

    // True when something was reported.
    bool poll() {
        Completion reported[4];
        const std::size_t count = transport_.poll(reported);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(reported[i].code, WEFT_OK);
            if (reported[i].token.run == nullptr) continue;
            finish(*static_cast<List*>(reported[i].token.run), reported[i].token.op);
        }
        return count > 0;
    }

    // Plays everything, asleep whenever nothing moves. False: too late; `where` says where it
    // stuck.
    bool play(std::string& where) {
        const std::int64_t deadline_ns = now_ns() + 60'000'000'000;
        int quiet = 0;
        while (!is_done() && !::testing::Test::HasFatalFailure()) {
            post_some();
            if (poll())
                quiet = 0;
            else if (++quiet > 200 && !sleep_once(deadline_ns))
                break;
        }
        transport_.wake_peers();
        if (!is_done()) where = describe();
        return is_done();
    }

    std::string describe() const {
        std::string text = "rank " + std::to_string(rank_) + ", seed " +
                           std::to_string(shape_.seed) + ", waits for";
        for (const auto& list : lists_) {
            if (list->done == shape_.messages) continue;
            text += std::string(list->sends ? " send to " : " receive from ") +
                    std::to_string(list->peer) + " lane " + std::to_string(list->lane) + " #" +
                    std::to_string(list->done) + ";";
        }
        return text;
    }

  private:
    static constexpr std::size_t guard = 16;

    struct List {
        Rank peer = 0;
        std::uint32_t lane = 0;
        bool sends = false;
        std::uint32_t posted = 0;
        std::uint32_t done = 0;
        std::vector<std::byte> buffers[8];
    };

    static std::uint64_t number(Rank rank) { return static_cast<std::uint64_t>(rank); }
    // Long messages are filled and checked in places only.
    static std::size_t stride(std::size_t bytes) { return bytes < 4096 ? 1 : 61; }

    std::uint64_t mix(const List& list, std::uint32_t message) const {
        const Rank from = list.sends ? rank_ : list.peer;
        const Rank to = list.sends ? list.peer : rank_;
        return Prng(shape_.seed ^ (number(from) << 48 | number(to) << 40 |
                                   std::uint64_t{list.lane} << 32 | message))
            .next();
    }

    std::size_t size_of(const List& list, std::uint32_t message) const {
        const std::uint64_t random = mix(list, message);
        switch (random % 4) {
            case 0: return 8;
            case 1: return (random >> 8) % 200;
            case 2: return (random >> 8) % 20'000;
            default: return (random >> 8) % shape_.bytes_max;
        }
    }

    std::byte fill_of(const List& list, std::uint32_t message, std::size_t i) const {
        return static_cast<std::byte>(mix(list, message) + i * 13 + (i >> 9));
    }

    void finish(List& list, std::uint32_t message) {
        ASSERT_EQ(message, list.done) << "out of order: " << describe();
        ++list.done;
        ++done_;
        if (list.sends) return;
        const std::vector<std::byte>& buffer = list.buffers[message % 8];
        const std::size_t bytes = size_of(list, message);
        for (std::size_t i = 0; i < guard; ++i) {
            ASSERT_EQ(buffer[i], std::byte{0xee});
            ASSERT_EQ(buffer[guard + bytes + i], std::byte{0xee});
        }
        for (std::size_t i = 0; i < bytes; i += stride(bytes))
            ASSERT_EQ(buffer[guard + i], fill_of(list, message, i))
                << "byte " << i << " of " << bytes << ", " << describe();
    }

    bool sleep_once(std::int64_t deadline_ns) {
        const Sleeper sleeper = prng_.one_in(2) ? Sleeper::thread : Sleeper::waiter;
        if (!can_post() && transport_.arm(sleeper)) {
            pollfd fd{transport_.wait_fd(sleeper), POLLIN, 0};
            if (::poll(&fd, 1, 20'000) == 1)
                transport_.acknowledge(sleeper);
            else
                return false;
        }
        transport_.arm(Sleeper::none);
        return now_ns() < deadline_ns;
    }

    // Sleeping before everything possible is posted would be the test's own deadlock.
    bool can_post() const {
        for (const auto& list : lists_)
            if (list->posted < shape_.messages && list->posted - list->done < 8) return true;
        return false;
    }

    Transport& transport_;
    const Rank rank_;
    const TrafficShape shape_;
    Prng prng_;
    std::vector<std::unique_ptr<List>> lists_;
    std::size_t done_ = 0;
};

}  // namespace weft::test
