// Storage that is handed out, taken back and never returned to the heap: a steady state allocates
// nothing, however many posts and early messages come and go.
//
// Thread safety: none.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace weft {

// Objects of one type that carry a `next` pointer.
template <class T>
class Pool {
  public:
    T* take() {
        if (free_ == nullptr) grow();
        T* object = free_;
        free_ = object->next;
        return object;
    }

    void give_back(T* object) {
        object->next = free_;
        free_ = object;
    }

  private:
    void grow() {
        constexpr std::size_t batch = 64;
        batches_.push_back(std::make_unique<T[]>(batch));
        for (std::size_t i = 0; i < batch; ++i) give_back(&batches_.back()[i]);
    }

    T* free_ = nullptr;
    std::vector<std::unique_ptr<T[]>> batches_;
};

// Blocks of bytes, each of the power of two that holds it.
class BlockPool {
  public:
    std::byte* take(std::size_t bytes) {
        std::vector<std::byte*>& free = free_[size_class(bytes)];
        if (free.empty()) {
            blocks_.push_back(std::make_unique<std::byte[]>(std::size_t{1} << size_class(bytes)));
            return blocks_.back().get();
        }
        std::byte* block = free.back();
        free.pop_back();
        return block;
    }

    void give_back(std::byte* block, std::size_t bytes) {
        free_[size_class(bytes)].push_back(block);
    }

  private:
    static std::size_t size_class(std::size_t bytes) {
        return bytes <= 64 ? 6 : static_cast<std::size_t>(std::bit_width(bytes - 1));
    }

    std::array<std::vector<std::byte*>, 64> free_;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace weft
