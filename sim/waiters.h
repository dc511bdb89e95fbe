// One side of matches: what waits at a rank for the other side, the oldest first. A match has the
// same peer and the same tag, or a wildcard in its place.
//
// A few are searched. Among many, those of each peer and tag are chained, so that a match without
// wildcards takes no longer than among few; one with them is searched among all.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "sim/goal.h"

namespace weft::simulate {

struct Waiter {
    Rank peer;  // or any_source
    std::uint32_t tag;
    std::uint32_t op;  // of a message: the sender's
};

class Waiters {
  public:
    Waiters() = default;
    Waiters(const Waiters&) = delete;  // its places are its own
    Waiters& operator=(const Waiters&) = delete;

    void add(const Waiter& waiter) {
        waiting_.push_back({waiter, number_++, waiting_.end()});
        wild_ += is_wild(waiter.peer, waiter.tag) ? 1 : 0;
        if (is_chained_)
            chain(std::prev(waiting_.end()));
        else if (waiting_.size() > searched_max)
            chain_all();
    }

    // The oldest that fits.
    std::optional<Waiter> take(Rank peer, std::uint32_t tag) {
        const Place found = is_chained_ && !is_wild(peer, tag) ? oldest_of_chains(peer, tag)
                                                               : oldest_of_all(peer, tag);
        if (found == waiting_.end()) return std::nullopt;
        const Waiter waiter = found->waiter;
        wild_ -= is_wild(waiter.peer, waiter.tag) ? 1 : 0;
        // It is the first of its chain: those behind it would fit as well, and are younger.
        if (is_chained_) unchain_first(waiter, *found);
        waiting_.erase(found);
        if (waiting_.empty()) is_chained_ = false;
        return waiter;
    }

    bool is_empty() const { return waiting_.empty(); }
    const Waiter& oldest() const { return waiting_.front().waiter; }

  private:
    struct WaitingPost;
    using Place = std::list<WaitingPost>::iterator;
    struct WaitingPost {
        Waiter waiter;
        std::uint64_t number;
        Place next;  // of its chain
    };
    struct WaiterChain {
        Place first;
        Place last;
    };

    static constexpr std::size_t searched_max = 32;

    static bool is_wild(Rank peer, std::uint32_t tag) {
        return peer == any_source || tag == any_tag;
    }
    static std::uint64_t key(Rank peer, std::uint32_t tag) {
        return std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 | tag;
    }

    void chain(Place place) {
        const auto [it, is_new] = chains_.try_emplace(key(place->waiter.peer, place->waiter.tag),
                                                      WaiterChain{place, place});
        if (is_new) return;
        it->second.last->next = place;
        it->second.last = place;
    }
    void chain_all() {
        is_chained_ = true;
        for (Place place = waiting_.begin(); place != waiting_.end(); ++place) chain(place);
    }
    void unchain_first(const Waiter& waiter, const WaitingPost& first) {
        const auto it = chains_.find(key(waiter.peer, waiter.tag));
        if (first.next == waiting_.end())
            chains_.erase(it);
        else
            it->second.first = first.next;
    }

    Place oldest_of_chains(Rank peer, std::uint32_t tag) {
        Place oldest = waiting_.end();
        const auto look = [&](Rank chain_peer, std::uint32_t chain_tag) {
            const auto it = chains_.find(key(chain_peer, chain_tag));
            if (it == chains_.end()) return;
            const Place first = it->second.first;
            if (oldest == waiting_.end() || first->number < oldest->number) oldest = first;
        };
        look(peer, tag);
        if (wild_ > 0) {
            look(any_source, tag);
            look(peer, any_tag);
            look(any_source, any_tag);
        }
        return oldest;
    }
    Place oldest_of_all(Rank peer, std::uint32_t tag) {
        Place at = waiting_.begin();
        for (; at != waiting_.end(); ++at) {
            const Waiter& waiter = at->waiter;
            const bool same_peer =
                peer == any_source || waiter.peer == any_source || waiter.peer == peer;
            const bool same_tag = tag == any_tag || waiter.tag == any_tag || waiter.tag == tag;
            if (same_peer && same_tag) break;
        }
        return at;
    }

    std::list<WaitingPost> waiting_;
    std::unordered_map<std::uint64_t, WaiterChain> chains_;  // by peer and tag, if there are many
    bool is_chained_ = false;
    std::uint64_t number_ = 0;
    std::size_t wild_ = 0;  // of those that wait: with wildcards
};

}  // namespace weft::simulate
