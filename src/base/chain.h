// An intrusive list: objects linked through their member `next`.
#pragma once

namespace weft {

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

}  // namespace weft
