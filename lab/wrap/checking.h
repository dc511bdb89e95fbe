// A transport that checks the contract of transport.h on both sides of another one.
//
// The user's posts name another rank of the job, have a token, and do not use an abandoned context;
// lent buffers do not change. In the inner transport each pending post completes once, with its own
// token, in posting order within its lane and never after its context was abandoned; nothing is
// written outside a receive's buffer, nor into it after its completion; a lost peer is reported
// once. To detect stray writes, receives land in guarded buffers of this wrapper and are copied
// from there.
//
// Thread safety: none. The inner transport outlives it.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lab/wrap/forwarding.h"

namespace weft {

class CheckingTransport final : public ForwardingTransport {
  public:
    enum class OnViolation : std::uint8_t { abort, collect };

    struct Endpoint {
        Rank rank;
        Rank ranks;
    };

    CheckingTransport(Transport& inner, Endpoint place,
                      OnViolation on_violation = OnViolation::abort);

    // The violations as sentences, if they are collected.
    const std::vector<std::string>& violations() const { return violations_; }
    // Posts that have not completed.
    std::size_t pending() const { return pending_.size(); }
    // Reports buffers of abandoned posts that have changed since.
    void check_abandoned();

    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    void cancel_context(std::uint64_t context) override;

  private:
    struct Pending {
        Lane lane;
        Token token;
        bool sends = false;
        Bytes lent;                 // the user's buffer
        std::byte* into = nullptr;  // receives: the same
        std::uint64_t lent_hash = 0;
        std::vector<std::byte> guarded;  // receives: guard, data, guard
    };

    struct Abandoned {
        std::vector<std::byte> guarded;
        std::uint64_t hash;
        std::string what;
    };

    // Sends or receives, peer, stream.
    using LaneKey = std::tuple<bool, Rank, std::uint64_t>;
    static LaneKey key(const Pending& pending);

    Posted receive(const Lane& lane, MutBytes data, const Combination* combination,
                   Token token) override;
    void report(const std::string& sentence);
    bool may_post(const Pending& pending);
    template <class Inner>
    Posted post(std::uint32_t serial, Inner inner);
    Posted settle(Posted posted, std::uint32_t serial);
    void check_buffers(const Pending& pending);
    void check_lost(const Completion& completion);
    void check_lost_message(const Completion& completion);
    bool complete(Completion& completion);

    Endpoint place_;
    OnViolation on_violation_;
    std::vector<std::string> violations_;
    std::uint32_t next_serial_ = 0;
    std::unordered_map<std::uint32_t, Pending> pending_;
    std::map<LaneKey, std::deque<std::uint32_t>> order_;  // of the pending posts of a lane
    std::vector<Abandoned> abandoned_;
    std::set<std::uint64_t> abandoned_contexts_;
    std::set<Rank> lost_;
    std::set<std::uint64_t> short_of_message_;  // contexts
};

}  // namespace weft
