// The return value of internal functions: a code, the rank it is about, and (per thread) a
// sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "weft/status.h"

namespace weft {

using Rank = std::int32_t;

struct [[nodiscard]] Status {
    weft_status code = WEFT_OK;
    Rank rank = -1;  // the rank a WEFT_BROKEN_* status is about; -1: none

    bool is_ok() const { return code == WEFT_OK; }
    bool is_broken() const { return code <= -100; }
};

inline constexpr Status ok{};

// A failure and its sentence, kept for weft_last_detail() in this thread.
Status failure(weft_status code, const char* format, ...) __attribute__((format(printf, 2, 3)));
Status failure_of_rank(weft_status code, Rank rank, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// The longest sentence, including its terminating null.
inline constexpr std::size_t detail_bytes = 512;

// The calling thread's last sentence; never null.
const char* last_detail();
// Appends to the calling thread's last sentence, as " (weft_ibcast)".
void append_detail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// At the end of its scope, the calling thread's last sentence is again what it was at the
// beginning.
class KeptDetail {
  public:
    KeptDetail();
    ~KeptDetail();
    KeptDetail(const KeptDetail&) = delete;
    KeptDetail& operator=(const KeptDetail&) = delete;

  private:
    char text_[detail_bytes];
};

const char* status_name(weft_status code);

// A value, or the reason there is none.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}
    Result(Status status) : status_(status) { WEFT_ASSERT(!status.is_ok()); }

    bool is_ok() const { return status_.is_ok(); }
    Status status() const { return status_; }
    T& operator*() { return value_; }
    const T& operator*() const { return value_; }
    T* operator->() { return &value_; }
    // Moves the value, if there is one, to `place`.
    Status move_to(T& place) {
        if (is_ok()) place = std::move(value_);
        return status_;
    }

  private:
    T value_{};
    Status status_{};
};

#define WEFT_RETURN_IF_NOT_OK(expression)                                      \
    do {                                                                       \
        if (::weft::Status weft_status_ = (expression); !weft_status_.is_ok()) \
            return weft_status_;                                               \
    } while (0)

}  // namespace weft
