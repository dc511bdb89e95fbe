// A group of ranks, and a stream: an order of operations that all of them share.
//
// Runs of one stream issue their messages on each lane in the order of their starts. The stream
// knows, for each lane, the last started run that has not issued all its messages.
//
// Thread safety: none; the progress engine's lock covers it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/transport.h"

namespace weft {

class Run;

// The streams of a communicator: that of its calls, those of its persistent requests, and from this
// number on one for each tag of its messages (run/tagged.h).
inline constexpr std::uint32_t first_tag_stream = (StreamId::stream_max + 1) / 2;
inline constexpr int tag_max = static_cast<int>(StreamId::stream_max - first_tag_stream);

// A run and one of its schedule's lanes; run == null: nobody.
struct LaneHold {
    Run* run = nullptr;
    std::uint32_t lane = 0;
};

// Why a run failed.
struct Failure {
    weft_status code = WEFT_OK;  // or one of a completion's codes (transport/transport.h)
    Rank rank = -1;              // of the job
    // For a broken message: the bytes that `rank` sent, and those expected.
    std::int64_t sent_bytes = 0;
    std::int64_t expected_bytes = 0;
    // An additional remark of the communicator; the other ranks get it unchanged.
    bool has_remark = false;
    std::array<std::byte, 56> remark{};
    // With WEFT_BROKEN_MESSAGE: `rank` refused its call; the remark is its sentence, cut to fit, as
    // it always is with WEFT_BROKEN_ABORT.
    bool is_refusal = false;
    // With WEFT_BROKEN_MEMORY: there is no descriptor for a connection with `rank`, or another
    // communicator of `rank` has this one's context. Otherwise `rank` ran out of memory.
    bool is_unconnected = false;
    bool is_context_taken = false;
};

// A call that `failure.rank` has refused, by its number among the group's calls.
struct RefusedCall {
    std::uint64_t number = 0;
    Failure failure;
};

// The ranks of a communicator: rank in the communicator -> rank of the job.
struct Group {
    std::uint64_t context = 0;
    std::vector<Rank> members;
    Failure broken;  // code other than WEFT_OK: nothing can be started anymore

    std::uint64_t parent = 0;  // context of the group that this was made from
    std::uint32_t number = 0;  // this is its number-th child
    std::uint32_t made = 0;    // how many groups were made from this one

    // Some member is reached by a transport that knows no demands: whoever has something pending
    // here is eager.
    bool is_eager = false;

    // What is pending here is never left to the program: a peer may wait for it without a demand
    // (Executor::needs_attention()).
    bool is_attended = false;

    // Of a group with processes of other jobs: the bridge (transport/bridges.h) that reaches them.
    // Processes number others differently then, so that a failure notice names a rank by its place
    // in the group. 0: all members are ranks of one job.
    std::uint64_t bridge = 0;
    std::vector<Rank> parent_members{};  // ... of the group that it was made from

    std::uint32_t dedicated = 0;  // how many of its streams have dedicated connections

    // The calls of collectives, in the order that all members share. A rank that must refuse one
    // tells the others by its number. Those that refuse it, too, go on; those that make it break
    // the group.
    std::uint64_t calls = 0;                   // made or refused by this rank
    std::vector<std::uint64_t> refused{};      // ... by this rank
    std::vector<RefusedCall> refused_ahead{};  // by others; this rank has not come to them yet
};

// How sentences name a member: "rank 3 of the job".
struct NamedRank {
    Rank rank = -1;
    const char* of = "job";
};
inline NamedRank name_of(const Group& group, Rank member) {
    if (group.bridge == 0) return {member, "job"};
    const auto place = std::ranges::find(group.members, member);
    return {place == group.members.end() ? -1 : static_cast<Rank>(place - group.members.begin()),
            "group"};
}

class Stream {
  public:
    // `group` outlives the stream.
    Stream(Group& group, std::uint32_t number)
        : group_(group), id_{group.context, number}, last_(2 * group.members.size()) {}

    StreamId id() const { return id_; }
    Group& group() const { return group_; }
    Rank member(Rank rank) const { return group_.members[static_cast<std::size_t>(rank)]; }

    LaneHold& last_on_lane(Rank peer, bool sends) {
        return last_[2 * static_cast<std::size_t>(peer) + (sends ? 1 : 0)];
    }

  private:
    Group& group_;
    StreamId id_;
    std::vector<LaneHold> last_;
};

}  // namespace weft
