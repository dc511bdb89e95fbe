// Completions on their way to the engine: into the array of the poll that runs, otherwise, or when
// that is full, kept for the next one.
//
// A completion must never be lost: room for those that may have to be kept is reserved at post
// time, while an error can still be returned (reserve()).
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/fifo.h"
#include "transport/transport.h"

namespace weft {

class Reports {
  public:
    // From now on there is room for this many completions besides those that are kept: one for each
    // post, lost peer and context of which a message may be lost. Call it before a post while some
    // are kept, and when these may become more.
    void reserve(std::size_t completions) { kept_.reserve(kept_.size() + completions); }

    // A poll begins: reports the kept completions.
    void begin(std::span<Completion> done) {
        done_ = done;
        count_ = 0;
        for (; !kept_.empty() && count_ < done_.size(); kept_.pop())
            done_[count_++] = kept_.front().completion;
    }
    // ... and ends. Returns how many entries of `done` are filled.
    std::size_t end() {
        done_ = {};
        return std::exchange(count_, 0);
    }

    // REQUIRES: there is room for it, or else memory.
    void add(const Completion& completion, std::uint64_t stream) {
        if (count_ < done_.size()) [[likely]]
            done_[count_++] = completion;
        else
            kept_.push({completion, stream});
    }

    // A message of this context was lost for lack of memory. The next poll reports this first:
    // later completions of the context are reported after it, not by the poll that runs.
    void lose_context(std::uint64_t context, Rank peer) {
        kept_.push_front({lost_message(context, peer), 0});
        done_ = done_.first(count_);
    }

    // In the poll that runs.
    std::size_t count() const { return count_; }
    bool is_full() const { return count_ == done_.size(); }

    // Some are kept: a post that completed at once might overtake one of its lane.
    bool has_kept() const { return !kept_.empty(); }

    // The context is gone.
    void forget(std::uint64_t context) {
        kept_.remove_if([&](const Kept& kept) {
            const Completion& completion = kept.completion;
            return completion.token.run != nullptr
                       ? context_of(kept.stream) == context
                       : context != 0 && lost_context(completion) == context;
        });
    }

    std::size_t held_bytes() const { return kept_.held_bytes(); }

  private:
    struct Kept {
        Completion completion;
        std::uint64_t stream;
    };

    std::span<Completion> done_;  // empty between polls
    std::size_t count_ = 0;       // entries of it that are filled
    Fifo<Kept> kept_;
};

}  // namespace weft
