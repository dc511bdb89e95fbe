// Weft for C++20: owners for the handles of weft.h, ranges for buffers, exceptions for failures. It
// adds no behaviour: the C function of the same name (weft_iallreduce for Communicator::iallreduce)
// says what a function does, costs and requires of the ranks.
//
// Errors    Every status but WEFT_OK is thrown as weft::Error, with its code and its sentence. "Not
//           yet" is not an error: test, and waits with a deadline, return false.
// Buffers   Contiguous ranges of trivially copyable elements; counts follow from their sizes. A
//           buffer lent to an operation must outlive it, so temporaries that own elements do not
//           compile.
// Threads   As in C. Only one thread at a time may use an object.
#pragma once

#if __cplusplus < 201709L
// After #error hundreds of errors would follow. A header that does not exist ends the compilation.
#include "weft.hpp needs C++20 (-std=c++20); C and older C++ programs use weft.h"
#endif

#include <algorithm>
#include <bit>
#include <chrono>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/weft.h"

// A namespace inside weft: some names are also in the library, which a program may link statically.
namespace weft {
inline namespace cpp {

// --- Errors --------------------------------------------------------------------------------------

// A refused call, a failed operation, or a wait that weft_interrupt ended (its request is then
// still pending).
class Error : public std::runtime_error {
  public:
    Error(weft_status code, const std::string& sentence)
        : std::runtime_error(sentence), code_(code) {}

    weft_status code() const noexcept { return code_; }

  private:
    weft_status code_;
};

// Throws the status of a C function, unless it is WEFT_OK.
inline void check(weft_status status) {
    if (status != WEFT_OK) throw Error(status, weft_last_detail());
}

namespace detail {

inline bool done(weft_status status) {
    if (status == WEFT_PENDING || status == WEFT_TIMED_OUT) return false;
    check(status);
    return true;
}

// For destructors: std::terminate shows the sentence, unless an exception is already in flight.
inline void check_at_end(weft_status status) {
    if (std::uncaught_exceptions() == 0) check(status);
}

}  // namespace detail

// --- The job -------------------------------------------------------------------------------------

// Joins the job when constructed, and leaves it when destroyed. One per process; make it before any
// other object of Weft, so that it is destroyed last.
class Environment {
  public:
    Environment() { check(weft_init()); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() {
        if (weft_is_initialized()) detail::check_at_end(weft_finalize());
    }
};

// --- Elements and operations ---------------------------------------------------------------------

// The element of minloc and maxloc.
template <class T>
struct ValueIndex {
    T value;
    std::int32_t index;
    friend bool operator==(const ValueIndex&, const ValueIndex&) = default;
};

// The upper half of a float, for compilers that have no std::bfloat16_t: it converts, and computes
// as a float. From a float it is rounded to the nearest, of two the even one, and a NaN becomes the
// quiet NaN of reductions.
struct bfloat16 {
    std::uint16_t bits;

    bfloat16() = default;
    constexpr explicit bfloat16(float value) noexcept {
        const auto wide = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t rounded = wide + 0x7fffu + (wide >> 16 & 1u);
        bits = value == value ? static_cast<std::uint16_t>(rounded >> 16) : std::uint16_t{0x7fc0};
    }
    constexpr operator float() const noexcept {
        return std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
};

namespace detail {

// The 16-bit floating-point types of the compiler, where it has them.
template <class T>
inline constexpr weft_type half_type = std::is_same_v<T, bfloat16> ? WEFT_BFLOAT16 : WEFT_BYTE;
#ifdef __FLT16_MAX__
__extension__ typedef _Float16 Float16;
template <>
inline constexpr weft_type half_type<Float16> = WEFT_FLOAT16;
#endif
#ifdef __STDCPP_BFLOAT16_T__
template <>
inline constexpr weft_type half_type<decltype(0.0bf16)> = WEFT_BFLOAT16;
#endif

template <class T>
consteval weft_type type() {
    constexpr bool is_number = std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                               !std::is_same_v<T, char> && sizeof(T) <= 8;
    if constexpr (std::is_same_v<T, float>) return WEFT_FLOAT32;
    if constexpr (std::is_same_v<T, double>) return WEFT_FLOAT64;
    if constexpr (half_type<T> != WEFT_BYTE) return half_type<T>;
    if constexpr (std::is_same_v<T, std::complex<float>>) return WEFT_COMPLEX64;
    if constexpr (std::is_same_v<T, std::complex<double>>) return WEFT_COMPLEX128;
    if constexpr (std::is_same_v<T, ValueIndex<float>>) return WEFT_FLOAT32_INT32;
    if constexpr (std::is_same_v<T, ValueIndex<double>>) return WEFT_FLOAT64_INT32;
    if constexpr (std::is_same_v<T, ValueIndex<std::int32_t>>) return WEFT_INT32_INT32;
    if constexpr (std::is_same_v<T, ValueIndex<std::int64_t>>) return WEFT_INT64_INT32;
    if constexpr (is_number && std::is_signed_v<T>) {
        return sizeof(T) == 1   ? WEFT_INT8
               : sizeof(T) == 2 ? WEFT_INT16
               : sizeof(T) == 4 ? WEFT_INT32
                                : WEFT_INT64;
    }
    if constexpr (is_number && std::is_unsigned_v<T>) {
        return sizeof(T) == 1   ? WEFT_UINT8
               : sizeof(T) == 2 ? WEFT_UINT16
               : sizeof(T) == 4 ? WEFT_UINT32
                                : WEFT_UINT64;
    }
    return WEFT_BYTE;
}

}  // namespace detail

// The weft_type of a C++ type. Where there is none (char, bool, enumerations, structs): WEFT_BYTE,
// one per byte.
template <class T>
inline constexpr weft_type type_of = detail::type<T>();

template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

// What reductions take: numbers, also complex ones, pairs and std::byte.
template <class T>
concept Reducible = Element<T> &&(type_of<T> != WEFT_BYTE || std::is_same_v<T, std::byte>);

inline const weft_op sum = WEFT_SUM;
inline const weft_op prod = WEFT_PROD;
inline const weft_op min = WEFT_MIN;
inline const weft_op max = WEFT_MAX;
inline const weft_op land = WEFT_LAND;
inline const weft_op lor = WEFT_LOR;
inline const weft_op lxor = WEFT_LXOR;
inline const weft_op band = WEFT_BAND;
inline const weft_op bor = WEFT_BOR;
inline const weft_op bxor = WEFT_BXOR;
inline const weft_op minloc = WEFT_MINLOC;
inline const weft_op maxloc = WEFT_MAXLOC;
inline const weft_op avg = WEFT_AVG;

enum class Operands { in_any_order, in_rank_order };

// A user-defined reduction: an associative function of two elements, as a lambda without captures,
// so that nothing of it must outlive the operations. It may run in the progress thread and must not
// call Weft. An exception does not get through: it breaks the communicator (WEFT_BROKEN_FUNCTION).
template <Reducible T>
class Operation {
  public:
    template <std::default_initializable F>
    requires std::is_empty_v<F> && std::is_invocable_r_v<T, F, const T&, const T&> Operation(
        F, Operands operands) {
        check(weft_op_create(&apply<F>, operands == Operands::in_any_order, nullptr, &handle_));
    }
    // The sum of operands that are multiplied by `factor` before (weft_op_create_premul_sum).
    static Operation premultiplied_sum(double factor) {
        Operation made;
        check(weft_op_create_premul_sum(factor, &made.handle_));
        return made;
    }
    Operation(Operation&& other) noexcept : handle_(std::exchange(other.handle_, WEFT_OP_NULL)) {}
    Operation& operator=(Operation&& other) noexcept {
        Operation taken(std::move(other));
        std::swap(handle_, taken.handle_);
        return *this;
    }
    ~Operation() {
        if (handle_ != WEFT_OP_NULL) weft_op_free(&handle_);
    }

    weft_op handle() const noexcept { return handle_; }

  private:
    Operation() noexcept = default;

    template <class F>
    static void apply(const void* in, void* inout, std::size_t count, weft_type, void*) {
        const T* left = static_cast<const T*>(in);
        T* right = static_cast<T*>(inout);
        for (std::size_t i = 0; i < count; ++i) right[i] = F{}(left[i], right[i]);
    }

    weft_op handle_ = WEFT_OP_NULL;
};

// What a reduction of elements T takes: one of the constants above or an Operation<T>.
template <Reducible T>
class OperationOn {
  public:
    OperationOn(weft_op handle) noexcept : handle_(handle) {}
    OperationOn(const Operation<T>& own) noexcept : handle_(own.handle()) {}

    weft_op handle() const noexcept { return handle_; }

  private:
    weft_op handle_;
};

// --- Requests ------------------------------------------------------------------------------------

namespace detail {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

inline std::int64_t deadline_ns(Clock::time_point deadline) {
    return std::chrono::nanoseconds(deadline.time_since_epoch()).count();
}

inline Clock::time_point after(std::chrono::nanoseconds timeout) {
    const Clock::time_point now = Clock::now();
    return timeout < Clock::time_point::max() - now ? now + timeout : Clock::time_point::max();
}

}  // namespace detail

// A nonblocking operation that was started, or a persistent one. Null requests, and persistent ones
// that are not started, are complete.
//
// Before it is destroyed or assigned to, it waits for its operation, because the buffers are lent.
// That does not take long, because every other rank also starts the operation or leaves the job.
// Call wait() to learn the outcome: otherwise a failure calls std::terminate, which shows the
// sentence, or is dropped if an exception is already in flight. If WEFT_TIMEOUT passes first, the
// program is terminated in any case: the operation would go on in buffers that are gone.
class [[nodiscard]] Request {
  public:
    Request() noexcept = default;
    explicit Request(weft_request owned) noexcept : handle_(owned) {}
    Request(Request&& other) noexcept : handle_(std::exchange(other.handle_, WEFT_REQUEST_NULL)) {}
    Request& operator=(Request&& other) noexcept {
        Request taken(std::move(other));
        std::swap(handle_, taken.handle_);
        return *this;
    }
    ~Request() {
        if (handle_ == WEFT_REQUEST_NULL || !weft_is_initialized())
            return;  // weft_finalize has freed it
        weft_status status = weft_wait(&handle_);
        if (status == WEFT_INTERRUPTED) {
            while (status == WEFT_INTERRUPTED) status = weft_wait(&handle_);
            weft_interrupt();  // passes it on to a wait that can report it
        }
        if (status == WEFT_TIMED_OUT) check(status);  // terminates: the buffers are still lent
        detail::check_at_end(status);
        detail::check_at_end(weft_request_free(&handle_));
    }

    // Whether it has an operation to be completed, or is persistent.
    explicit operator bool() const noexcept { return handle_ != WEFT_REQUEST_NULL; }
    weft_request handle() const noexcept { return handle_; }

    // Persistent requests only.
    void start() { check(weft_start(&handle_)); }

    bool test() { return detail::done(weft_test(&handle_)); }
    void wait() { check(weft_wait(&handle_)); }

    // False: timed out; the operation goes on, and weft_last_detail() names late ranks.
    [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) {
        return detail::done(weft_wait_until(&handle_, detail::deadline_ns(deadline)));
    }
    [[nodiscard]] bool wait_for(std::chrono::nanoseconds timeout) {
        return wait_until(detail::after(timeout));
    }

  private:
    weft_request handle_ = WEFT_REQUEST_NULL;
};

namespace detail {

// A Request is only its handle, so an array of Requests is an array of handles.
inline weft_request* handles(std::span<Request> requests) {
    static_assert(sizeof(Request) == sizeof(weft_request) && std::is_standard_layout_v<Request>);
    return reinterpret_cast<weft_request*>(requests.data());
}

}  // namespace detail

// As an index or a number of requests: no request was active.
inline constexpr std::size_t none = WEFT_NONE;

inline void start_all(std::span<Request> persistent) {
    check(weft_startall(persistent.size(), detail::handles(persistent)));
}

// Completes all of them, or none. Throws the first failure in array order.
inline bool test_all(std::span<Request> requests) {
    return detail::done(weft_testall(requests.size(), detail::handles(requests), nullptr));
}
inline void wait_all(std::span<Request> requests) {
    check(weft_waitall(requests.size(), detail::handles(requests), nullptr));
}
[[nodiscard]] inline bool wait_all_until(std::span<Request> requests,
                                         std::chrono::steady_clock::time_point deadline) {
    return detail::done(weft_waitall_until(requests.size(), detail::handles(requests), nullptr,
                                           detail::deadline_ns(deadline)));
}
[[nodiscard]] inline bool wait_all_for(std::span<Request> requests,
                                       std::chrono::nanoseconds timeout) {
    return wait_all_until(requests, detail::after(timeout));
}

// `index`: of the completed request; `none` if it returns false or none was active.
inline bool test_any(std::span<Request> requests, std::size_t& index) {
    return detail::done(weft_testany(requests.size(), detail::handles(requests), &index));
}
inline std::size_t wait_any(std::span<Request> requests) {
    std::size_t index = none;
    check(weft_waitany(requests.size(), detail::handles(requests), &index));
    return index;
}

// Returns how many have completed, `none` if none was active. `indices` gets theirs, and must have
// room for all requests.
inline std::size_t test_some(std::span<Request> requests, std::span<std::size_t> indices) {
    std::size_t completed = none;
    if (indices.size() < requests.size())
        throw Error(WEFT_REFUSED_ARGUMENT, "fewer indices than requests (weft::test_some)");
    detail::done(weft_testsome(requests.size(), detail::handles(requests), &completed,
                               indices.data(), nullptr));
    return completed;
}
inline std::size_t wait_some(std::span<Request> requests, std::span<std::size_t> indices) {
    std::size_t completed = none;
    if (indices.size() < requests.size())
        throw Error(WEFT_REFUSED_ARGUMENT, "fewer indices than requests (weft::wait_some)");
    check(weft_waitsome(requests.size(), detail::handles(requests), &completed, indices.data(),
                        nullptr));
    return completed;
}

// --- Completion queues ---------------------------------------------------------------------------

// What a queue hands out: the cookie of a marked request that has completed, and its status.
struct Completed {
    std::uint64_t cookie;
    weft_status status;
};

// Requests that have completed, for a program that waits in its own way (docs/waiting.md). The
// requests are completed by a test or wait, which returns at once.
class CompletionQueue {
  public:
    CompletionQueue() { check(weft_completion_queue_create(&handle_)); }
    CompletionQueue(CompletionQueue&& other) noexcept
        : handle_(std::exchange(other.handle_, WEFT_COMPLETION_QUEUE_NULL)) {}
    CompletionQueue& operator=(CompletionQueue&& other) noexcept {
        CompletionQueue taken(std::move(other));
        std::swap(handle_, taken.handle_);
        return *this;
    }
    // Takes the marks away; the requests go on.
    ~CompletionQueue() {
        if (handle_ != WEFT_COMPLETION_QUEUE_NULL && weft_is_initialized())
            detail::check_at_end(weft_completion_queue_free(&handle_));
    }

    weft_completion_queue handle() const noexcept { return handle_; }

    // Readable while there are completions. Throws WEFT_REFUSED_UNSUPPORTED with the engines
    // `manual` and `fiber`.
    int descriptor() const {
        int descriptor = -1;
        check(weft_completion_fd(handle_, &descriptor));
        return descriptor;
    }

    // Marks an active request, once.
    void notify(const Request& request, std::uint64_t cookie) const {
        check(weft_request_notify(request.handle(), handle_, cookie));
    }

    // Nothing: the queue is empty, and the descriptor not readable any more.
    std::optional<Completed> next() const {
        Completed completed{};
        if (!detail::done(weft_completion_next(handle_, &completed.cookie, &completed.status)))
            return std::nullopt;
        return completed;
    }

    // Nothing: timed out; weft_last_detail() names late ranks.
    std::optional<Completed> wait_until(std::chrono::steady_clock::time_point deadline) const {
        Completed completed{};
        if (!detail::done(weft_completion_wait_until(handle_, &completed.cookie, &completed.status,
                                                     detail::deadline_ns(deadline))))
            return std::nullopt;
        return completed;
    }
    std::optional<Completed> wait_for(std::chrono::nanoseconds timeout) const {
        return wait_until(detail::after(timeout));
    }

  private:
    weft_completion_queue handle_ = WEFT_COMPLETION_QUEUE_NULL;
};

// --- Buffers -------------------------------------------------------------------------------------

// As a send buffer: this rank's data is already in the receive buffer. As the receive buffer on the
// root of a scatter: its block stays in the send buffer.
struct InPlace {};
inline constexpr InPlace in_place{};

template <class B>
concept Buffer = std::ranges::contiguous_range<B> && std::ranges::sized_range<B> &&
    std::ranges::borrowed_range<B> && Element<std::ranges::range_value_t<B>>;

template <class B>
concept OutBuffer =
    Buffer<B> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<B>>>;

// A buffer with the same elements as B.
template <class S, class B>
concept BufferOf =
    Buffer<S> && std::same_as<std::ranges::range_value_t<S>, std::ranges::range_value_t<B>>;

// ... or in_place.
template <class S, class B>
concept BufferLike = std::same_as<std::remove_cvref_t<S>, InPlace> || BufferOf<S, B>;

// The same for a receive buffer.
template <class R, class B>
concept OutBufferLike = BufferLike<R, B> &&
    (std::same_as<std::remove_cvref_t<R>, InPlace> || OutBuffer<R>);

template <class B>
concept ReducedBuffer = OutBuffer<B> && Reducible<std::ranges::range_value_t<B>>;

namespace detail {

// The buffers of a call.
struct Sides {
    weft_side send = {};
    weft_side recv = {};
};

// Buffers whose blocks have one size.
struct Buffers {
    const void* send;
    void* recv;
    std::size_t count;  // of `type`, per block
    weft_type type;

    Sides sides() const {
        return {{const_cast<void*>(send), count, nullptr, nullptr, type, nullptr},
                {recv, count, nullptr, nullptr, type, nullptr}};
    }
};

inline void expect_elements(const char* name, std::size_t elements, std::size_t expected,
                            const char* function) {
    if (elements == expected) return;
    throw Error(WEFT_REFUSED_ARGUMENT, std::string(name) + " has " + std::to_string(elements) +
                                           " elements; expected " + std::to_string(expected) +
                                           " (weft::Communicator::" + function + ")");
}

template <class B>
constexpr bool is_in_place = std::same_as<std::remove_cvref_t<B>, InPlace>;

template <class B>
const void* start_of(B& buffer) {
    if constexpr (is_in_place<B>)
        return WEFT_IN_PLACE;
    else
        return std::ranges::data(buffer);
}

// The elements of `one`; if that is in place, those of one of the `blocks` of `all`.
template <class One, class All>
std::size_t block_elements(One& one, All& all, std::size_t blocks) {
    if constexpr (is_in_place<One>)
        return std::ranges::size(all) / blocks;
    else
        return std::ranges::size(one);
}

template <class T>
constexpr std::size_t units = type_of<T> == WEFT_BYTE ? sizeof(T) : 1;

// `recv` is `blocks` times as long as `send`.
template <class S, class R>
Buffers buffers(S& send, R& recv, std::size_t blocks, const char* function) {
    using T = std::ranges::range_value_t<R>;
    const std::size_t elements = block_elements(send, recv, blocks);
    expect_elements("recv", std::ranges::size(recv), elements * blocks, function);
    return {start_of(send), std::ranges::data(recv), elements * units<T>, type_of<T>};
}

// The first rank gets nothing: its `recv` is ignored, unless it is in place.
template <class S, class R>
Buffers from_below(bool is_first, S& send, R& recv, const char* function) {
    using T = std::ranges::range_value_t<R>;
    if (is_in_place<S> || !is_first) return buffers(send, recv, 1, function);
    return {start_of(send), nullptr, block_elements(send, recv, 1) * units<T>, type_of<T>};
}

template <class B>
void expect_buffer(const char* name, const char* function) {
    if constexpr (is_in_place<B>)
        throw Error(WEFT_REFUSED_ARGUMENT,
                    std::string(name) +
                        " = in_place; expected a buffer, only the root can be in "
                        "place (weft::Communicator::" +
                        function + ")");
}

// The arrays that describe a buffer with blocks that differ, checked against its size.
class Arrays {
  public:
    Arrays() = default;
    Arrays(Arrays&&) = default;
    Arrays& operator=(Arrays&&) = default;

    // `name` is the buffer's. Blocks of missing `neighbors` take no room.
    template <class B>
    void describe(const char* name, B& buffer, std::size_t blocks,
                  std::span<const std::size_t> sizes, std::span<const std::ptrdiff_t> places,
                  const char* function, std::span<const int> neighbors = {}) {
        using T = std::ranges::range_value_t<B>;
        expect_elements("counts", sizes.size(), blocks, function);
        if (!places.empty()) expect_elements("displacements", places.size(), blocks, function);
        std::size_t end = 0;
        for (std::size_t i = 0; i < blocks; ++i) {
            if (sizes[i] == 0 || (!neighbors.empty() && neighbors[i] == WEFT_RANK_NONE)) continue;
            if (!places.empty() && places[i] < 0)
                throw Error(WEFT_REFUSED_ARGUMENT, "displacements[" + std::to_string(i) +
                                                       "] is negative; expected a place in " +
                                                       name + " (weft::Communicator::" + function +
                                                       ")");
            const std::size_t begin = places.empty() ? end : static_cast<std::size_t>(places[i]);
            end = std::max(end, begin + sizes[i]);
            const std::size_t has = std::ranges::size(buffer);
            if (begin > has || sizes[i] > has - begin) expect_elements(name, has, end, function);
        }
        counts_ = sizes;
        displacements_ = places;
        if constexpr (units<T> != 1) {  // elements travel as bytes
            for (std::size_t i = 0; i < blocks; ++i) scaled_counts_.push_back(sizes[i] * units<T>);
            for (std::size_t i = 0; i < places.size(); ++i)  // an empty block lies anywhere
                scaled_displacements_.push_back(
                    sizes[i] > 0 ? places[i] * static_cast<std::ptrdiff_t>(units<T>) : 0);
            counts_ = scaled_counts_;
            displacements_ = scaled_displacements_;
        }
    }

    // Of contiguous blocks that were checked.
    void set_counts(std::span<const std::size_t> sizes) { counts_ = sizes; }

    const std::size_t* counts() const { return counts_.data(); }
    const std::ptrdiff_t* displacements() const {
        return displacements_.empty() ? nullptr : displacements_.data();
    }

  private:
    std::span<const std::size_t> counts_;
    std::span<const std::ptrdiff_t> displacements_;
    std::vector<std::size_t> scaled_counts_;
    std::vector<std::ptrdiff_t> scaled_displacements_;
};

// Of `type`; in place: ignored.
template <class T, class B>
std::size_t count_of(B& block) {
    if constexpr (is_in_place<B>)
        return 0;
    else
        return std::ranges::size(block) * units<T>;
}

// Buffers with blocks that differ, and the count of the block in the other one.
struct Differing {
    const void* send = nullptr;
    void* recv = nullptr;
    std::size_t count = 0;
    weft_type type = WEFT_BYTE;
    Arrays send_blocks = {};
    Arrays recv_blocks = {};

    Sides sides() const {
        return {{const_cast<void*>(send), count, send_blocks.counts(), send_blocks.displacements(),
                 type, nullptr},
                {recv, count, recv_blocks.counts(), recv_blocks.displacements(), type, nullptr}};
    }
};

using Counts = std::span<const std::size_t>;
using Displacements = std::span<const std::ptrdiff_t>;

// Every rank gets all blocks; with a root only that one, and elsewhere `recv` is ignored.
template <class S, class R>
Differing gathered(bool is_receiver, S& send, R& recv, std::size_t blocks, Counts counts,
                   Displacements displacements, const char* function,
                   std::span<const int> neighbors = {}) {
    using T = std::ranges::range_value_t<R>;
    Differing made = {start_of(send), nullptr, count_of<T>(send), type_of<T>};
    if (!is_receiver) {
        expect_buffer<S>("send", function);
        return made;
    }
    made.recv = std::ranges::data(recv);
    made.recv_blocks.describe("recv", recv, blocks, counts, displacements, function, neighbors);
    return made;
}

// The root has all blocks; elsewhere `send` is ignored.
template <class S, class R>
Differing distributed(bool is_root, S& send, R& recv, std::size_t blocks, Counts counts,
                      Displacements displacements, const char* function) {
    using T = std::ranges::range_value_t<S>;
    Differing made;
    made.type = type_of<T>;
    made.count = count_of<T>(recv);
    if constexpr (is_in_place<R>)
        made.recv = const_cast<void*>(WEFT_IN_PLACE);
    else
        made.recv = std::ranges::data(recv);
    if (!is_root) {
        expect_buffer<R>("recv", function);
        return made;
    }
    made.send = std::ranges::data(send);
    made.send_blocks.describe("send", send, blocks, counts, displacements, function);
    return made;
}

// How many blocks a rank gets and sends.
struct Degrees {
    std::size_t sources = 0;
    std::size_t destinations = 0;
};

// The ranks that a rank gets blocks from and sends blocks to; empty: every rank.
struct Neighbors {
    std::span<const int> sources;
    std::span<const int> destinations;
};

// Blocks for every rank or neighbor, and from each.
template <class S, class R>
Differing exchanged(S& send, R& recv, Degrees blocks, Counts send_counts, Counts recv_counts,
                    Displacements send_displacements, Displacements recv_displacements,
                    const char* function, Neighbors neighbors = {}) {
    Differing made;
    made.type = type_of<std::ranges::range_value_t<R>>;
    made.send = start_of(send);
    made.recv = std::ranges::data(recv);
    if constexpr (!is_in_place<S>)
        made.send_blocks.describe("send", send, blocks.destinations, send_counts,
                                  send_displacements, function, neighbors.destinations);
    made.recv_blocks.describe("recv", recv, blocks.sources, recv_counts, recv_displacements,
                              function, neighbors.sources);
    return made;
}

// Blocks of one size.
template <class S, class R>
Buffers among_neighbors(S& send, R& recv, Degrees blocks, const char* function) {
    using T = std::ranges::range_value_t<R>;
    std::size_t count = 0;
    if (blocks.sources > 0)
        count = std::ranges::size(recv) / blocks.sources;
    else if (blocks.destinations > 0)
        count = std::ranges::size(send) / blocks.destinations;
    expect_elements("send", std::ranges::size(send), count * blocks.destinations, function);
    expect_elements("recv", std::ranges::size(recv), count * blocks.sources, function);
    return {start_of(send), std::ranges::data(recv), count * units<T>, type_of<T>};
}

// On root `recv` is `blocks` times as long as `send`; elsewhere it is ignored.
template <class S, class R>
Buffers to_root(bool is_root, S& send, R& recv, std::size_t blocks, const char* function) {
    using T = std::ranges::range_value_t<R>;
    if (is_root) return buffers(send, recv, blocks, function);
    expect_buffer<S>("send", function);
    return {start_of(send), nullptr, block_elements(send, recv, blocks) * units<T>, type_of<T>};
}

// On root `send` is `blocks` times as long as `recv`; elsewhere it is ignored.
template <class S, class R>
Buffers from_root(bool is_root, S& send, R& recv, std::size_t blocks, const char* function) {
    using T = std::ranges::range_value_t<S>;
    const std::size_t elements = block_elements(recv, send, blocks);
    void* into = const_cast<void*>(start_of(recv));
    if (is_root)
        expect_elements("send", std::ranges::size(send), elements * blocks, function);
    else
        expect_buffer<R>("recv", function);
    return {is_root ? std::ranges::data(send) : nullptr, into, elements * units<T>, type_of<T>};
}

// `send` is `blocks` times as long as the result; in place, `recv` is.
template <class S, class R>
Buffers scattered(S& send, R& recv, std::size_t blocks, const char* function) {
    using T = std::ranges::range_value_t<R>;
    std::size_t elements = std::ranges::size(recv);
    if constexpr (is_in_place<S>) {
        elements /= blocks;
        expect_elements("recv", std::ranges::size(recv), elements * blocks, function);
    } else {
        expect_elements("send", std::ranges::size(send), elements * blocks, function);
    }
    return {start_of(send), std::ranges::data(recv), elements * units<T>, type_of<T>};
}

// Both have a block for every rank.
template <class S, class R>
Buffers all_to_all(S& send, R& recv, std::size_t blocks, const char* function) {
    Buffers all = buffers(send, recv, 1, function);
    const std::size_t elements = std::ranges::size(recv);
    expect_elements("recv", elements, elements / blocks * blocks, function);
    all.count /= blocks;
    return all;
}

}  // namespace detail

// A buffer of blocks whose types differ; displacements in bytes, or none: contiguous blocks.
template <class Pointee>  // void or const void
struct TypedBlocks {
    Pointee* data = nullptr;
    std::span<const std::size_t> counts;
    std::span<const weft_type> types;
    std::span<const std::ptrdiff_t> displacements = {};

    weft_side side() const {
        return {const_cast<void*>(static_cast<const void*>(data)),      0,         counts.data(),
                displacements.empty() ? nullptr : displacements.data(), WEFT_BYTE, types.data()};
    }
};

namespace detail {

template <class Pointee>
void check_typed(const TypedBlocks<Pointee>& blocks, std::size_t number, const char* function) {
    expect_elements("counts", blocks.counts.size(), number, function);
    expect_elements("types", blocks.types.size(), number, function);
    if (!blocks.displacements.empty())
        expect_elements("displacements", blocks.displacements.size(), number, function);
}

struct TypedPair {
    TypedBlocks<const void> send;
    TypedBlocks<void> recv;

    Sides sides() const { return {send.side(), recv.side()}; }
};

// Among neighbors WEFT_IN_PLACE is refused: its call still has arrays.
inline TypedPair typed(bool may_be_in_place, const TypedBlocks<const void>& send,
                       const TypedBlocks<void>& recv, Degrees blocks, const char* function) {
    if (!may_be_in_place || send.data != WEFT_IN_PLACE)
        check_typed(send, blocks.destinations, function);
    check_typed(recv, blocks.sources, function);
    return {send, recv};
}

}  // namespace detail

// --- Communicators -------------------------------------------------------------------------------

// A group of ranks and the order of their operations. Communicators that were made from others are
// freed when destroyed, world and self are not. A null one refuses every call.
class Communicator {
  public:
    Communicator() noexcept = default;
    explicit Communicator(weft_comm borrowed) noexcept : handle_(borrowed) {}
    Communicator(Communicator&& other) noexcept
        : handle_(std::exchange(other.handle_, WEFT_COMM_NULL)),
          is_owner_(std::exchange(other.is_owner_, false)) {}
    Communicator& operator=(Communicator&& other) noexcept {
        Communicator taken(std::move(other));
        std::swap(handle_, taken.handle_);
        std::swap(is_owner_, taken.is_owner_);
        return *this;
    }
    ~Communicator() {
        if (is_owner_ && weft_is_initialized()) detail::check_at_end(weft_comm_free(&handle_));
    }

    static Communicator world() noexcept { return Communicator(weft_comm_world()); }
    static Communicator self() noexcept { return Communicator(weft_comm_self()); }

    Communicator dup() const {
        Communicator made;
        check(weft_comm_dup(handle_, &made.handle_));
        made.is_owner_ = true;
        return made;
    }
    // With other settings, such as "allreduce=ring offload=0"; see weft_comm_dup_with.
    Communicator dup(const char* settings) const {
        Communicator made;
        check(weft_comm_dup_with(handle_, settings, &made.handle_));
        made.is_owner_ = true;
        return made;
    }
    // Null if `color` is WEFT_COLOR_NONE.
    Communicator split(int color, int key = 0) const {
        Communicator made;
        check(weft_comm_split(handle_, color, key, &made.handle_));
        made.is_owner_ = made.handle_ != WEFT_COMM_NULL;
        return made;
    }

    // The ranks on this rank's node.
    Communicator split_node(int key = 0) const {
        Communicator made;
        check(weft_comm_split_node(handle_, key, &made.handle_));
        made.is_owner_ = true;
        return made;
    }

    // The ranks as a grid, for collectives among neighbors; null beyond its places. See
    // weft_comm_cart.
    Communicator cart(std::span<const int> dims, std::span<const int> periods) const {
        detail::expect_elements("periods", periods.size(), dims.size(), "cart");
        Communicator made;
        check(weft_comm_cart(handle_, static_cast<int>(dims.size()), dims.data(), periods.data(),
                             &made.handle_));
        made.is_owner_ = made.handle_ != WEFT_COMM_NULL;
        return made;
    }
    // The same ranks as a graph, for collectives among neighbors. See weft_comm_graph.
    Communicator graph(std::span<const int> sources, std::span<const int> destinations) const {
        Communicator made;
        check(weft_comm_graph(handle_, static_cast<int>(sources.size()), sources.data(),
                              static_cast<int>(destinations.size()), destinations.data(),
                              &made.handle_));
        made.is_owner_ = true;
        return made;
    }

    // Calls off what is pending here, on all ranks: it ends with WEFT_BROKEN_ABORT. See
    // weft_comm_abort.
    void abort(const char* reason) const { check(weft_comm_abort(handle_, reason)); }

    // Where blocks come from and go to; WEFT_RANK_NONE beyond the border of a grid. For
    // communicators made by cart or graph.
    std::vector<int> sources() const { return neighbors(true); }
    std::vector<int> destinations() const { return neighbors(false); }

    explicit operator bool() const noexcept { return handle_ != WEFT_COMM_NULL; }
    weft_comm handle() const noexcept { return handle_; }

    int rank() const {
        int rank = -1;
        check(weft_comm_rank(handle_, &rank));
        return rank;
    }
    int size() const {
        int size = -1;
        check(weft_comm_size(handle_, &size));
        return size;
    }
    // What results with wire=int8 may be off by, since the last call; see weft_comm_wire_error.
    double wire_error() const {
        double error = 0;
        check(weft_comm_wire_error(handle_, &error));
        return error;
    }

    // Sends and receives between two ranks; weft/message.h says how they meet. A receive's buffer
    // is as long as the message.
    template <Buffer B>
    Request isend(B&& buf, int dest, int tag) const {
        return message(weft_isend, buf, dest, tag);
    }
    template <OutBuffer B>
    Request irecv(B&& buf, int source, int tag) const {
        return message(weft_irecv, buf, source, tag);
    }
    // From any rank, which *source tells; null: it is not wanted.
    template <OutBuffer B>
    Request irecv_any(B&& buf, int tag, int* source = nullptr) const {
        return message(weft_irecv_any, buf, tag, source);
    }
    template <Buffer B>
    Request send_init(B&& buf, int dest, int tag) const {
        return message(weft_send_init, buf, dest, tag);
    }
    template <OutBuffer B>
    Request recv_init(B&& buf, int source, int tag) const {
        return message(weft_recv_init, buf, source, tag);
    }
    template <OutBuffer B>
    Request recv_any_init(B&& buf, int tag, int* source = nullptr) const {
        return message(weft_recv_any_init, buf, tag, source);
    }

    // Each collective has three forms: nonblocking (ibcast), blocking (bcast) and persistent
    // (bcast_init). `function` is the form's name, for messages.
#define WEFT_BARE(...) __VA_ARGS__
#define WEFT_FORMS(name, NAME, template_, parameters, buffers, op, root)                         \
    WEFT_BARE template_ Request i##name parameters const {                                       \
        [[maybe_unused]] const char* const function = "i" #name;                                 \
        const auto made = buffers;                                                               \
        return start(WEFT_COLLECTIVE_##NAME, op, root, made.sides(), WEFT_NONBLOCKING);          \
    }                                                                                            \
    WEFT_BARE template_ void name parameters const {                                             \
        [[maybe_unused]] const char* const function = #name;                                     \
        const auto made = buffers;                                                               \
        static_cast<void>(start(WEFT_COLLECTIVE_##NAME, op, root, made.sides(), WEFT_BLOCKING)); \
    }                                                                                            \
    WEFT_BARE template_ Request name##_init parameters const {                                   \
        [[maybe_unused]] const char* const function = #name "_init";                             \
        const auto made = buffers;                                                               \
        return start(WEFT_COLLECTIVE_##NAME, op, root, made.sides(), WEFT_PERSISTENT);           \
    }

    // clang-format off

    // Barrier
    WEFT_FORMS(barrier, BARRIER, (), (), detail::Buffers{}, WEFT_OP_NULL, 0)

    // Bcast: `buf` has the same size on every rank
    WEFT_FORMS(bcast, BCAST, (template <OutBuffer B>),
               (B&& buf, int root),
               detail::buffers(in_place, buf, 1, function), WEFT_OP_NULL, root)

    // Allgather: `recv` is size() times as long as `send`
    WEFT_FORMS(allgather, ALLGATHER, (template <OutBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv),
               detail::buffers(send, recv, blocks(), function), WEFT_OP_NULL, 0)

    // Gather: on root, `recv` is size() times as long as `send`; elsewhere it is ignored
    WEFT_FORMS(gather, GATHER, (template <OutBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, int root),
               detail::to_root(is(root), send, recv, blocks(), function), WEFT_OP_NULL, root)

    // Scatter: on root, `send` is size() times as long as `recv`; elsewhere it is ignored
    WEFT_FORMS(scatter, SCATTER, (template <Buffer S, OutBufferLike<S> R>),
               (S&& send, R&& recv, int root),
               detail::from_root(is(root), send, recv, blocks(), function), WEFT_OP_NULL, root)

    // Alltoall: `send` and `recv` have the same size, size() blocks
    WEFT_FORMS(alltoall, ALLTOALL, (template <OutBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv),
               detail::all_to_all(send, recv, blocks(), function), WEFT_OP_NULL, 0)

    // Reduce: on root, `recv` is as long as `send`; elsewhere it is ignored
    WEFT_FORMS(reduce, REDUCE, (template <ReducedBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, OperationOn<std::ranges::range_value_t<R>> op, int root),
               detail::to_root(is(root), send, recv, 1, function), op.handle(), root)

    // Allreduce: `recv` is as long as `send`
    WEFT_FORMS(allreduce, ALLREDUCE, (template <ReducedBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, OperationOn<std::ranges::range_value_t<R>> op),
               detail::buffers(send, recv, 1, function), op.handle(), 0)

    // Reduces one number per rank.
    template <Reducible T>
    T allreduce(T value, OperationOn<std::type_identity_t<T>> op) const {
        allreduce(in_place, std::span(&value, 1), op);
        return value;
    }

    // Reduce-scatter: `send` has size() blocks, `recv` one; in place, `recv` has all of them, and
    // its first one gets the result
    WEFT_FORMS(reduce_scatter_block, REDUCE_SCATTER_BLOCK,
               (template <ReducedBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, OperationOn<std::ranges::range_value_t<R>> op),
               detail::scattered(send, recv, blocks(), function), op.handle(), 0)

    // Reduce-scatter with blocks that differ: `send` has all of them, contiguously, and `recv` this
    // rank's, of counts[rank()] elements; in place, `recv` has all of them, and the result goes to
    // its beginning
    WEFT_FORMS(reduce_scatter, REDUCE_SCATTER, (template <ReducedBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, std::span<const std::size_t> counts,
                OperationOn<std::ranges::range_value_t<R>> op),
               scattered(send, recv, counts, function), op.handle(), 0)

    // Scan: rank r gets the result for ranks 0..r
    WEFT_FORMS(scan, SCAN, (template <ReducedBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, OperationOn<std::ranges::range_value_t<R>> op),
               detail::buffers(send, recv, 1, function), op.handle(), 0)

    // Exclusive scan: rank r gets the result for ranks 0..r-1, rank 0 nothing: its `recv` is
    // ignored, unless it is in place
    WEFT_FORMS(exscan, EXSCAN, (template <ReducedBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, OperationOn<std::ranges::range_value_t<R>> op),
               detail::from_below(rank() == 0, send, recv, function), op.handle(), 0)

    // Blocks that differ: block r has counts[r] elements and begins at displacements[r]; without
    // displacements, blocks are contiguous

    // Allgatherv: blocks of `recv`
    WEFT_FORMS(allgatherv, ALLGATHERV, (template <OutBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, std::span<const std::size_t> counts,
                std::span<const std::ptrdiff_t> displacements = {}),
               detail::gathered(true, send, recv, blocks(), counts, displacements, function),
               WEFT_OP_NULL, 0)

    // Gatherv: blocks of `recv` on root; elsewhere it and the arrays are ignored
    WEFT_FORMS(gatherv, GATHERV, (template <OutBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, std::span<const std::size_t> counts,
                int root, std::span<const std::ptrdiff_t> displacements = {}),
               detail::gathered(is(root), send, recv, blocks(), counts, displacements, function),
               WEFT_OP_NULL, root)

    // Scatterv: blocks of `send` on root; elsewhere it and the arrays are ignored
    WEFT_FORMS(scatterv, SCATTERV, (template <Buffer S, OutBufferLike<S> R>),
               (S&& send, R&& recv, std::span<const std::size_t> counts,
                int root, std::span<const std::ptrdiff_t> displacements = {}),
               detail::distributed(is(root), send, recv, blocks(), counts, displacements, function),
               WEFT_OP_NULL, root)

    // Alltoallv: blocks of both; in place, send_counts and send_displacements are ignored
    WEFT_FORMS(alltoallv, ALLTOALLV, (template <OutBuffer R, BufferLike<R> S>),
               (S&& send, R&& recv, std::span<const std::size_t> send_counts,
                std::span<const std::size_t> recv_counts,
                std::span<const std::ptrdiff_t> send_displacements = {},
                std::span<const std::ptrdiff_t> recv_displacements = {}),
               detail::exchanged(send, recv, everyone(), send_counts, recv_counts,
                                 send_displacements, recv_displacements, function), WEFT_OP_NULL, 0)

    // Among neighbors: for communicators made by cart or graph. `recv` has a block of each source.
    // A missing neighbor's block keeps its place if all blocks have one size; if sizes differ it
    // takes no room.
    WEFT_FORMS(neighbor_allgather, NEIGHBOR_ALLGATHER, (template <OutBuffer R, BufferOf<R> S>),
               (S&& send, R&& recv),
               detail::buffers(send, recv, degrees().sources, function), WEFT_OP_NULL, 0)
    WEFT_FORMS(neighbor_allgatherv, NEIGHBOR_ALLGATHERV, (template <OutBuffer R, BufferOf<R> S>),
               (S&& send, R&& recv, std::span<const std::size_t> counts,
                std::span<const std::ptrdiff_t> displacements = {}),
               from_neighbors(send, recv, counts, displacements, function),
               WEFT_OP_NULL, 0)
    WEFT_FORMS(neighbor_alltoall, NEIGHBOR_ALLTOALL, (template <OutBuffer R, BufferOf<R> S>),
               (S&& send, R&& recv),
               detail::among_neighbors(send, recv, degrees(), function), WEFT_OP_NULL, 0)
    WEFT_FORMS(neighbor_alltoallv, NEIGHBOR_ALLTOALLV, (template <OutBuffer R, BufferOf<R> S>),
               (S&& send, R&& recv, std::span<const std::size_t> send_counts,
                std::span<const std::size_t> recv_counts,
                std::span<const std::ptrdiff_t> send_displacements = {},
                std::span<const std::ptrdiff_t> recv_displacements = {}),
               with_neighbors(send, recv, send_counts, recv_counts, send_displacements,
                              recv_displacements, function), WEFT_OP_NULL, 0)

    // Alltoallw, also among neighbors: each block has its own type; in alltoallw send.data may be
    // WEFT_IN_PLACE
    WEFT_FORMS(alltoallw, ALLTOALLW, (),
               (const TypedBlocks<const void>& send, const TypedBlocks<void>& recv),
               detail::typed(true, send, recv, everyone(), function), WEFT_OP_NULL, 0)
    WEFT_FORMS(neighbor_alltoallw, NEIGHBOR_ALLTOALLW, (),
               (const TypedBlocks<const void>& send, const TypedBlocks<void>& recv),
               detail::typed(false, send, recv, degrees(), function), WEFT_OP_NULL, 0)

    // clang-format on
#undef WEFT_FORMS
#undef WEFT_BARE

  private:
    bool is(int root) const { return rank() == root; }
    detail::Degrees everyone() const { return {blocks(), blocks()}; }
    std::vector<int> neighbors(bool are_sources) const {
        const detail::Degrees has = degrees();
        std::vector<int> ranks(are_sources ? has.sources : has.destinations);
        const int room = static_cast<int>(ranks.size());
        check(weft_comm_neighbors(handle_, are_sources ? room : 0, ranks.data(),
                                  are_sources ? 0 : room, ranks.data()));
        return ranks;
    }
    detail::Degrees degrees() const {
        int sources = 0;
        int destinations = 0;
        check(weft_comm_neighbors_count(handle_, &sources, &destinations));
        return {static_cast<std::size_t>(sources), static_cast<std::size_t>(destinations)};
    }
    std::size_t blocks() const { return static_cast<std::size_t>(size()); }

    template <class S, class R>
    detail::Differing from_neighbors(S& send, R& recv, detail::Counts counts,
                                     detail::Displacements displacements,
                                     const char* function) const {
        const std::vector<int> from = sources();
        return detail::gathered(true, send, recv, from.size(), counts, displacements, function,
                                from);
    }
    template <class S, class R>
    detail::Differing with_neighbors(S& send, R& recv, detail::Counts send_counts,
                                     detail::Counts recv_counts,
                                     detail::Displacements send_displacements,
                                     detail::Displacements recv_displacements,
                                     const char* function) const {
        const std::vector<int> from = sources();
        const std::vector<int> to = destinations();
        return detail::exchanged(send, recv, {from.size(), to.size()}, send_counts, recv_counts,
                                 send_displacements, recv_displacements, function, {from, to});
    }

    template <class S, class R>
    detail::Differing scattered(S& send, R& recv, std::span<const std::size_t> counts,
                                const char* function) const {
        using T = std::ranges::range_value_t<R>;
        detail::expect_elements("counts", counts.size(), blocks(), function);
        const std::size_t all = std::reduce(counts.begin(), counts.end());
        if constexpr (detail::is_in_place<S>) {
            detail::expect_elements("recv", std::ranges::size(recv), all, function);
        } else {
            detail::expect_elements("send", std::ranges::size(send), all, function);
            const std::size_t own = counts[static_cast<std::size_t>(rank())];
            detail::expect_elements("recv", std::ranges::size(recv), own, function);
        }
        detail::Differing made = {detail::start_of(send), std::ranges::data(recv), 0, type_of<T>};
        made.send_blocks.set_counts(counts);
        return made;
    }

    template <class Function, class B, class Second>
    Request message(Function* function, B& buf, int first, Second second) const {
        using T = std::ranges::range_value_t<B>;
        weft_request made = WEFT_REQUEST_NULL;
        check(function(std::ranges::data(buf), std::ranges::size(buf) * detail::units<T>,
                       type_of<T>, first, second, handle_, &made));
        return Request(made);
    }

    Request start(weft_collective collective, weft_op op, int root, const detail::Sides& sides,
                  weft_form form) const {
        const weft_call call = {collective, op, root, sides.send, sides.recv};
        weft_request made = WEFT_REQUEST_NULL;
        check(weft_start_call(&call, form, handle_, &made));
        return Request(made);
    }

    weft_comm handle_ = WEFT_COMM_NULL;
    bool is_owner_ = false;
};

}  // namespace cpp
}  // namespace weft
