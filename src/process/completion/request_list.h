// The requests that a call names: starts them, and tests or waits for one, any, some or all.
//
// Handles are looked up anew on every use: while a wait sleeps, other threads may complete the same
// requests. A request that is gone when its wait ends was completed by another thread; it counts as
// finished, and its outcome is a refusal.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <cstddef>

#include "process/process.h"
#include "weft/request.h"

namespace weft {

// How many active requests must have finished.
enum class Enough : std::uint8_t { any, all };

class RequestList {
  public:
    // One request: sentences do not name its index. `process`: null if all requests are null.
    RequestList(Process* process, weft_request* request)
        : process_(process), requests_(request), count_(1), single_(true) {}
    RequestList(Process* process, std::size_t count, weft_request* requests)
        : process_(process), requests_(requests), count_(count), single_(false) {}

    // Starts persistent requests: all of them, or none if it refuses one.
    Status start();
    // Frees a single request.
    Status free();

    // Ok if enough have finished or none is active. Otherwise a refusal, WEFT_PENDING (test),
    // WEFT_INTERRUPTED or WEFT_TIMED_OUT (wait), and nothing has been completed.
    Status test(Enough enough);
    Status wait(Enough enough, Engine::Patience patience = {});

    // After that these complete finished requests and return the first bad outcome.

    // All requests. `statuses`: by request, or null.
    Status settle_all(weft_status* statuses);
    // The first that has finished. *index: WEFT_NONE if none was active.
    Status settle_first(std::size_t* index);
    // All that have finished. *completed: how many; WEFT_NONE if none was active.
    Status settle_finished(std::size_t* completed, std::size_t* indices, weft_status* statuses);

  private:
    enum class State : std::uint8_t { inactive, pending, finished };
    class Outcomes;

    Request* find(std::size_t i) const;
    State state(std::size_t i) const;
    State state(std::size_t i, const Request* request) const;
    Status refuse(Status status, std::size_t i) const;
    Status check_handles() const;
    Status check_starts();
    Status check_start(std::size_t i);
    bool finished(Enough enough) { return enough == Enough::any ? any_finished() : all_finished(); }
    bool any_finished();
    bool all_finished();
    Status timed_out() const;
    Status settle(std::size_t i, Request* request);

    Process* process_;
    weft_request* requests_;
    std::size_t count_;
    bool single_;
    std::size_t first_pending_ = 0;
    std::uint64_t seen_finished_ = ~std::uint64_t{0};
};

}  // namespace weft
