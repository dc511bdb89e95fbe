// A lane whose messages match its posts in posting order, but may end in another (a small message
// overtakes the data of a large one). Posts are reported in posting order: one that ends before an
// earlier one waits for it.
//
// `Post` has members `Post* next`, `bool is_over` and `Outcome outcome`; `Message`, an unexpected
// message, has `Message* next`.
//
// Thread safety: none. Invariant: a lane with unexpected messages has no post that waits for one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/chain.h"
#include "transport/transport.h"

namespace weft {

// How a post ended.
struct Outcome {
    weft_status code = WEFT_OK;
    std::int64_t sent_bytes = 0;
    std::int64_t expected_bytes = 0;

    // A message that does not fit its receive.
    static Outcome mismatch(std::uint64_t sent_bytes, std::uint64_t expected_bytes) {
        return {WEFT_BROKEN_MESSAGE, static_cast<std::int64_t>(sent_bytes),
                static_cast<std::int64_t>(expected_bytes)};
    }
};

template <class Post, class Message>
struct MatchingQueue {
    std::uint64_t stream = 0;
    Chain<Post> posts;        // not reported yet
    Post* waiting = nullptr;  // the first that no message has met
    Chain<Message> unexpected;
    bool used = false;

    bool idle() const { return posts.empty() && unexpected.empty(); }

    // A receive for a message that has not come.
    void append_waiting(Post* post) {
        posts.append(post);
        if (waiting == nullptr) waiting = post;
    }

    // The post that the lane's next message meets; null: the message is unexpected.
    Post* match() {
        Post* post = waiting;
        if (post != nullptr) waiting = post->next;
        return post;
    }

    // The post has ended. Calls `report(post, outcome)`, which frees it, for every post that can be
    // reported now; returns how many.
    template <class Report>
    std::size_t end(Post* post, const Outcome& outcome, Report report) {
        if (posts.first != post) [[unlikely]] {
            post->is_over = true;
            post->outcome = outcome;
            return 0;
        }
        report(posts.take_first(), outcome);
        std::size_t reported = 1;
        for (; !posts.empty() && posts.first->is_over; ++reported) {
            Post* first = posts.take_first();
            report(first, first->outcome);
        }
        return reported;
    }

    // All posts that are not over end like this.
    template <class Report>
    void end_all(const Outcome& outcome, Report report) {
        waiting = nullptr;
        while (!posts.empty()) {
            Post* post = posts.take_first();
            report(post, post->is_over ? post->outcome : outcome);
        }
    }

    // Nothing is reported.
    template <class Free>
    void forget(Free free) {
        waiting = nullptr;
        while (!posts.empty()) free(posts.take_first());
    }
};

}  // namespace weft
