// Memory in huge pages: a simulation of many ranks reads it in no order, and looking up the addresses of
// small pages would take longer than the reads.
#pragma once

#include <sys/mman.h>

#include <memory_resource>

namespace weft::simulate {

class HugePages final : public std::pmr::memory_resource {
    static constexpr std::size_t page_bytes = std::size_t{2} << 20;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes < page_bytes) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
        void* const memory = std::pmr::new_delete_resource()->allocate(bytes, page_bytes);
        (void)madvise(memory, bytes, MADV_HUGEPAGE);  // without it, it is slower
        return memory;
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(memory, bytes,
                                                    bytes < page_bytes ? alignment : page_bytes);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

}  // namespace weft::simulate
