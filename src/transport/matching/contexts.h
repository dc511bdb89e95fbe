// The contexts that a rank has open: a transport keeps an unexpected message only if its context is
// open, or unknown while unknown ones are kept.
//
// While a rank makes communicators it does not know their contexts yet, and faster ranks may
// already send on them: it keeps messages of unknown contexts. At other times an unknown context is
// of a communicator that was freed or broke, and its messages are dropped. So memory does not grow
// with the number of communicators that were ever made.
//
// Only open_context() and buffer_unknown(true) may throw.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class Contexts {
  public:
    // Contexts that may lose a message before they are opened, without affecting others.
    static constexpr std::size_t lost_unknown_max = 16;

    Contexts() {
        lost_unknown_.reserve(lost_unknown_max);
        reserve();
    }

    bool wants(std::uint64_t context) const {
        if (!keeps_unknown_) return holds(living_, context);
        return !holds(gone_, context) && (!all_unknown_lost_ || holds(living_, context));
    }

    // False: it has lost a message already, and stays closed.
    [[nodiscard]] bool open_context(std::uint64_t context) {
        if (all_unknown_lost_ || holds(lost_unknown_, context)) return false;
        living_.reserve(living_.size() + 1);
        reserve();
        add(living_, context);
        erase(gone_, context);  // it was freed, and is made again
        return true;
    }

    // A message of the context could not be kept: further ones are dropped. False: that was known,
    // or open_context() will report it.
    bool lose(std::uint64_t context) {
        const bool is_living = holds(living_, context);
        if (!is_living && keeps_unknown_ && !holds(gone_, context)) {
            if (lost_unknown_.size() < lost_unknown_max)
                add(lost_unknown_, context);
            else
                all_unknown_lost_ = true;
        }
        remove(context);
        return is_living;
    }

    void remove(std::uint64_t context) {
        erase(living_, context);
        if (!keeps_unknown_ || holds(gone_, context)) return;
        if (gone_.size() < gone_.capacity())
            add(gone_, context);
        else
            all_unknown_lost_ = true;
    }

    void buffer_unknown(bool keep) {
        if (keep) reserve();
        keeps_unknown_ = keep;
        if (keep) return;
        gone_.clear();
        lost_unknown_.clear();
        all_unknown_lost_ = false;
    }

    std::size_t living() const { return living_.size(); }

  private:
    using Set = std::vector<std::uint64_t>;  // sorted

    static bool holds(const Set& set, std::uint64_t context) {
        return std::ranges::binary_search(set, context);
    }
    static void add(Set& set, std::uint64_t context) {
        auto place = std::ranges::lower_bound(set, context);
        if (place == set.end() || *place != context) set.insert(place, context);
    }
    static void erase(Set& set, std::uint64_t context) {
        auto place = std::ranges::lower_bound(set, context);
        if (place != set.end() && *place == context) set.erase(place);
    }
    // Room for all living ones in gone_, and for some that never lived.
    void reserve() {
        const std::size_t size = gone_.size() + living_.size() + 1 + lost_unknown_max;
        if (size > gone_.capacity()) gone_.reserve(2 * size);
    }

    Set living_;
    Set gone_;          // removed, or lost, while unknown ones are kept; their messages are not
    Set lost_unknown_;  // of these, those that are refused when they are opened
    bool keeps_unknown_ = true;
    bool all_unknown_lost_ = false;  // there was no room for another one
};

}  // namespace weft
