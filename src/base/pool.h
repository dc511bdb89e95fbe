// Pools of objects and of blocks, which never return storage to the heap: a steady state allocates
// nothing. Giving back never allocates.
//
// Thread safety: none.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

namespace weft {

// Objects of one type with a `next` pointer.
template <class T>
class Pool {
  public:
    Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() {
        while (batches_ != nullptr) delete std::exchange(batches_, batches_->next);
    }

    T* take() {
        if (free_ == nullptr && !grow()) [[unlikely]]
            throw std::bad_alloc();
        T* object = free_;
        free_ = object->next;
        return object;
    }

    // Null: out of memory.
    T* try_take() { return free_ != nullptr || grow() ? take() : nullptr; }

    void give_back(T* object) {
        object->next = free_;
        free_ = object;
    }

    // The next take() takes nothing from the heap.
    bool has_free() const { return free_ != nullptr; }
    // How many objects there are, taken or free; and how many more when the pool grows.
    std::size_t objects() const { return objects_; }
    static constexpr std::size_t batch = 64;

    std::size_t held_bytes() const { return objects_ * sizeof(T); }

  private:
    struct Batch {
        Batch* next = nullptr;
        std::array<T, batch> objects{};
    };

    bool grow() {
        Batch* made = new (std::nothrow) Batch;
        if (made == nullptr) return false;
        made->next = std::exchange(batches_, made);
        for (T& object : made->objects) give_back(&object);
        objects_ += batch;
        return true;
    }

    T* free_ = nullptr;
    Batch* batches_ = nullptr;
    std::size_t objects_ = 0;
};

// Blocks of bytes, rounded up to a power of two.
class BlockPool {
  public:
    BlockPool() = default;
    BlockPool(const BlockPool&) = delete;
    BlockPool& operator=(const BlockPool&) = delete;
    ~BlockPool() {
        while (blocks_ != nullptr) ::operator delete(std::exchange(blocks_, blocks_->next));
    }

    // Null: out of memory.
    std::byte* try_take(std::size_t bytes) {
        Hook*& free = free_[size_class(bytes)];
        if (free != nullptr) return reinterpret_cast<std::byte*>(std::exchange(free, free->next));
        const std::size_t whole = std::size_t{1} << size_class(bytes);
        void* memory = ::operator new(head_bytes + whole, std::nothrow);
        if (memory == nullptr) return nullptr;
        blocks_ = new (memory) Hook{blocks_};
        held_bytes_ += whole;
        return static_cast<std::byte*>(memory) + head_bytes;
    }

    void give_back(std::byte* block, std::size_t bytes) {
        Hook*& free = free_[size_class(bytes)];
        free = new (block) Hook{free};
    }

    std::size_t held_bytes() const { return held_bytes_; }

  private:
    // In every free block, and before every block, where it links all of them.
    struct Hook {
        Hook* next;
    };
    static constexpr std::size_t head_bytes = alignof(std::max_align_t);

    static std::size_t size_class(std::size_t bytes) {
        return bytes <= 64 ? 6 : static_cast<std::size_t>(std::bit_width(bytes - 1));
    }

    std::array<Hook*, 64> free_{};
    Hook* blocks_ = nullptr;
    std::size_t held_bytes_ = 0;
};

}  // namespace weft
