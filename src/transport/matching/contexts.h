// The contexts that a rank has: a transport keeps an unexpected message only if its context is
// wanted.
//
// While a rank makes communicators it does not know their contexts yet, and faster ranks may
// already send on them: it keeps messages of unknown contexts. At other times an unknown context is
// of a communicator that was freed or broke, and its messages are dropped. So nothing grows with
// the number of communicators that ever were.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft {

class Contexts {
  public:
    bool wants(std::uint32_t context) const {
        return early_ ? !holds(gone_, context) : holds(living_, context);
    }

    void admit(std::uint32_t context) { add(living_, context); }

    void remove(std::uint32_t context) {
        auto place = std::ranges::lower_bound(living_, context);
        if (place != living_.end() && *place == context) living_.erase(place);
        if (early_) add(gone_, context);
    }

    void keep_early(bool keep) {
        early_ = keep;
        if (!keep) gone_.clear();
    }

  private:
    using Set = std::vector<std::uint32_t>;  // sorted

    static bool holds(const Set& set, std::uint32_t context) {
        return std::ranges::binary_search(set, context);
    }
    static void add(Set& set, std::uint32_t context) {
        auto place = std::ranges::lower_bound(set, context);
        if (place == set.end() || *place != context) set.insert(place, context);
    }

    Set living_;
    Set gone_;  // removed while early messages are kept; theirs are not
    bool early_ = true;
};

}  // namespace weft
