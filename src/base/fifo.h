// A queue that keeps its storage, so that a steady state allocates nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace weft {

// An intrusive list: objects linked through their member `next`.

template <class T>
struct Chain {
    T* first = nullptr;
    T* last = nullptr;

    bool empty() const { return first == nullptr; }
    void append(T* object) {
        object->next = nullptr;
        (first == nullptr ? first : last->next) = object;
        last = object;
    }
    T* take_first() {
        T* object = first;
        first = object->next;
        return object;
    }
};

template <class T>
class Fifo {
  public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    T& front() { return slots_[first_]; }

    // Makes room for this many values: up to that, push() does not throw.
    void reserve(std::size_t size) {
        if (size > slots_.size()) grow(std::bit_ceil(size));
    }

    void push(T value) {
        if (size_ == slots_.size()) grow(2 * size_);
        slots_[(first_ + size_) & (slots_.size() - 1)] = std::move(value);
        ++size_;
    }

    void push_front(T value) {
        if (size_ == slots_.size()) grow(2 * size_);
        first_ = (first_ + slots_.size() - 1) & (slots_.size() - 1);
        slots_[first_] = std::move(value);
        ++size_;
    }

    void pop() {
        first_ = (first_ + 1) & (slots_.size() - 1);
        --size_;
    }

    void clear() { size_ = 0; }

    // Keeps the order of the remaining values.
    template <class Predicate>
    void remove_if(Predicate unwanted) {
        for (std::size_t n = size_; n > 0; --n) {
            T value = std::move(front());
            pop();
            if (!unwanted(value)) push(std::move(value));
        }
    }

    std::size_t held_bytes() const { return slots_.size() * sizeof(T); }

  private:
    void grow(std::size_t size) {
        std::vector<T> larger(std::max<std::size_t>(size, 8));
        for (std::size_t i = 0; i < size_; ++i)
            larger[i] = std::move(slots_[(first_ + i) & (slots_.size() - 1)]);
        slots_ = std::move(larger);
        first_ = 0;
    }

    std::vector<T> slots_;  // a power of two, or empty
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace weft
