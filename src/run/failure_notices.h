// Which groups break, and why. A failure breaks the whole group: every member gets a failure
// notice.
//
// Notices have their own stream (context 0), on which each rank keeps a receive posted for every
// other rank. A rank that gives up breaks the messages of others. So a broken message counts only
// after the notices that may explain it, and all ranks name the same cause.
//
// The cause may be a lack of memory, so the memory for telling others is reserved when a group is
// added. A notice that a transport cannot take now is kept, and progress() tries it again.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "run/stream.h"
#include "transport/transport.h"

namespace weft {

// The message that members of a broken group send each other, and a rank that has refused a call.
struct FailureNotice {
    std::uint64_t context = 0;
    std::uint32_t made = 0;  // by the sender: groups made from this one
    Failure failure;
    bool is_of_call = false;  // the sender has refused this call; its group is not broken
    std::uint64_t call = 0;
};

class FailureNotices {
  public:
    // `routes`: by rank of the job, the transport that reaches it; outlives this object. `end_runs`
    // ends what runs in a group that has just broken.
    FailureNotices(Rank rank, const std::vector<Transport*>& routes,
                   std::function<void(Group&)> end_runs);
    ~FailureNotices();
    FailureNotices(const FailureNotices&) = delete;
    FailureNotices& operator=(const FailureNotices&) = delete;

    // Posts the receives of the other ranks' notices.
    void expect_all();
    // `routes` has more numbers now. May throw.
    void make_room();
    // A number is another process's from now on, which a transport reaches; or nobody's.
    void add_peer(Rank peer);
    void remove_peer(Rank peer);
    bool has_lost(Rank peer) const { return lost_[static_cast<std::size_t>(peer)] != WEFT_OK; }
    Rank rank() const { return rank_; }

    // From now on failures reach the group. It may break at once. May throw; then it is not added.
    void add(Group& group);
    void remove(Group& group);
    // Notices of groups that this rank does not have are kept while some are expected.
    void buffer_unknown(bool keep);

    // A notice, with the memory that sending it takes.
    struct Telling {
        FailureNotice notice;
        std::vector<Rank> to;       // ranks it has not been sent to yet
        std::uint32_t number = 0;   // in the tokens of its sends,
        std::uint32_t pending = 0;  // of which so many have not completed
        Telling* next = nullptr;
    };
    static std::unique_ptr<Telling> reserve_telling(std::size_t members);
    // Sends a notice of a group that this rank does not have, and never will. `failure`: as the
    // others name its rank.
    void tell(std::unique_ptr<Telling> telling, std::uint64_t context,
              std::span<const Rank> members, const Failure& failure);
    // A failure of the group as the others name its rank.
    static Failure for_others(const Group& group, Failure failure);

    // Breaks the group and sends a notice to its other members. Only its first failure counts.
    void break_group(Group& group, const Failure& failure);
    // This rank refuses its next call: tells the other members, who break the group if they make
    // that call. May throw; then nothing has happened.
    void refuse_call(Group& group, const Failure& failure);
    // This rank makes its next call. The group breaks if another rank has refused it.
    void count_call(Group& group) {
        const std::uint64_t number = group.calls++;
        if (!group.refused_ahead.empty()) [[unlikely]]
            break_if_refused(group, number);
    }
    // The rank is dead or out of reach: breaks every group it belongs to, because other members may
    // be waiting for it.
    void lose(Rank peer, weft_status reason);

    // This rank ran out of memory: the context's group breaks; or all groups.
    void run_out(std::uint64_t context);
    void run_out_everywhere();
    Failure out_of_memory() const { return {.code = WEFT_BROKEN_MEMORY, .rank = rank_}; }

    // The failure of a group whose context another group of this rank has.
    Failure has_taken_context() const {
        return {.code = WEFT_BROKEN_MEMORY, .rank = rank_, .is_context_taken = true};
    }

    // A message of the context, whose group was added, is broken. Once all notices that may explain
    // it have been taken, break_suspected() breaks the group.
    void suspect(std::uint64_t context, const Failure& failure);
    bool has_suspects() const { return !suspects_.empty(); }
    void break_suspected();

    // Retries what a transport could not take.
    void progress() {
        if (owes_) [[unlikely]]
            try_again();
    }
    // Whether there is anything to retry.
    bool owes() const { return owes_; }
    // A post of this object has completed: its token names the object.
    void handle(const Completion& completion);
    // Counts the notices that came.
    std::uint64_t taken() const { return taken_; }

  private:
    struct Suspect {
        std::uint64_t context;
        Failure failure;
    };

    struct Member {
        Group* group;
        std::unique_ptr<Telling> telling;  // null: the group is broken
    };

    void expect(Rank peer);
    void take(Rank from);
    void send(Telling& telling);
    void try_again();
    void forget_sent();
    Group* find(std::uint64_t context) const;
    void keep_for_later(const FailureNotice& notice);
    void hear_of(Group& group, FailureNotice notice);
    void hear_of_refused(Group& group, const FailureNotice& notice);
    void break_if_refused(Group& group, std::uint64_t number);
    bool has_lost_member(const Group& group, Failure& failure) const;

    Rank rank_;
    const std::vector<Transport*>& routes_;
    std::function<void(Group&)> end_runs_;
    std::vector<Member> groups_;
    std::vector<weft_status> lost_;       // by rank of the job: why, or WEFT_OK
    std::deque<FailureNotice> expected_;  // by rank of the job: where its next notice lands
    std::vector<bool> is_expected_;       // ... unless its receive could not be posted
    Chain<Telling> sent_;
    std::uint32_t told_ = 0;  // numbers them
    bool owes_ = false;       // receives to post, or notices to send
    std::uint64_t taken_ = 0;
    std::vector<Suspect> suspects_;
    bool keeps_early_ = true;
    static constexpr std::size_t early_reserved = 16;
    // Of contexts that this rank does not have: not yet, or not any more.
    std::vector<FailureNotice> early_;
    std::optional<Failure> more_early_{};  // of one of those that there was no memory for
};

}  // namespace weft
