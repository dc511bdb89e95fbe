// Which contexts a rank has, for transports: whether a message that finds no receive is kept.
//
// A rank that is making communicators cannot know their contexts yet, while faster ranks send on
// them already: it keeps what comes early. At other times what it does not know belongs to a
// communicator that it has freed, or that broke, and comes to nobody. So nothing grows with the
// number of communicators that ever were.
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
    Set gone_;  // removed while early messages are kept: those of these are not
    bool early_ = true;
};

}  // namespace weft
