// A collective as the bench measures it: how to start it on given buffers, and the data expected.
// One file per collective, and one line in list.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "base/status.h"
#include "bench/collective/call_form.h"
#include "bench/job.h"
#include "bench/player/api.h"

namespace weft::bench {

// A block of memory at the start of a page, so that its address does not decide a measurement.
class PageBuffer {
  public:
    explicit PageBuffer(std::size_t bytes)
        : data_(static_cast<std::byte*>(::operator new(bytes, alignment))), bytes_(bytes) {}

    std::byte* data() { return data_.get(); }
    std::size_t size() const { return bytes_; }
    template <class T>
    std::span<T> as() {
        return {reinterpret_cast<T*>(data_.get()), bytes_ / sizeof(T)};
    }

  private:
    static constexpr std::align_val_t alignment{4096};
    struct Free {
        void operator()(std::byte* data) const { ::operator delete(data, alignment); }
    };
    std::unique_ptr<std::byte, Free> data_;
    std::size_t bytes_;
};

// One collective of one size, with this rank's buffers.
struct Case {
    Job job;
    std::size_t bytes;  // one block: what one rank contributes or gets
    PageBuffer send;
    PageBuffer recv;      // the result
    PageBuffer expected;  // what recv must hold at the end
    CallForm form = CallForm::nonblocking;
};

// Makes a collective's call in the form that the case wants. A blocking call has no request.
template <class Forms, class... Arguments>
weft_status issue(const Case& c, const Forms& forms, weft_request* request,
                  Arguments... arguments) {
    switch (c.form) {
        case CallForm::blocking: return forms.call(arguments...);
        case CallForm::first:
        case CallForm::nonblocking: return forms.start(arguments..., request);
        case CallForm::persistent: break;
    }
    return forms.init(arguments..., request);
}

// The bytes that it moves between two ranks; rank 0 is the root.
struct Plain {
    bool from_root = false;
    bool to_root = false;
    bool reduces = false;  // the receiver adds it to its own
};

struct Collective {
    const char* name;  // the call's, without the prefix: "ibcast"
    bool has_size;     // false: measured once, without data
    std::size_t (*send_bytes)(std::size_t bytes, int ranks);
    std::size_t (*recv_bytes)(std::size_t bytes, int ranks);
    // Writes send (and recv, if it is an input) and expected, depending on `seed`. No byte of recv
    // is the expected one, so that an operation that did nothing is noticed.
    void (*fill)(Case&, std::uint64_t seed);
    weft_status (*start)(Case&, weft_request*);
    Plain plain;
    int ranks = 0;  // only in jobs of so many; 0: of any number
};

// The content of a buffer: nothing, one rank's block, or a block per rank.
inline std::size_t nothing(std::size_t, int) { return 0; }
inline std::size_t one_block(std::size_t bytes, int) { return bytes; }
inline std::size_t all_blocks(std::size_t bytes, int ranks) {
    return bytes * static_cast<std::size_t>(ranks);
}

// `count` for every rank; valid until the next call.
const std::size_t* equal_counts(const Job& job, std::size_t count);

std::span<const Collective* const> collectives();
// "nothing:wait" and others: no collectives, but found by their names likewise.
std::span<const Collective* const> calls_with_nothing_to_do();
// "iallreduce:float32": a collective again, with another type; found by its name.
std::span<const Collective* const> calls_of_other_types();

// Refuses an unknown name with a sentence that lists the known ones.
Result<const Collective*> find_collective(const std::string& name);

// Makes the buffers, still to be filled.
Case make_case(const Job& job, const Collective& collective, std::int64_t bytes);

// Bytes that differ between ranks, seeds and neighboring positions.
void fill_pattern(std::span<std::uint8_t> bytes, int rank, std::uint64_t seed);

// Bytes that occur in no pattern.
void fill_blank(PageBuffer& buffer);

// Ends the process with a message if recv is not as expected.
void verify(const Collective&, Case&);

}  // namespace weft::bench
