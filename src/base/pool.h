// Pools of objects and of blocks, which never return storage to the heap: a steady state allocates
// nothing.
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

// Objects of one type with a `next` pointer.
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

    std::size_t held_bytes() const { return batches_.size() * batch * sizeof(T); }

  private:
    static constexpr std::size_t batch = 64;

    void grow() {
        batches_.push_back(std::make_unique<T[]>(batch));
        for (std::size_t i = 0; i < batch; ++i) give_back(&batches_.back()[i]);
    }

    T* free_ = nullptr;
    std::vector<std::unique_ptr<T[]>> batches_;
};

// Blocks of bytes, rounded up to a power of two.
class BlockPool {
  public:
    std::byte* take(std::size_t bytes) {
        if (std::byte* block = try_take(bytes)) return block;
        throw std::bad_alloc();
    }

    // Null: out of memory.
    std::byte* try_take(std::size_t bytes) {
        std::vector<std::byte*>& free = free_[size_class(bytes)];
        if (free.empty()) {
            const std::size_t whole = std::size_t{1} << size_class(bytes);
            std::unique_ptr<std::byte[]> block(new (std::nothrow) std::byte[whole]);
            if (!block) return nullptr;
            held_bytes_ += whole;
            blocks_.push_back(std::move(block));
            return blocks_.back().get();
        }
        std::byte* block = free.back();
        free.pop_back();
        return block;
    }

    void give_back(std::byte* block, std::size_t bytes) {
        free_[size_class(bytes)].push_back(block);
    }

    std::size_t held_bytes() const { return held_bytes_; }

  private:
    static std::size_t size_class(std::size_t bytes) {
        return bytes <= 64 ? 6 : static_cast<std::size_t>(std::bit_width(bytes - 1));
    }

    std::array<std::vector<std::byte*>, 64> free_;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::size_t held_bytes_ = 0;
};

}  // namespace weft
