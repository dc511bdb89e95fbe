// Coroutines that await requests: co_await request, when_all, until, and run. See docs/waiting.md.
#pragma once

#include "weft/weft.hpp"  // first: it says which C++ it needs

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace weft {
inline namespace cpp {

template <class T = void>
class Task;
class Loop;

// Continues coroutines in the program's way: an executor of its own, such as a thread pool.
class Resumer {
  public:
    // Calls ready.resume() once, at once or later, in any thread. Does not throw.
    virtual void resume(std::coroutine_handle<> ready) = 0;
    // An await has set a deadline before all others: the thread that sleeps until loop.deadline()
    // must look again. Called in the thread that awaits. Does not throw.
    virtual void deadline_is_earlier(Loop& loop) { (void)loop; }

  protected:
    ~Resumer() = default;
};

namespace detail {

// What a suspended coroutine awaits. It is in the coroutine's frame, and its address is the cookie
// of all its requests. Its loop's mutex covers it.
class Await {
  public:
    Await() = default;
    Await(const Await&) = delete;
    Await& operator=(const Await&) = delete;

    static constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();

    std::uint64_t cookie() const { return reinterpret_cast<std::uintptr_t>(this); }
    // Marks the requests, and returns how many are active. One that cannot be marked does not
    // count: the test that follows says what is wrong with it.
    virtual std::size_t mark(weft_completion_queue queue) = 0;
    virtual void unmark() = 0;

    std::coroutine_handle<> coroutine;
    bool is_suspended = false;
    bool has_timed_out = false;
    std::size_t left = 0;  // of the requests
    std::int64_t deadline_ns = no_deadline;
    Await* previous = nullptr;  // in its list
    Await* next = nullptr;

  protected:
    ~Await() = default;
};

// By deadline. Deadlines mostly come in their order.
struct AwaitList {
    Await* first = nullptr;
    Await* last = nullptr;

    void insert(Await& await) {
        Await* before = last;
        while (before && before->deadline_ns > await.deadline_ns) before = before->previous;
        await.previous = before;
        await.next = before ? before->next : first;
        (before ? before->next : first) = &await;
        (await.next ? await.next->previous : last) = &await;
    }
    void remove(Await& await) {
        (await.previous ? await.previous->next : first) = await.next;
        (await.next ? await.next->previous : last) = await.previous;
    }
};

}  // namespace detail

// Resumes coroutines when the requests that they await have completed. Those that still wait when
// it is destroyed are not resumed any more.
//
// Calling   any thread may await on it, and one at a time calls the functions below. A suspended
//           coroutine
//           is destroyed by that thread only.
class Loop {
  public:
    // Coroutines continue inside poll() and wait().
    Loop() = default;
    // They are given to this executor.
    explicit Loop(Resumer& resumer) : resumer_(&resumer) {}
    ~Loop() {
        const std::lock_guard lock(mutex_);
        for (detail::AwaitList* list : {&timed_, &others_}) {
            while (list->first) {
                detail::Await& await = *list->first;
                release(await);
                await.unmark();
            }
        }
    }
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    // For an event loop: when this is readable, and at deadline(), call poll(). Throws
    // WEFT_REFUSED_UNSUPPORTED with the engines `manual` and `fiber`.
    int descriptor() const { return queue_.descriptor(); }

    // The earliest deadline of an await, if there is one.
    std::optional<std::chrono::steady_clock::time_point> deadline() {
        const std::int64_t earliest = earliest_deadline();
        if (earliest == detail::Await::no_deadline) return std::nullopt;
        return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(earliest));
    }

    // Resumes coroutines whose requests have completed, or whose deadline has passed, a bounded
    // number of them; the descriptor stays readable if there are more, so watch it level-triggered.
    // Does not block. Returns how many.
    std::size_t poll() {
        std::size_t resumed = expire();
        for (int taken = 0; taken < polled_max; ++taken) {
            const std::optional<Completed> completed = queue_.next();
            if (!completed) break;
            resumed += settle(completed->cookie);
        }
        return resumed;
    }

    // Blocks until a request has completed or a deadline has passed, spinning and sleeping as
    // Request::wait does, and resumes what awaited that. Serves every engine. With an executor it
    // does not see deadlines that are set later.
    void wait() {
        if (expire() > 0) return;
        const std::int64_t deadline_ns = earliest_deadline();
        Completed completed{};
        const weft_status status = weft_completion_wait_until(queue_.handle(), &completed.cookie,
                                                              &completed.status, deadline_ns);
        if (status == WEFT_TIMED_OUT && deadline_ns != detail::Await::no_deadline) {
            expire();
            return;
        }
        check(status);
        settle(completed.cookie);
    }

    // Begins the task in this thread. It must live until it is done.
    template <class T>
    void start(Task<T>& task) {
        task.begin(*this);
    }

    // Runs the task to its end, and all others that await on this loop. For a loop without
    // an executor. Throws what the task throws, WEFT_INTERRUPTED after weft_interrupt(), and, if no
    // await has a deadline, WEFT_TIMED_OUT after WEFT_TIMEOUT; the task is then destroyed.
    template <class T>
    T run(Task<T> task) {
        if (resumer_)
            throw Error(WEFT_REFUSED_STATE,
                        "the loop has an executor; expected one that resumes by itself "
                        "(weft::Loop::run)");
        start(task);
        while (!task.is_done()) wait();
        return task.get();
    }

    // For awaiters ------------------------------------------------------------------------------

    // False: all requests have completed. Afterwards the coroutine may already run in another
    // thread.
    bool suspend(detail::Await& await, std::coroutine_handle<> coroutine) {
        bool is_earliest = false;
        {
            const std::lock_guard lock(mutex_);
            await.coroutine = coroutine;
            await.left = await.mark(queue_.handle());
            if (await.left == 0) return false;
            await.is_suspended = true;
            list_of(await).insert(await);
            is_earliest = timed_.first == &await;
        }
        if (is_earliest && resumer_) resumer_->deadline_is_earlier(*this);
        return true;
    }

    // The coroutine ends while it is suspended.
    void forget(detail::Await& await) {
        const std::lock_guard lock(mutex_);
        if (!await.is_suspended) return;
        release(await);
        await.unmark();
    }

  private:
    static constexpr int polled_max = 256;

    void resume(std::coroutine_handle<> coroutine) {
        if (resumer_)
            resumer_->resume(coroutine);
        else
            coroutine.resume();
    }

    // One of its requests has completed. Returns whether the coroutine was resumed.
    std::size_t settle(std::uint64_t cookie) {
        detail::Await& await =
            *reinterpret_cast<detail::Await*>(static_cast<std::uintptr_t>(cookie));
        {
            const std::lock_guard lock(mutex_);
            if (--await.left > 0) return 0;
            release(await);
        }
        resume(await.coroutine);
        return 1;
    }

    // Resumes those whose deadline has passed; returns how many.
    std::size_t expire() {
        if (earliest_deadline() == detail::Await::no_deadline) return 0;
        const std::int64_t now_ns = detail::deadline_ns(std::chrono::steady_clock::now());
        std::size_t resumed = 0;
        while (true) {
            std::coroutine_handle<> coroutine;
            {
                const std::lock_guard lock(mutex_);
                if (!timed_.first || timed_.first->deadline_ns > now_ns) return resumed;
                detail::Await& await = *timed_.first;
                release(await);
                await.unmark();
                await.has_timed_out = true;
                coroutine = await.coroutine;
            }
            resume(coroutine);
            ++resumed;
        }
    }

    std::int64_t earliest_deadline() {
        const std::lock_guard lock(mutex_);
        return timed_.first ? timed_.first->deadline_ns : detail::Await::no_deadline;
    }

    detail::AwaitList& list_of(const detail::Await& await) {
        return await.deadline_ns == detail::Await::no_deadline ? others_ : timed_;
    }

    // It is not suspended any more.
    void release(detail::Await& await) {
        await.is_suspended = false;
        list_of(await).remove(await);
    }

    CompletionQueue queue_;
    Resumer* resumer_ = nullptr;
    std::mutex mutex_;
    detail::AwaitList timed_;   // those that are suspended and have a deadline
    detail::AwaitList others_;  // and that have none
};

// --- Requests ------------------------------------------------------------------------------------

namespace detail {

// A coroutine's loop is what its promise says.
template <class Promise>
Loop& loop_of(Promise& promise, Loop* chosen) {
    if (chosen) return *chosen;
    if constexpr (requires { static_cast<Loop*>(promise.weft_loop()); }) {
        if (Loop* loop = promise.weft_loop()) return *loop;
    }
    throw Error(WEFT_REFUSED_STATE,
                "the coroutine has no loop; expected a weft::Task that a loop runs, or .on(loop) "
                "(co_await)");
}

// The handles of requests, wherever these are.
template <std::size_t n>
class Scattered {
  public:
    explicit Scattered(std::array<Request*, n> requests) : requests_(requests) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (requests[i] == requests[j])
                    throw Error(WEFT_REFUSED_ARGUMENT, "a request is named twice (weft::when_all)");
    }
    weft_status test() {
        std::array<weft_request, n> copies{};
        for (std::size_t i = 0; i < n; ++i) copies[i] = requests_[i]->handle();
        const weft_status status = weft_testall(n, copies.data(), nullptr);
        for (std::size_t i = 0; i < n; ++i)
            *detail::handles(std::span(requests_[i], 1)) = copies[i];
        return status;
    }
    template <class Function>
    void each(Function function) const {
        for (const Request* request : requests_) function(request->handle());
    }

  private:
    std::array<Request*, n> requests_;
};

class InOneArray {
  public:
    explicit InOneArray(std::span<Request> requests) : requests_(requests) {}
    weft_status test() {
        return weft_testall(requests_.size(), detail::handles(requests_), nullptr);
    }
    template <class Function>
    void each(Function function) const {
        for (const Request& request : requests_) function(request.handle());
    }

  private:
    std::span<Request> requests_;
};

// `may_time_out`: gives false when the deadline passes first.
template <class Requests, bool may_time_out>
class [[nodiscard]] RequestsAwait final : Await {
  public:
    RequestsAwait(Requests requests, Loop* loop, std::int64_t deadline)
        : requests_(requests), loop_(loop) {
        deadline_ns = deadline;
    }
    ~RequestsAwait() {
        if (is_suspended) loop_->forget(*this);
    }

    // For a coroutine that no loop runs.
    auto on(Loop& loop) const { return RequestsAwait(requests_, &loop, deadline_ns); }

    // co_await then gives whether all have completed. If not, they go on.
    RequestsAwait<Requests, true> until(std::chrono::steady_clock::time_point deadline) const {
        return {requests_, loop_, detail::deadline_ns(deadline)};
    }

    bool await_ready() { return is_complete_ = done(requests_.test()); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> suspended) {
        loop_ = &loop_of(suspended.promise(), loop_);
        return loop_->suspend(*this, suspended);
    }
    auto await_resume() {
        // What completed before its loop saw that the deadline had passed has completed.
        if (has_timed_out && done(requests_.test()))
            has_timed_out = false;
        else if (!is_complete_ && !has_timed_out)
            check(requests_.test());
        if constexpr (may_time_out) return !has_timed_out;
    }

  private:
    std::size_t mark(weft_completion_queue queue) override {
        std::size_t active = 0;
        requests_.each([&](weft_request request) {
            if (request == WEFT_REQUEST_NULL) return;
            active += weft_request_notify(request, queue, cookie()) == WEFT_OK;
        });
        return active;
    }
    void unmark() override {
        requests_.each([](weft_request request) {
            (void)weft_request_notify(request, WEFT_COMPLETION_QUEUE_NULL, 0);
        });
    }

    Requests requests_;
    Loop* loop_;
    bool is_complete_ = false;
};

}  // namespace detail

// co_await when_all(...): all these requests have completed. Throws the first failure in their
// order.
template <class... Requests>
requires(sizeof...(Requests) > 0 && (std::same_as<std::remove_cvref_t<Requests>, Request> &&
                                     ...)) auto when_all(Requests&&... requests) {
    using List = detail::Scattered<sizeof...(Requests)>;
    return detail::RequestsAwait<List, false>(
        List(std::array<Request*, sizeof...(Requests)>{&requests...}), nullptr,
        detail::Await::no_deadline);
}
inline auto when_all(std::span<Request> requests) {
    return detail::RequestsAwait<detail::InOneArray, false>(detail::InOneArray(requests), nullptr,
                                                            detail::Await::no_deadline);
}

// co_await until(request, deadline): whether it has completed. If not, the operation goes on.
inline auto until(Request& request, std::chrono::steady_clock::time_point deadline) {
    return when_all(request).until(deadline);
}

// co_await request: it has completed. Throws its failure.
inline auto operator co_await(Request& request) { return when_all(request); }
inline auto operator co_await(Request&& request) { return when_all(request); }

// --- Tasks ---------------------------------------------------------------------------------------

namespace detail {

// Counts tasks that run side by side down.
struct Group {
    std::coroutine_handle<> continuation;
    std::atomic<std::size_t> left{0};
    bool is_last() { return left.fetch_sub(1, std::memory_order_acq_rel) == 1; }
};

struct PromiseBase {
    Loop* loop = nullptr;
    std::coroutine_handle<> continuation;
    Group* group = nullptr;
    bool has_begun = false;

    // Once.
    void begin() {
        if (std::exchange(has_begun, true))
            throw Error(WEFT_REFUSED_STATE,
                        "the task has begun before; expected one that nobody has started or "
                        "awaited (weft::Task)");
    }
    Loop* weft_loop() const noexcept { return loop; }

    struct AtEnd {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
            PromiseBase& promise = ended.promise();
            if (promise.group)
                return promise.group->is_last() ? promise.group->continuation
                                                : std::noop_coroutine();
            return promise.continuation ? promise.continuation : std::noop_coroutine();
        }
        void await_resume() const noexcept {}
    };
    std::suspend_always initial_suspend() const noexcept { return {}; }
    AtEnd final_suspend() const noexcept { return {}; }
};

template <class T>
struct Promise : PromiseBase {
    std::variant<std::monostate, T, std::exception_ptr> result;

    Task<T> get_return_object();
    template <std::convertible_to<T> Value>
    void return_value(Value&& value) {
        result.template emplace<1>(std::forward<Value>(value));
    }
    void unhandled_exception() { result.template emplace<2>(std::current_exception()); }
    void check() const {
        if (const auto* error = std::get_if<2>(&result)) std::rethrow_exception(*error);
    }
    T take() {
        check();
        return std::move(std::get<1>(result));
    }
};

template <>
struct Promise<void> : PromiseBase {
    std::exception_ptr error;

    Task<void> get_return_object();
    void return_void() const noexcept {}
    void unhandled_exception() { error = std::current_exception(); }
    void check() const {
        if (error) std::rethrow_exception(error);
    }
    void take() const { check(); }
};

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<Task<T>> = true;

}  // namespace detail

// A coroutine that a loop runs, with a result. It begins when a loop starts it, or when another one
// awaits it, which also gives it its loop.
template <class T>
class [[nodiscard]] Task {
  public:
    using promise_type = detail::Promise<T>;

    explicit Task(std::coroutine_handle<promise_type> made) noexcept : coroutine_(made) {}
    Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        Task taken(std::move(other));
        std::swap(coroutine_, taken.coroutine_);
        return *this;
    }
    // Not while it runs.
    ~Task() {
        if (coroutine_) coroutine_.destroy();
    }

    bool is_done() const { return coroutine_.done(); }
    // The result, once. Throws what the task has thrown. REQUIRES: is_done().
    T get() { return coroutine_.promise().take(); }

    void begin(Loop& loop) {
        coroutine_.promise().begin();
        coroutine_.promise().loop = &loop;
        coroutine_.resume();
    }

    // Another coroutine waits for its end.
    auto operator co_await() & { return Awaiter(coroutine_); }
    auto operator co_await() && { return Awaiter(coroutine_); }

    promise_type& promise() const { return coroutine_.promise(); }
    std::coroutine_handle<> coroutine() const { return coroutine_; }

  private:
    class Awaiter {
      public:
        explicit Awaiter(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
        Awaiter(const Awaiter&) = delete;
        Awaiter& operator=(const Awaiter&) = delete;
        // Of a coroutine that is destroyed while it waits: the task goes on alone.
        ~Awaiter() {
            if (waits_) coroutine_.promise().continuation = nullptr;
        }

        bool await_ready() const { return coroutine_.done(); }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) {
            promise_type& promise = coroutine_.promise();
            Loop& loop = detail::loop_of(parent.promise(), nullptr);
            promise.begin();
            promise.loop = &loop;
            promise.continuation = parent;
            waits_ = true;
            return coroutine_;
        }
        T await_resume() {
            waits_ = false;
            return coroutine_.promise().take();
        }

      private:
        std::coroutine_handle<promise_type> coroutine_;
        bool waits_ = false;
    };

    std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T>
Task<T> Promise<T>::get_return_object() {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

// `Tasks` begins with(function): calls function(task) for each.
template <class Tasks>
class [[nodiscard]] TasksAwait {
  public:
    explicit TasksAwait(Tasks tasks) : tasks_(tasks) {}
    TasksAwait(const TasksAwait&) = delete;
    TasksAwait& operator=(const TasksAwait&) = delete;
    // Of a coroutine that is destroyed while it waits: the tasks go on alone.
    ~TasksAwait() {
        if (!waits_) return;
        tasks_.each([](auto& task) { task.promise().group = nullptr; });
    }

    bool await_ready() const { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> parent) {
        Loop& loop = loop_of(parent.promise(), nullptr);
        group_.continuation = parent;
        group_.left = 1;  // this call
        tasks_.each([&](auto& task) { group_.left += !task.is_done(); });
        tasks_.each([](auto& task) {
            if (!task.is_done()) task.promise().begin();
        });
        waits_ = true;
        tasks_.each([&](auto& task) {
            if (task.is_done()) return;
            task.promise().group = &group_;
            task.promise().loop = &loop;
            task.coroutine().resume();
        });
        return !group_.is_last();
    }
    void await_resume() {
        waits_ = false;
        tasks_.each([](auto& task) { task.promise().check(); });
    }

  private:
    Tasks tasks_;
    Group group_;
    bool waits_ = false;
};

template <class... Ts>
struct TaskPointers {
    std::tuple<Task<Ts>*...> tasks;
    template <class Function>
    void each(Function function) const {
        std::apply([&](auto*... task) { (function(*task), ...); }, tasks);
    }
};

template <class T>
struct TasksInOneArray {
    std::span<Task<T>> tasks;
    template <class Function>
    void each(Function function) const {
        for (Task<T>& task : tasks) function(task);
    }
};

}  // namespace detail

// co_await when_all(...): begins these tasks side by side and waits until all have ended; get()
// then has their results. Throws the first failure in their order.
template <class... Ts>
requires(sizeof...(Ts) > 0) auto when_all(Task<Ts>&... tasks) {
    return detail::TasksAwait(detail::TaskPointers<Ts...>{{&tasks...}});
}
template <class... Ts>
requires(sizeof...(Ts) > 0) auto when_all(Task<Ts>&&... tasks) {
    return detail::TasksAwait(detail::TaskPointers<Ts...>{{&tasks...}});
}
template <class T>
auto when_all(std::span<Task<T>> tasks) {
    return detail::TasksAwait(detail::TasksInOneArray<T>{tasks});
}

// Runs the task to its end on a loop of its own, in this thread, with any engine.
template <class T>
T run(Task<T> task) {
    Loop loop;
    return loop.run(std::move(task));
}

}  // namespace cpp
}  // namespace weft
