// Which groups break, and why. A failure breaks the whole group: every member gets a failure notice.
//
// Notices have a stream of their own (context 0), on which each rank keeps a receive posted for
// every other rank. A rank that gives up breaks the messages of others, so a broken message counts
// only after the notices that may explain it: all ranks name the same cause.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "run/stream.h"
#include "transport/transport.h"

namespace weft {

// What the members of a group that broke send each other.
struct FailureNotice {
    std::uint32_t context = 0;
    std::uint32_t made = 0;  // by the sender: groups made from this one
    Failure failure;
};

class FailureNotices {
  public:
    // `routes`: by rank of the job, the transport that reaches it; outlives this object. `end_runs`
    // ends what runs in a group that has just broken.
    FailureNotices(Rank rank, const std::vector<Transport*>& routes,
                   std::function<void(Group&)> end_runs);

    // Posts the receives of the other ranks' notices.
    void expect_all();

    // From now on failures reach the group. It may break at once.
    void add(Group& group);
    void remove(Group& group) { std::erase(groups_, &group); }
    // Notices of groups that this rank does not have are kept while some are expected.
    void keep_early(bool keep);

    // Breaks the group and sends a notice to its other members. Only its first failure counts.
    void break_group(Group& group, const Failure& failure);
    // The rank is dead or out of reach: breaks every group it belongs to, because other members may
    // be waiting for it.
    void lose(Rank peer, weft_status reason);

    // A message of the context is broken. Once all notices that may explain it have been taken,
    // break_suspected() breaks its group.
    void suspect(std::uint32_t context, const Failure& failure) {
        suspects_.push_back({context, failure});
    }
    bool has_suspects() const { return !suspects_.empty(); }
    void break_suspected();

    // A post of this object's has completed: its token names the object.
    void handle(const Completion& completion);
    // Counts the notices that came.
    std::uint64_t taken() const { return taken_; }

  private:
    struct Suspect {
        std::uint32_t context;
        Failure failure;
    };

    void expect(Rank peer);
    void take(Rank from);
    void break_context(std::uint32_t context, const Failure& failure);
    bool has_lost_member(const Group& group, Failure& failure) const;

    Rank rank_;
    const std::vector<Transport*>& routes_;
    std::function<void(Group&)> end_runs_;
    std::vector<Group*> groups_;
    std::vector<weft_status> lost_;        // by rank of the job: why, or WEFT_OK
    std::vector<FailureNotice> expected_;  // by rank of the job: where its next notice lands
    std::vector<std::unique_ptr<FailureNotice>> sent_;
    std::uint64_t taken_ = 0;
    std::vector<Suspect> suspects_;
    bool keeps_early_ = true;
    std::vector<Suspect> early_;  // of contexts that this rank does not have yet
};

}  // namespace weft
