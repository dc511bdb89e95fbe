// A lane whose messages match its posts in posting order, but may end in another (a small message
// overtakes the data of a large one). Posts are reported in posting order: one that ends before an
// earlier one waits for it.
//
// `Post` has members `Post* next`, `bool is_over` and `Outcome outcome`; `Message`, an unexpected
// message, has `Message* next`.
//
// Thread safety: none. Invariant: a lane with unexpected messages has no post that waits for one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fifo.h"
#include "base/pool.h"
#include "transport/transport.h"

namespace weft {

// Where a transport keeps unexpected messages. Nothing here throws: it is used while a transport
// polls.
//
// `Message` has members `Message* next`, `std::byte* data` and a number `bytes`.
//
// Thread safety: none.
template <class Message>
class UnexpectedStore {
  public:
    // A message with room for its bytes, none if it has none. Null: out of memory.
    Message* take(std::size_t bytes) {
        Message* message = take_without_room(bytes);
        if (message == nullptr || make_room(*message)) return message;
        messages_.give_back(message);
        return nullptr;
    }

    // A message of which only the RTS has arrived.
    Message* take_without_room(std::size_t bytes) {
        Message* message = messages_.try_take();
        if (message == nullptr) return nullptr;
        *message = {.bytes = bytes};
        taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return message;
    }

    // Its bytes will come before its receive after all. False: out of memory.
    bool make_room(Message& message) {
        if (message.bytes == 0) return true;
        message.data = blocks_.try_take(message.bytes);
        if (message.data == nullptr) return false;
        bytes_ += message.bytes;
        bytes_max_ = std::max(bytes_max_, bytes_);
        return true;
    }

    void release(Message* message) {
        if (message->data != nullptr) {
            blocks_.give_back(message->data, message->bytes);
            bytes_ -= message->bytes;
        }
        messages_.give_back(message);
    }

    // Of the messages that there is room for now, and the most there were.
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t bytes_max() const { return bytes_max_; }
    // How many there have been. Any thread may ask.
    std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
    std::size_t held_bytes() const { return messages_.held_bytes() + blocks_.held_bytes(); }

  private:
    Pool<Message> messages_;
    BlockPool blocks_;
    std::uint64_t bytes_ = 0;
    std::uint64_t bytes_max_ = 0;
    std::atomic<std::uint64_t> taken_ = 0;
};

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
