// A transport that is as unpleasant as the contract allows: depending on a seed it answers busy and
// holds completions back, and at a chosen post it loses a peer or a message, or runs out of memory.
//
// After the loss no buffer of a post with that peer is touched: the inner transport only reads and
// writes copies in this wrapper for that peer.
//
// Thread safety: none. The inner transport outlives it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "lab/wrap/forwarding.h"

namespace weft {

struct FaultyOptions {
    std::uint32_t busy_one_in = 0;   // one post in this many is answered busy; 0: none
    std::uint32_t hold_one_in = 0;   // a poll stops before one report in this many; 0: never; 1
                                     // would hold everything forever
    std::uint64_t lose_at_post = 0;  // the post at which the peer is lost; 0: never
    Rank lost_peer = -1;
    weft_status lost_code = WEFT_BROKEN_RANK;  // or WEFT_BROKEN_TRANSPORT: a cut link
    std::uint64_t no_memory_at_post = 0;       // this post throws std::bad_alloc; 0: none
    std::uint64_t lose_message_at_post = 0;    // then a message of its context is lost; 0: never
};

class FaultyTransport final : public ForwardingTransport {
  public:
    FaultyTransport(Transport& inner, std::uint64_t seed, FaultyOptions options);

    // A later poll will report something held back, or a busy post may be tried again.
    bool will_move() const { return !held_.empty() || was_busy_; }

    Abilities abilities() const override;
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    void cancel_context(std::uint64_t context) override;

  private:
    struct Pending {
        Lane lane;
        Token token;
        MutBytes into;                // receives from the peer that gets lost
        std::vector<std::byte> copy;  // what the inner transport sees of a post with that peer,
        std::vector<std::byte> left;  // and of what its receive is combined with
        bool broken = false;          // reported as broken: the inner completion is swallowed
    };

    struct Held {
        Completion completion;
        std::uint64_t context = 0;
    };

    bool is_doomed(Rank peer) const {
        return options_.lose_at_post > 0 && peer == options_.lost_peer;
    }
    Posted receive(const Lane& lane, MutBytes data, const Combination* combination,
                   Token token) override;
    std::optional<Posted> answer(const Lane& lane, Token token);
    bool is_busy();
    void count_post(const Lane& lane);
    Posted refuse(Lane lane, Token token);
    Posted settle(Posted posted, std::uint32_t serial);
    void collect();

    Prng random_;
    FaultyOptions options_;
    std::uint64_t posts_ = 0;
    bool lost_ = false;
    bool was_busy_ = false;
    std::uint32_t next_serial_ = 0;
    std::map<std::uint32_t, Pending> pending_;  // in posting order
    std::deque<Held> held_;                     // in the order in which they will be reported
};

}  // namespace weft
