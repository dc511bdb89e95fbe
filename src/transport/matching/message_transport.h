// A transport over a library that carries messages between ranks, such as an MPI or UCX.
//
// Eager messages and rendezvous: rendezvous.h. Eager messages are sent from slots of the
// transport's. All lanes to a peer share the order of frames between two ranks. An early CTS is a
// hint: the order of frames alone says which message meets which receive.
//
// `Self`, the transport, derives from MessageTransport<Self, its Peer>, and has, besides the verbs
// that are not here:
//   bool need(Peer&)               there is something to send to the peer; false: it is lost
//   void lose(Peer&, weft_status)  sets `loss` and `lost`, calls break_posts(), reports it
//   bool send_frame(Peer&, Frame, Bytes payload)     REQUIRES: has_slot(). False: the peer is lost
//   bool has_room_to_move(Peer&, const Post&)        the next move() of the post does not fail for
//                                                    lack of slots
//   bool move(Peer&, Post&, FrameKind)               bytes of a message that is cleared;
//                                                    false: the peer is lost
// It may replace the functions below that say so. One of its files instantiates the class, with the
// functions in message_functions.h.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/matching/contexts.h"
#include "transport/matching/matching_queue.h"
#include "transport/matching/message_parts.h"
#include "transport/matching/post_store.h"
#include "transport/matching/reports.h"
#include "transport/transport.h"

namespace weft {

template <class Self, class Peer>
class MessageTransport : public Transport {
  public:
    Posted post_send(const Lane& to, Bytes data, Token token) override;
    Posted post_recv(const Lane& from, MutBytes data, Token token) override;
    NextMessage next_on(const Lane& lane) override;
    std::uint64_t next_changes() const override { return unexpected_.taken() + losses_; }
    std::uint64_t pieces_moved() const override { return parts_moved_; }
    bool has_work() const override { return owing_ > 0 || in_flight_ > 0 || reports_.has_kept(); }
    void cancel_context(std::uint64_t context) override;
    void open_context(std::uint64_t context) override { posts_.open_context(context); }
    void close_context(std::uint64_t context) override;
    void buffer_unknown(bool keep) override;

  protected:
    using Post = typename Peer::PostType;
    using Slot = message::SendSlot<Peer>;
    using LaneQueue = message::LaneQueue<Post>;
    using SendLane = message::SendLane<Post>;
    using Frame = message::Frame;
    using FrameKind = message::FrameKind;
    using Unexpected = message::Unexpected;
    using FrameContent = message::FrameContent;

    struct Limits {
        std::size_t eager_threshold;
        std::size_t payload_max;        // of a slot
        std::uint32_t large_slots_max;  // of each peer, at a time
        std::uint32_t first_sequence;   // of the frames between two ranks
    };

    MessageTransport(Rank rank, std::size_t ranks, const Limits& limits);

    // Self may replace these.
    Post* take_post(Peer& peer, std::uint64_t stream, const std::byte* data, std::uint64_t bytes,
                    Token token);
    void free_post(Post* post) { posts_.give_back(post); }
    // The last frame leaves without further calls of the library.
    bool is_sent() const { return true; }
    // The last frame ends the post's message.
    void finish_sent(Peer& peer, Post& post) { finish(peer, peer.sends.find(post.stream), post); }
    bool has_room_to_send() { return true; }  // for one more slot; false: out of memory
    // The message has met its receive, and is as long.
    void receive_into(Peer& peer, LaneQueue& lane, Post& post, FrameContent& arrival);
    void release_descriptor(void* /*descriptor*/) {}

    // Posts.
    Peer& peer_of(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }
    // Reports posts of the peer's lanes, and frees them.
    auto reporter(const Peer& peer) {
        return [this, &peer](Post* post, const Outcome& how) {
            reports_.add({post->token, how.code, peer.rank, how.sent_bytes, how.expected_bytes},
                         post->stream);
            self().free_post(post);
        };
    }
    void finish(Peer& peer, LaneQueue& lane, Post& post, const Outcome& how = {}) {
        lane.end(&post, how, reporter(peer));
    }
    Posted refuse(Peer& peer, LaneQueue& lane, Token token);
    void break_posts(Peer& peer);
    void forget_posts(Peer& peer, LaneQueue& lane);
    void lose_message(const Peer& peer, std::uint64_t stream) {
        posts_.lose_message(peer.rank, stream);
    }
    std::size_t held_bytes() const;

    // Sending.
    bool may_send_eagerly(const Peer& peer, const Post& post) const;
    bool has_slot(const Peer& peer, std::size_t payload, bool is_spare = false);
    Slot* fill_slot(Peer& peer, Frame frame, Bytes payload);
    void note_in_flight(const Slot& slot);
    void take_back(Slot* slot);
    void go_on(Peer& peer);
    void go_on_with_all() {
        for (Peer& peer : peers_) {
            if (peer.owes()) go_on(peer);
        }
    }
    void note_owing(Peer& peer);
    void take_cts(Peer& peer, std::uint64_t ticket);
    void take_drop(Peer& peer, std::uint64_t ticket);
    void take_early_cts(Peer& peer, const Frame& frame);

    // Receiving.
    bool take_eager(Peer& peer, const Frame& frame, FrameContent& arrival);
    void take_rts(Peer& peer, const Frame& frame);
    LaneQueue* receiving_lane(Peer& peer, std::uint64_t stream, bool is_wanted);
    void reserve_awaiting_data(Peer& peer);
    void drop_unwanted_messages(Peer& peer);
    void pay_credit(Peer& peer, std::uint64_t credit);

    Rank rank_;
    Limits limits_;
    std::vector<Peer> peers_;  // by rank
    Reports reports_;
    Contexts contexts_;
    PostStore<Post> posts_{reports_, contexts_, peers_.size()};
    UnexpectedStore<Unexpected> unexpected_;
    message::SlotStore<Peer> slots_;
    std::size_t in_flight_ = 0;  // slots that the library has
    int owing_ = 0;              // peers that something is to be sent to
    std::uint64_t parts_moved_ = 0;
    std::uint64_t losses_ = 0;  // of peers

  private:
    // There is always room to queue these for a peer.
    static constexpr std::size_t queued_min = 8;
    // Small slots for each peer that only failure notices and frames about messages may
    // take when there is no memory for more.
    static constexpr std::size_t spares_of_peer = 2;

    Self& self() { return static_cast<Self&>(*this); }

    bool reserve_slot(bool is_large, bool is_spare) {
        return self().has_room_to_send() && slots_.reserve(is_large, is_spare);
    }
    bool reserve_rts(Peer& peer);
    bool begin_send(Peer& peer, Post& post);
    bool keep_sent(Peer& peer, const Post& sent, Token token);
    void send_early_cts(Peer& peer, const Post& post);
    Posted receive_unexpected(Peer& peer, LaneQueue& lane, MutBytes data, Token token);
    void reserve_answer(Peer& peer);
    void answer_rts(Peer& peer, LaneQueue& lane, Post& post, std::uint64_t bytes,
                    std::uint64_t ticket);
    void send_drop(Peer& peer, std::uint64_t ticket);
    void release(Peer& peer, Unexpected* message);
};

}  // namespace weft
