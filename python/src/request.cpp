#include "request.h"

#include <sched.h>

#include <utility>

#include "waiting.h"

namespace weft_python {
namespace {

// Never destroyed: Weft may still write to their buffers when the process ends.
auto& abandoned = *new std::vector<std::unique_ptr<Operation>>;

bool is_leaving = false;

// The class Request of Python's, which lives as long as the process.
PyObject* request_class = nullptr;

// `handle` is a copy: another thread may complete the request meanwhile.
weft_status wait_for(weft_request handle, std::int64_t deadline_ns) {
    return interruptible(
        [&](std::int64_t until_ns) {
            return until_ns == no_deadline ? weft_wait(&handle)
                                           : weft_wait_until(&handle, until_ns);
        },
        deadline_ns);
}

void warn_of_drop(const Operation& operation) {
    const nb::error_scope kept;
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "weft: a request of %s was dropped before it had completed; wait for it. "
                         "Its buffers are kept until the operation has ended",
                         operation.call) != 0) {
        PyErr_WriteUnraisable(nullptr);
    }
}

}  // namespace

void abandon(std::unique_ptr<Operation> operation) { abandoned.push_back(std::move(operation)); }

void leave() { is_leaving = true; }

std::size_t sweep() {
    if (abandoned.empty()) [[likely]]
        return 0;
    // (Letting go of a buffer may run code of the program's that comes here.)
    std::vector<std::unique_ptr<Operation>> all = std::exchange(abandoned, {});
    for (std::unique_ptr<Operation>& operation : all) {
        if (operation->is_active && weft_test(&operation->handle) == WEFT_PENDING) {
            abandoned.push_back(std::move(operation));
        } else if (operation->is_persistent) {
            (void)weft_request_free(&operation->handle);
        }
    }
    return abandoned.size();
}

std::unique_ptr<Operation> complete(std::unique_ptr<Operation> operation) {
    weft_request handle = operation->handle;
    weft_status status = weft_test(&handle);
    if (status == WEFT_PENDING) {
        try {
            status = wait_for(handle, no_deadline);
        } catch (...) {
            abandon(std::move(operation));
            throw;
        }
    }
    if (status == WEFT_OK) [[likely]]
        return operation;
    const nb::object error = make_error(status, weft_last_detail(), operation->call);
    if (status == WEFT_TIMED_OUT) abandon(std::move(operation));
    raise(error);
}

// --- Requests ----------------------------------------------------------------------------------

// (Made in place: nb::cast would look for the object that a Request has already.)
RequestObject make_request(std::unique_ptr<Operation> operation) {
    nb::object object;
    try {
        object = nb::inst_alloc(request_class);
    } catch (...) {
        abandon(std::move(operation));
        throw;
    }
    new (nb::inst_ptr<Request>(object)) Request(std::move(operation));
    nb::inst_mark_ready(object);
    return object;
}

Request::~Request() {
    unmark();
    if (operation_->is_active) {
        if (weft_is_initialized() && !is_leaving) warn_of_drop(*operation_);
        abandon(std::move(operation_));
    } else if (operation_->is_persistent) {
        (void)weft_request_free(&operation_->handle);
    }
}

void Request::refuse_if_marked(const char* call) const {
    if (!mark_ || !queue().has(mark_)) return;
    refuse("the request is awaited or has a callback, and these complete it", call,
           WEFT_REFUSED_STATE);
}

void Request::raise_failure() const {
    if (outcome_ < WEFT_OK) raise(make_error(outcome_, sentence_.c_str(), operation_->call));
}

// Takes the status of a test or wait that has completed it.
void Request::finish(weft_status status) {
    Operation& operation = *operation_;
    if (std::exchange(operation.is_active, false)) {
        outcome_ = status;
        if (status != WEFT_OK) [[unlikely]]
            sentence_ = weft_last_detail();
        queue_.reset();
        mark_ = 0;
        if (!operation.is_persistent) {
            operation.send.release();
            operation.recv.release();
            operation.others.clear();
        }
    }
    raise_failure();
}

bool Request::test() {
    if (operation_->is_active) {
        refuse_if_marked("test");
        weft_request handle = operation_->handle;
        const weft_status status = weft_test(&handle);
        if (status == WEFT_PENDING) return false;
        finish(status);
    } else {
        raise_failure();
    }
    return true;
}

nb::object Request::wait(std::int64_t deadline_ns) {
    if (test()) return operation_->result;
    Operation& operation = *operation_;
    ++operation.waiting;
    weft_status status;
    try {
        status = wait_for(operation.handle, deadline_ns);
    } catch (...) {
        --operation.waiting;
        throw;
    }
    // One of several threads gets the outcome; it stores that when it has the GIL again.
    while (status == WEFT_REFUSED_HANDLE && operation.is_active && operation.waiting > 1) {
        const nb::gil_scoped_release unlocked;
        sched_yield();
    }
    --operation.waiting;
    if (status == WEFT_TIMED_OUT) check(status, operation.call);
    finish(status);
    return operation.result;
}

void Request::start() {
    if (!operation_->is_persistent) {
        refuse("the request is not persistent; expected one of ..._init", "start",
               WEFT_REFUSED_HANDLE);
    }
    sweep();
    check(weft_start(&operation_->handle), operation_->call);
    operation_->is_active = true;
    outcome_ = WEFT_PENDING;
}

nb::object Request::status() const {
    if (!operation_->arrives || outcome_ != WEFT_OK) return nb::none();
    return nb::cast(*operation_->arrives);
}

void Request::free() {
    if (!operation_->is_persistent) {
        refuse("the request is not persistent; expected one of ..._init", "free",
               WEFT_REFUSED_HANDLE);
    }
    check(weft_request_free(&operation_->handle), operation_->call);
    operation_->is_persistent = false;
    operation_->send.release();
    operation_->recv.release();
    operation_->others.clear();
}

void Request::mark(nb::object queue_object, nb::object callback) {
    refuse_if_marked("mark");
    Queue& marked_for = nb::cast<Queue&>(queue_object);
    const std::uint64_t mark = marked_for.add(std::move(callback));
    const weft_status status = weft_request_notify(operation_->handle, marked_for.handle(), mark);
    if (status != WEFT_OK) marked_for.remove(mark);
    check(status, operation_->call);
    queue_ = std::move(queue_object);
    mark_ = mark;
}

void Request::unmark() {
    if (!mark_) return;
    (void)weft_request_notify(operation_->handle, WEFT_COMPLETION_QUEUE_NULL, 0);
    queue().remove(std::exchange(mark_, 0));
    queue_.reset();
}

// --- Queues ------------------------------------------------------------------------------------

int Queue::fileno() {
    int descriptor = -1;
    check(weft_completion_fd(handle_, &descriptor), "fileno");
    return descriptor;
}

std::uint64_t Queue::add(nb::object callback) {
    callbacks_.emplace(++last_mark_, std::move(callback));
    return last_mark_;
}

// None: the mark was taken away.
nb::object Queue::take(std::uint64_t mark) {
    const auto found = callbacks_.find(mark);
    if (found == callbacks_.end()) return nb::none();
    nb::object callback = std::move(found->second);
    callbacks_.erase(found);
    return callback;
}

nb::object Queue::next() {
    nb::object callback = nb::none();
    while (callback.is_none()) {
        std::uint64_t mark = 0;
        weft_status of_request = WEFT_OK;
        const weft_status status = weft_completion_next(handle_, &mark, &of_request);
        if (status == WEFT_PENDING) break;
        check(status, "next");
        callback = take(mark);
    }
    return callback;
}

nb::object Queue::wait(std::int64_t deadline_ns) {
    nb::object callback = next();
    while (callback.is_none()) {
        std::uint64_t mark = 0;
        const weft_status status = interruptible(
            [&](std::int64_t until_ns) {
                weft_status of_request = WEFT_OK;
                return weft_completion_wait_until(handle_, &mark, &of_request, until_ns);
            },
            deadline_ns);
        check(status, "wait");
        callback = take(mark);
    }
    return callback;
}

std::size_t Queue::dispatch() {
    std::size_t calls = 0;
    for (nb::object callback = next(); !callback.is_none(); callback = next()) {
        callback();
        ++calls;
    }
    return calls;
}

// --- Python ------------------------------------------------------------------------------------

void define_requests(nb::module_& module) {
    nb::class_<Queue>(module, "CompletionQueue", nb::is_weak_referenceable(), R"(
Requests that have completed, for an event loop or a thread that waits in its own way.

Watch `fileno()`, and call `dispatch()` when it is readable. Or call `wait()`.
)")
        .def(nb::init<>())
        .def("fileno", &Queue::fileno,
             "Return a descriptor that is readable while there are completions.")
        .def("dispatch", &Queue::dispatch,
             "Call the callbacks of all completions. Return their number.")
        .def("next", &Queue::next, "Return the callback of the next completion, or None.")
        .def(
            "wait",
            [](Queue& queue, nb::handle timeout) { return queue.wait(deadline_of(timeout)); },
            nb::arg("timeout").none() = nb::none(), R"(
Wait for a completion, and return its callback.

Parameters
----------
timeout : float, optional
    Seconds, after which `TimedOut` is raised.
)")
        .def("__len__", &Queue::size, "Return how many marked requests have not completed.");

    nb::class_<Status>(module, "Status", R"(
What a receive has got: `request.status`, or filled by `comm.recv(..., status=status)`.
)")
        .def(nb::init<>())
        .def_ro("source", &Status::source, "The rank that sent it.")
        .def_ro("tag", &Status::tag, "Its tag.")
        .def_ro("count", &Status::count, "Elements of the buffer that it was received into.")
        .def(
            "Get_source", [](const Status& self) { return self.source; }, "As `source`.")
        .def(
            "Get_tag", [](const Status& self) { return self.tag; }, "As `tag`.")
        .def("__repr__", [](const Status& self) {
            return "<weft.Status: source " + std::to_string(self.source) + ", tag " +
                   std::to_string(self.tag) + ", count " + std::to_string(self.count) + ">";
        });

    // (Pooled: Python's objects of completed requests are used again.)
    nb::class_<Request> request(module, "Request", nb::is_weak_referenceable(), nb::pooled(), R"(
An operation: `wait`, `test` or `await` completes it.

The operation owns its buffers until then. A persistent request (`allreduce_init`) can be started
any number of times.
)");
    request_class = request.ptr();
    request
        .def("test", &Request::test, R"(
Return whether the operation has completed.

Raises
------
Error
    The operation has failed. Its class says how.
)")
        .def(
            "wait",
            [](Request& request, nb::handle timeout) { return request.wait(deadline_of(timeout)); },
            nb::arg("timeout").none() = nb::none(), R"(
Wait until the operation has completed.

Other threads run meanwhile. Ctrl-C raises KeyboardInterrupt, and the operation goes on.

Parameters
----------
timeout : float, optional
    Seconds, after which `TimedOut` is raised. The operation goes on, and can be waited for again.

Returns
-------
object
    The buffer with the result; None if this rank gets none.

Raises
------
Error
    The operation has failed. Its class says how.
)")
        .def("start", &Request::start, "Start the operation of a persistent request.")
        .def("free", &Request::free, "Free a persistent request that is not active.")
        .def("mark", &Request::mark, nb::arg("queue"), nb::arg("callback"),
             "Let `queue` call `callback()` once, when the operation has completed.")
        .def("unmark", &Request::unmark, "Take the mark away.")
        .def_prop_ro("result", &Request::result, "The buffer that gets the result, or None.")
        .def_prop_ro("status", &Request::status, nb::sig("def status(self) -> Status | None"),
                     "Of a receive that has completed: from whom it came. Otherwise None.")
        .def_prop_ro("call", &Request::call, "The method that made the request.")
        .def_prop_ro("is_active", &Request::is_active, "Whether it is started and not completed.")
        .def_prop_ro("is_persistent", &Request::is_persistent,
                     "Whether `start` can start it again.");
}

}  // namespace weft_python
