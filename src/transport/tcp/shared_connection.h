// A connection that all streams of a pair share: messages travel as frames (wire.h), eager or by
// rendezvous (matching/rendezvous.h).
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "base/lane_table.h"
#include "transport/matching/rendezvous.h"
#include "transport/tcp/core.h"
#include "transport/tcp/lanes.h"
#include "transport/tcp/link.h"

namespace weft::tcp {

class SharedConnection final : public Link {
  public:
    SharedConnection(Core& core, Peer& p, std::uint32_t number)
        : Link(p, number), core_(core), credit_(core.credit_max) {
        controls_.reserve(queued_min);
        cleared_.reserve(queued_min);
    }

    // A message that is not cut.
    Posted send(StreamId stream, Bytes data, Token token);
    // A message, or a piece of one. REQUIRES: reserve_send().
    void send(StreamId stream, Post& post);
    SendLane& reserve_send(std::uint64_t stream);
    // A message. REQUIRES: this is the connection of its first piece.
    Posted receive(StreamId stream, MutBytes data, Token token);

    bool owes() const override { return is_writing() || !controls_.empty() || !cleared_.empty(); }
    bool is_needed() const override { return expected > 0 || owes(); }
    void read(Wire& wire) override;
    void on_event(Wire& wire, std::uint32_t events) override;

    // The called end accepts the connection, in its first frame.
    void welcome() { controls_.push_front({FrameKind::welcome, 0, 0, 0}); }
    // This end sends nothing more.
    void say_goodbye() { (void)control(FrameKind::bye, 0, 0); }
    // There is room for one more frame without payload; false: there is no memory for it.
    bool has_room_for_control();
    bool has_left() const { return has_left_; }  // the peer has said that
    // Writes queued frames, a bounded amount.
    void write();
    // ... put off until the end of the call.
    void write_put_off();

    // The peer is lost.
    void break_posts();
    void cancel_context(std::uint64_t context);
    void close_context(std::uint64_t context);
    void drop_unwanted_messages();
    bool has_unexpected(StreamId stream) {
        const ReceiveLane* lane = receives_.find_existing(stream.packed());
        return lane != nullptr && !lane->unexpected.empty();
    }
    // Visits the contexts that have posts.
    template <class Visit>
    void for_each_context(Visit visit) {
        auto note = [&](const auto& lane) {
            if (!lane.posts.empty()) visit(context_of(lane.stream));
        };
        sends_.for_each(note);
        receives_.for_each(note);
    }
    std::size_t held_bytes() const;

    static constexpr std::size_t lane_bytes = sizeof(SendLane) + sizeof(ReceiveLane);

  private:
    // The frames being written: headers of frames without payload; only the last may have one.
    static constexpr std::size_t frames_max = 16;
    static constexpr std::size_t queued_min = 8;  // there is always room to queue these

    bool is_writing() const { return head_left_ > 0 || payload_left_ > 0; }

    // sending.cpp
    bool may_send_eagerly(std::uint64_t stream, std::uint64_t bytes) const;
    void append(SendLane& lane, Post& post);
    void prepare_front(SendLane& lane);
    void take_cts(std::uint64_t stream);
    bool control(FrameKind kind, std::uint64_t stream, std::uint64_t bytes);
    void put_off();
    void go_on();
    void put_frame(Frame frame);
    void put_controls();
    bool begin_frame();
    void end_frame();
    ssize_t write_frame();
    bool keep_payload();
    void drop_payload();
    void write_frames();
    void cancel_sends(std::uint64_t context);

    // receiving.cpp
    void append(ReceiveLane& lane, Post& post);
    void meet(ReceiveLane& lane, Post& post, Post* pieces);
    bool begin_message(ReceiveLane& lane, const Frame& frame);
    bool send_cts(ReceiveLane& lane, Post& post);
    void use_cts(ReceiveLane& lane);
    void reserve_others(std::uint64_t stream);
    void clear_others(std::uint64_t stream);
    Post* reserve_pieces(std::uint64_t stream, std::uint64_t message_bytes);
    void begin_pieces(std::uint64_t stream, Post* pieces, Post* first);
    void let_drop(std::uint64_t stream, std::uint64_t message_bytes);
    bool take_bytes(Wire& wire, Bytes bytes);
    bool take_frame(Wire& wire);
    bool take_payload_frame(Wire& wire);
    bool take_rts(const Frame& frame);
    void answer_rts(ReceiveLane& lane, const Frame& frame, std::uint64_t bytes);
    void advance(Wire& wire, std::uint64_t bytes);
    void end_payload(Wire& wire);
    void pay_credit(std::uint64_t credit);
    void release(Unexpected* message);
    void cancel_receives(std::uint64_t context);

    // posting.cpp
    Post& take_post(std::uint64_t stream, std::byte* data, std::uint64_t bytes, Token token);
    void end(LaneQueue& lane, Post& post, const Outcome& how);
    void end_all(LaneQueue& lane, const Outcome& how);
    void forget_all(LaneQueue& lane);
    void report(const LaneQueue& lane, Post* post, const Outcome& how);
    void leave(const LaneQueue& lane, Post& post);
    void free_if_done(Post& first);
    SharedConnection& connection_of(std::uint64_t stream, std::uint32_t piece);
    LaneQueue& lane_of_first(const LaneQueue& lane);

    Core& core_;
    bool has_left_ = false;
    LaneTable<SendLane> sends_;
    LaneTable<ReceiveLane> receives_;
    Fifo<Frame> controls_;         // frames without payload, which go first
    Fifo<std::uint64_t> cleared_;  // streams whose first send is cleared, taking turns

    std::array<std::byte, frames_max * Frame::header_bytes> head_;
    std::size_t head_bytes_ = 0;
    std::size_t head_left_ = 0;
    std::uint64_t payload_left_ = 0;
    const std::byte* payload_ = nullptr;
    std::optional<std::uint64_t> writing_;  // the stream whose first send the payload belongs to,
    std::uint64_t writing_bytes_ = 0;       // its bytes in this frame
    std::vector<std::byte> orphan_;         // a copy of the payload, if that send was cancelled
    std::uint16_t next_sequence_ = 0;

    Credit credit_;
    bool is_put_off_ = false;  // in Core::put_off
};

}  // namespace weft::tcp
