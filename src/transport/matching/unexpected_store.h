// Where a transport keeps messages that came before their receives were posted. Nothing here
// throws: it is used while a transport polls.
//
// `Message` has members `Message* next`, `std::byte* data` and a number `bytes`.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/pool.h"

namespace weft {

template <class Message>
class UnexpectedStore {
  public:
    // A message with room for its bytes, none if it has none. Null: out of memory.
    Message* take(std::size_t bytes) {
        Message* message = announce(bytes);
        if (message == nullptr || make_room(*message)) return message;
        messages_.give_back(message);
        return nullptr;
    }

    // A message of which only the announcement has come.
    Message* announce(std::size_t bytes) {
        Message* message = messages_.try_take();
        if (message != nullptr) *message = {.bytes = bytes};
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
    std::size_t held_bytes() const { return messages_.held_bytes() + blocks_.held_bytes(); }

  private:
    Pool<Message> messages_;
    BlockPool blocks_;
    std::uint64_t bytes_ = 0;
    std::uint64_t bytes_max_ = 0;
};

}  // namespace weft
