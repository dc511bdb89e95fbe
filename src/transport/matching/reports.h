// Completions on their way to the engine: into the array of the poll that runs, otherwise, or when that
// is full, kept for the next one.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fifo.h"
#include "transport/transport.h"

namespace weft {

class Reports {
  public:
    // A poll begins: reports what was kept.
    void begin(std::span<Completion> done) {
        done_ = done;
        count_ = 0;
        for (; !kept_.empty() && count_ < done_.size(); kept_.pop())
            done_[count_++] = kept_.front().completion;
    }
    // ... and ends. Returns how many entries of `done` are filled.
    std::size_t end() {
        done_ = {};
        return count_;
    }

    void add(const Completion& completion, std::uint64_t stream) {
        if (count_ < done_.size()) [[likely]]
            done_[count_++] = completion;
        else
            kept_.push({completion, stream});
    }

    // In the poll that runs.
    std::size_t count() const { return count_; }
    bool is_full() const { return count_ == done_.size(); }

    // Some are kept: a post that completed at once might overtake one of its lane.
    bool has_kept() const { return !kept_.empty(); }

    // The context is gone.
    void forget(std::uint32_t context) {
        kept_.remove_if([&](const Kept& kept) {
            return kept.completion.token.run != nullptr && context_of(kept.stream) == context;
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
