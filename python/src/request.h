// Requests, and the operations and buffers behind them; queues of completions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "buffer.h"

namespace weft_python {

// What a receive has got.
struct Status {
    int source = WEFT_RANK_NONE;
    int tag = 0;
    std::size_t count = 0;  // elements
};

// An operation with what it uses until it has ended. It may outlive its Request.
struct Operation {
    Operation(const char* method, weft_form form)
        : call(method), is_persistent(form == WEFT_PERSISTENT) {}

    weft_request handle = WEFT_REQUEST_NULL;
    const char* call;  // the method that made it
    bool is_persistent;
    bool is_active = false;
    int waiting = 0;  // threads
    Buffer send;
    Buffer recv;
    nb::object result = nb::none();
    std::optional<Status> arrives;   // of a receive; any source is known in the end
    std::vector<nb::object> others;  // reductions and schedules of the program's
};

// Waits until an operation without a Request has completed, and returns it. Throws its failure.
std::unique_ptr<Operation> complete(std::unique_ptr<Operation> operation);

// Takes an operation whose Request is gone: it goes on, and keeps its buffers until it has ended.
void abandon(std::unique_ptr<Operation> operation);
// Lets go of those that have ended; returns how many go on. Cheap if there is none.
std::size_t sweep();
// At the end of the interpreter: requests are no longer warned of.
void leave();

// Completions for one event loop, or for a thread that waits in its own way.
class Queue {
  public:
    Queue() { check(weft_completion_queue_create(&handle_), "CompletionQueue"); }
    ~Queue() { (void)weft_completion_queue_free(&handle_); }
    Queue(const Queue&) = delete;

    int fileno();
    // Takes the callback of the next completion; None: there is none yet.
    nb::object next();
    nb::object wait(std::int64_t deadline_ns);
    // Calls the callbacks of all completions.
    std::size_t dispatch();
    std::size_t size() const { return callbacks_.size(); }

    // For requests: a mark is the number of a callback.
    weft_completion_queue handle() const { return handle_; }
    std::uint64_t add(nb::object callback);
    bool has(std::uint64_t mark) const { return callbacks_.count(mark) != 0; }
    void remove(std::uint64_t mark) { callbacks_.erase(mark); }

  private:
    nb::object take(std::uint64_t mark);

    weft_completion_queue handle_ = WEFT_COMPLETION_QUEUE_NULL;
    std::uint64_t last_mark_ = 0;
    std::unordered_map<std::uint64_t, nb::object> callbacks_;
};

// All functions need the GIL; `wait` gives it away.
class Request {
  public:
    explicit Request(std::unique_ptr<Operation> operation) : operation_(std::move(operation)) {}
    Request(const Request&) = delete;
    ~Request();

    // Whether it has completed. Throws its failure.
    bool test();
    // Returns the result. Throws the operation's failure, or TimedOut, or what a signal handler
    // raises; after these two the operation goes on.
    nb::object wait(std::int64_t deadline_ns);
    void start();
    void free();
    // Lets `queue` hand out `callback` when it has completed.
    void mark(nb::object queue, nb::object callback);
    void unmark();

    const char* call() const { return operation_->call; }
    nb::object result() const { return operation_->result; }
    // A Status; None: it is no receive, or has not received.
    nb::object status() const;
    bool is_active() const { return operation_->is_active; }
    bool is_persistent() const { return operation_->is_persistent; }

  private:
    Queue& queue() const { return *nb::inst_ptr<Queue>(queue_); }
    void refuse_if_marked(const char* call) const;
    void finish(weft_status status);
    void raise_failure() const;

    std::unique_ptr<Operation> operation_;
    // Not an exception, whose traceback would refer to this request. WEFT_PENDING: none yet.
    weft_status outcome_ = WEFT_PENDING;
    std::string sentence_;  // of a failure, if outcome_ is one
    nb::object queue_;      // it is marked for
    std::uint64_t mark_ = 0;
};

// As Python has it.
using RequestObject = nb::typed<nb::object, Request>;
RequestObject make_request(std::unique_ptr<Operation> operation);

}  // namespace weft_python
