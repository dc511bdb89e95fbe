// For programs that the tests run as ranks: what one does with a communicator of all ranks, done in several fibers at
// once.
#pragma once

#include <cstdlib>

#include "conformance/rank_expect.h"

#ifdef WEFT_TEST_HAS_FIBERS
#include <vector>

#include "weft/fiber.hpp"

constexpr int fibers_per_rank = 8;

// In a fiber: runs `body(communicator, number)` in eight others, each with a duplicate of its own.
template <class Body>
void in_fibers(weft_comm world, Body body, weft::fibers::Options options = {}) {
    std::vector<weft_comm> comms(fibers_per_rank);
    std::vector<weft::fibers::Fiber> fibers;
    int rank = 0;
    EXPECT(weft_comm_rank(world, &rank) == WEFT_OK);
    for (weft_comm& comm : comms) EXPECT(weft_comm_dup(world, &comm) == WEFT_OK);
    for (int i = 0; i < fibers_per_rank; ++i) {
        // Ranks begin them in different orders.
        const int number = (i + rank) % fibers_per_rank;
        fibers.push_back(weft::fibers::spawn(
            [&, number] { body(comms[static_cast<std::size_t>(number)], number); }, options));
    }
    for (weft::fibers::Fiber& fiber : fibers) fiber.join();
    for (weft_comm& comm : comms) EXPECT(weft_comm_free(&comm) == WEFT_OK);
}
#endif

// Runs `body(communicator)`: on the world; or, with WEFT_TEST_IN_FIBERS=1, in eight fibers.
template <class Body>
void run_here_or_in_fibers(Body body) {
    if (!std::getenv("WEFT_TEST_IN_FIBERS")) return body(weft_comm_world());
#ifdef WEFT_TEST_HAS_FIBERS
    weft::fibers::run([&] {
        in_fibers(weft_comm_world(), [&](weft_comm own, int) { body(own); },
                  {.stack_bytes = 1024 * 1024});
    });
#else
    EXPECT(!"a build with fibers");
#endif
}

// Runs `body`, which uses the world; with WEFT_TEST_IN_FIBERS=1 in a fiber, beside seven that add up.
template <class Body>
void run_here_or_beside_fibers(Body body) {
    if (!std::getenv("WEFT_TEST_IN_FIBERS")) return body();
#ifdef WEFT_TEST_HAS_FIBERS
    weft::fibers::run([&] {
        in_fibers(weft_comm_world(),
                  [&](weft_comm own, int number) {
                      if (number == 0) return body();
                      for (int round = 0; round < 100; ++round) {
                          int sum = 1;
                          int ranks = 0;
                          EXPECT(weft_comm_size(own, &ranks) == WEFT_OK);
                          EXPECT(weft_allreduce(WEFT_IN_PLACE, &sum, 1, WEFT_INT32, WEFT_SUM,
                                                own) == WEFT_OK);
                          EXPECT(sum == ranks);
                      }
                  },
                  {.stack_bytes = 1024 * 1024});
    });
#else
    EXPECT(!"a build with fibers");
#endif
}
