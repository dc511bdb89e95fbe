// The part of libpmix's ABI that Weft uses: PMIx Standard 4.1, chapters 3 to 7 and appendix;
// unchanged since version 2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::pmix {

using Code = int;
constexpr Code success = 0;

// pmix_proc_t
struct ProcessId {
    char space[256];
    std::uint32_t rank;
};
constexpr std::uint32_t every_rank = 0xfffffffe;  // PMIX_RANK_WILDCARD

// pmix_value_t
struct Value {
    static constexpr std::uint16_t boolean = 1;  // PMIX_BOOL
    static constexpr std::uint16_t text = 3;     // PMIX_STRING
    static constexpr std::uint16_t number = 14;  // PMIX_UINT32

    std::uint16_t type;
    union {
        bool flag;
        char* string;
        std::uint32_t uint32;
        void* room[3];
    } data;
};

// pmix_info_t
struct Info {
    char key[512];
    std::uint32_t flags;
    Value value;
};

constexpr std::uint8_t everywhere = 3;  // PMIX_GLOBAL
constexpr const char* job_size = "pmix.job.size";
constexpr const char* collect = "pmix.collect";

using Finished = void (*)(Code, void*);

// The functions PMIx_<name>.
struct Functions {
    Code (*Init)(ProcessId*, Info*, std::size_t);
    Code (*Finalize)(const Info*, std::size_t);
    Code (*Put)(std::uint8_t, const char*, Value*);
    Code (*Commit)();
    Code (*Fence_nb)(const ProcessId*, std::size_t, const Info*, std::size_t, Finished, void*);
    Code (*Get)(const ProcessId*, const char*, const Info*, std::size_t, Value**);
    const char* (*Error_string)(Code);
};

}  // namespace weft::pmix
