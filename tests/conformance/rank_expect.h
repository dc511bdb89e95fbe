// For programs that the tests run as ranks: how they begin; a condition that must hold, and what to say otherwise.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "weft/weft.h"

inline int world_rank = -1;
inline int world_size = 0;
inline const char* setting = "";  // of the communicator that is used

[[noreturn]] inline void fail(int line, const char* condition) {
    std::fprintf(stderr, "rank %d, line %d: %s does not hold %s; detail: %s\n", world_rank, line,
                 condition, setting, weft_last_detail());
    std::exit(1);
}

#define EXPECT(condition)                             \
    do {                                              \
        if (!(condition)) fail(__LINE__, #condition); \
    } while (0)

// Returns the world.
inline weft_comm join_job() {
    EXPECT(weft_init() == WEFT_OK);
    EXPECT(weft_comm_rank(weft_comm_world(), &world_rank) == WEFT_OK);
    EXPECT(weft_comm_size(weft_comm_world(), &world_size) == WEFT_OK);
    return weft_comm_world();
}
