// Traffic between the ranks of a transport world: posts with buffers of their own, polls, and what
// came of it. A wait that cannot end, or takes longer than 20 s, fails the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "conformance/transport_worlds.h"
#include "lab/wrap/checking.h"

namespace weft::test {

// `bytes` bytes that depend on `tag`.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t tag) {
    std::vector<std::byte> data(bytes);
    Prng random(tag);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes; ++i, word >>= 8) {
        if (i % 8 == 0) word = random.next();
        data[i] = static_cast<std::byte>(word);
    }
    return data;
}

class Traffic {
  public:
    struct Post {
        Rank rank = 0;
        Lane lane;
        bool sends = false;
        std::size_t bytes = 0;
        std::vector<std::byte> buffer;  // guard, data, guard
        std::uint32_t number = 0;
        bool is_done = false;
        bool is_forgotten = false;  // abandoned, or its rank is dead
        Completion result;

        MutBytes data() { return MutBytes(buffer).subspan(guard_bytes, bytes); }
        bool guards_hold() const {
            auto is_guard = [](std::byte b) { return b == guard_fill; };
            return std::ranges::all_of(Bytes(buffer).first(guard_bytes), is_guard) &&
                   std::ranges::all_of(Bytes(buffer).last(guard_bytes), is_guard);
        }
    };

    enum class Checks : std::uint8_t { plain, contract };

    Traffic(const WorldFactory& factory, Rank ranks, std::uint64_t seed,
            Checks checks = Checks::plain)
        : world_(factory.make(ranks, seed)),
          random_(seed),
          lost_(static_cast<std::size_t>(ranks)),
          dead_(static_cast<std::size_t>(ranks)) {
        for (Rank rank = 0; rank < ranks && checks == Checks::contract; ++rank) {
            checkers_.push_back(std::make_unique<CheckingTransport>(
                world_->at(rank), CheckingTransport::Endpoint{rank, ranks},
                CheckingTransport::OnViolation::collect));
        }
    }

    ~Traffic() {
        for (auto& checker : checkers_) {
            checker->check_abandoned();
            for (const std::string& violation : checker->violations()) {
                ADD_FAILURE() << violation;
            }
        }
    }

    TransportWorld& world() { return *world_; }

    Post& send(Rank from, Lane lane, const std::vector<std::byte>& data) {
        Post& post = add(from, lane, true, data.size());
        std::ranges::copy(data, post.data().begin());
        issue_in_turn(post);
        return post;
    }

    Post& recv(Rank to, Lane lane, std::size_t bytes) {
        Post& post = add(to, lane, false, bytes);
        issue_in_turn(post);
        return post;
    }

    // Polls, then lets time pass: what a wrapper holds back from a poll counts as moving.
    bool move() {
        bool moved = poll();
        return world_->step() || moved;
    }

    // Polls every rank for all it has to report. False: nothing happened.
    bool poll() {
        bool moved = false;
        std::array<Completion, 8> done;
        for (std::size_t rank = 0; rank < dead_.size(); ++rank) {
            if (dead_[rank]) continue;
            std::size_t room = 1 + random_.below(done.size());
            std::size_t reported;
            do {
                reported = at(static_cast<Rank>(rank)).poll(std::span(done).first(room));
                for (std::size_t i = 0; i < reported; ++i) complete(rank, done[i]);
                moved |= reported > 0;
            } while (reported == room);
        }
        moved |= issue_backlog();
        return moved;
    }

    // Lets time pass until `what` holds. False: the test has failed.
    bool until(const std::function<bool()>& what) {
        std::int64_t deadline_ns = now_ns() + 20'000'000'000;
        while (!what()) {
            if (!move()) {
                ADD_FAILURE() << "nothing moves any more; " << outstanding_ << " posts are pending";
                return false;
            }
            if (now_ns() > deadline_ns) {
                ADD_FAILURE() << "not within 20 s; " << outstanding_ << " posts are pending";
                return false;
            }
        }
        return true;
    }

    // Lets time pass until no post is outstanding.
    bool finish() {
        return until([this] { return outstanding_ == 0; });
    }

    // Lets time pass for a while, or until nothing moves.
    void settle() {
        for (int i = 0; i < 3000; ++i) {
            if (!move()) return;
        }
    }

    Transport& end(Rank rank) { return at(rank); }

    void cancel_context(Rank rank, std::uint64_t context) {
        at(rank).cancel_context(context);
        forget([&](const Post& post) {
            return post.rank == rank && post.lane.stream.context() == context;
        });
    }

    void kill(Rank rank) {
        world_->kill(rank);
        dead_[static_cast<std::size_t>(rank)] = true;
        forget([&](const Post& post) { return post.rank == rank; });
    }

    // Which ranks were reported to `rank` as lost, in order.
    const std::vector<Rank>& lost(Rank rank) const { return lost_[static_cast<std::size_t>(rank)]; }

  private:
    static constexpr std::size_t guard_bytes = 64;
    static constexpr std::byte guard_fill{0x5c};

    // Rank, sends or receives, peer, stream.
    using End = std::tuple<Rank, bool, Rank, std::uint64_t>;

    static End end_of(const Post& post) {
        return {post.rank, post.sends, post.lane.peer, post.lane.stream.packed()};
    }

    Transport& at(Rank rank) {
        if (checkers_.empty()) return world_->at(rank);
        return *checkers_[static_cast<std::size_t>(rank)];
    }

    Post& add(Rank rank, Lane lane, bool sends, std::size_t bytes) {
        Post& post = posts_.emplace_back();
        post.rank = rank;
        post.lane = lane;
        post.sends = sends;
        post.bytes = bytes;
        post.buffer.assign(bytes + 2 * guard_bytes, guard_fill);
        post.number = static_cast<std::uint32_t>(posts_.size());
        ++outstanding_;
        return post;
    }

    // A post that was answered busy keeps its place before later ones of its lane.
    void issue_in_turn(Post& post) {
        bool waits = std::ranges::any_of(
            backlog_, [&](const Post* earlier) { return end_of(*earlier) == end_of(post); });
        if (waits || !issue(post)) backlog_.push_back(&post);
    }

    bool issue_backlog() {
        std::set<End> busy;
        return std::erase_if(backlog_, [&](Post* post) {
                   if (!busy.contains(end_of(*post)) && issue(*post)) return true;
                   busy.insert(end_of(*post));
                   return false;
               }) > 0;
    }

    // False: busy.
    bool issue(Post& post) {
        Token token{&post, post.number};
        Posted posted = post.sends ? at(post.rank).post_send(post.lane, post.data(), token)
                                   : at(post.rank).post_recv(post.lane, post.data(), token);
        if (posted == Posted::busy) return false;
        if (posted == Posted::pending) {
            pending_[end_of(post)].push_back(&post);
        } else {
            end(post);
        }
        return true;
    }

    void complete(std::size_t rank, const Completion& completion) {
        if (!completion.token.run) {
            EXPECT_EQ(completion.code, WEFT_BROKEN_RANK);
            lost_[rank].push_back(completion.peer);
            return;
        }
        Post& post = *static_cast<Post*>(completion.token.run);
        ASSERT_EQ(completion.token.op, post.number);
        ASSERT_EQ(static_cast<std::size_t>(post.rank), rank);
        ASSERT_FALSE(post.is_forgotten) << "completed after it was abandoned";
        ASSERT_FALSE(post.is_done) << "completed twice";
        std::deque<Post*>& lane = pending_[end_of(post)];
        ASSERT_EQ(lane.front(), &post) << "completed before an earlier one of its lane";
        lane.pop_front();
        post.result = completion;
        end(post);
    }

    void end(Post& post) {
        post.is_done = true;
        --outstanding_;
        EXPECT_TRUE(post.guards_hold()) << "written outside a buffer of " << post.bytes << " bytes";
    }

    void forget(const std::function<bool(const Post&)>& which) {
        for (Post& post : posts_) {
            if (post.is_done || post.is_forgotten || !which(post)) continue;
            post.is_forgotten = true;
            --outstanding_;
            pending_.erase(end_of(post));
        }
        std::erase_if(backlog_, [](const Post* post) { return post->is_forgotten; });
    }

    std::unique_ptr<TransportWorld> world_;
    std::vector<std::unique_ptr<CheckingTransport>> checkers_;
    Prng random_;
    std::vector<std::vector<Rank>> lost_;
    std::vector<bool> dead_;
    std::deque<Post> posts_;
    std::size_t outstanding_ = 0;
    std::deque<Post*> backlog_;                 // not accepted yet
    std::map<End, std::deque<Post*>> pending_;  // accepted, in posting order
};

}  // namespace weft::test
