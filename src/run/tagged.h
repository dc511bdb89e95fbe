// The program's own messages: a send or receive is a run of one operation.
//
// A tag has a stream of its own. So the lanes of the transports match these messages as those of
// collectives: in order from one rank to another, and no tag holds up another one.
//
// Of a receive from any source no lane is known. It is not posted until some rank's next message
// with its tag is here; then it is posted on that lane, and meets it. Later receives of the tag
// wait behind it, because they would take the message: until then, none of them could have one.
// Cost: its messages are unexpected ones, which have one copy more if they are eager; and while it
// waits, every arrival leads to a look at all lanes of the tag.
//
// Messages to this rank itself meet here. The first of a pair waits for the other. Polls copy them,
// a large one in pieces: other threads wait for the engine's lock meanwhile.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fifo.h"
#include "base/lane_table.h"
#include "run/run.h"
#include "run/tagged_message.h"
#include "transport/transport.h"

namespace weft {

class TaggedMessages final : public CompletionSource {
  public:
    // The vectors outlive this.
    TaggedMessages(Rank rank, const std::vector<Transport*>& routes,
                   const std::vector<Transport*>& transports)
        : rank_(rank), routes_(routes), transports_(transports) {}

    // Posts the message, or keeps it until it can be posted. With `pending`, its completion comes
    // from a poll, of a transport's or of this. May throw std::bad_alloc.
    Posted start(TaggedMessage& message);

    // It has had something to poll for.
    bool is_used() const { return is_used_; }

    const char* name() const override { return "messages"; }
    // (It never sleeps alone: what it waits for arrives at the transports.)
    Abilities abilities() const override { return {.has_cancellation_points = false}; }
    std::size_t poll(std::span<Completion> done) override;
    bool arm(Sleeper) override { return !has_work(); }
    bool has_work() const override { return !ended_.empty() || has_news(); }
    std::uint64_t pieces_moved() const override { return pieces_moved_; }
    void cancel_context(std::uint64_t context) override;
    void close_context(std::uint64_t) override {}

  private:
    using List = Chain<TaggedMessage>;

    // The messages of a tag that are not posted, in the order of their starts.
    struct TagLane {
        std::uint64_t stream = 0;
        bool used = false;
        List sends;     // that a transport was too busy for
        List receives;  // from any source, and those behind them
        // To and from this rank itself, of which the other end has not been started.
        List own_sends;
        List own_receives;

        bool idle() const {
            return sends.empty() && receives.empty() && own_sends.empty() && own_receives.empty();
        }
    };

    bool keeps_before(const TaggedMessage& message);
    TagLane& lane_of(const TaggedMessage& message);
    Posted start_in_turn(TaggedMessage& message);
    Posted keep(List& kept, TaggedMessage& message);
    Posted try_post(TaggedMessage& message);
    Posted post(TaggedMessage& message, Rank peer);
    Posted post_to_self(TaggedMessage& message);
    bool copy_some(TaggedMessage& message, std::size_t& budget);
    NextMessage next_from(Rank member, StreamId stream);
    std::size_t post_kept(List& kept, std::span<Completion> done);
    void expect(const TaggedMessage& message, int change);
    void forget(List& kept);
    // Whether a receive from any source may be able to go on.
    bool has_news() const { return from_any_ > 0 && (was_busy_ || changes() != changes_seen_); }
    std::uint64_t changes() const;

    const Rank rank_;
    const std::vector<Transport*>& routes_;
    const std::vector<Transport*>& transports_;

    LaneTable<TagLane> lanes_;
    bool is_used_ = false;
    std::size_t kept_ = 0;            // messages in `sends` and `receives` of all lanes,
    std::size_t from_any_ = 0;        // and those of them from any source
    std::uint64_t own_sends_ = 0;     // that had to wait, so far
    std::uint64_t changes_seen_ = 0;  // when the lanes were last looked at
    bool was_busy_ = false;           // a transport, when a message was here for one of them,
    bool tries_again_ = false;        // or for one whose peer is known: others wait behind one
    std::uint32_t turn_ = 0;          // where the next look at a communicator's ranks begins
    // To be reported. Of a message to this rank itself first the receive, with which it is copied.
    List ended_;
    std::uint64_t pieces_moved_ = 0;
};

}  // namespace weft
