// The transport over the program's MPI: it works wherever that does.
//
// Eager messages and rendezvous: matching/rendezvous.h. A large message moves in parts, each a
// frame with up to payload_max bytes, as many at a time as there are slots: a rank that gets no
// core for a while should find much to do afterwards. The MPI gets only buffers of this transport,
// never a user's: a send or receive of an MPI cannot be cancelled, and a cancelled message must not
// touch its buffer. Cost: one copy on either side (docs/decisions/0005-mpi.md).
//
// It can only be polled; if the MPI allows one thread only, only by the program's.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/matching/message_parts.h"
#include "transport/matching/message_transport.h"
#include "transport/mpi/settings.h"
#include "transport/transport.h"
#include "weft/oob.h"

// The mpi transport's state of one other rank, and of messages to and from it.
namespace weft::mpi {

// The bytes behind a frame, at most. Most MPIs send messages of this size eagerly.
inline constexpr std::size_t payload_max = 32 * 1024;

struct Post : message::PostPart<Post> {
    std::uint64_t moved = 0;  // bytes, in parts
};

struct Peer : message::PeerPart<Post> {};

}  // namespace weft::mpi

namespace weft {

class MpiTransport final : public MessageTransport<MpiTransport, mpi::Peer> {
  public:
    // Collective over the ranks of `oob`, which are those of the job.
    static Result<std::unique_ptr<MpiTransport>> create(const weft_oob& oob,
                                                        mpi::Settings settings);
    ~MpiTransport() override;

    const char* name() const override { return "mpi"; }
    Usage usage() const override;
    std::uint64_t unexpected_messages() const override { return unexpected_.taken(); }
    Abilities abilities() const override {
        return {.any_thread = mpi_.any_thread != 0, .eager_bytes = limits_.eager_threshold};
    }
    std::size_t poll(std::span<Completion> done) override;
    void list_owed(std::vector<Rank>& peers) const override;

  private:
    friend MessageTransport;
    using Peer = mpi::Peer;

    static constexpr std::size_t large_bytes = sizeof(Frame) + mpi::payload_max;

    MpiTransport(const weft_oob& oob, const mpi::Settings& settings);
    Status open(void* context);

    // mpi.cpp
    void* request(std::vector<std::byte>& requests, std::size_t index) const {
        return requests.data() + index * mpi_.request_bytes;
    }
    bool need(const Peer& peer) const { return !peer.lost; }
    void fail_all();
    void lose(Peer& peer, weft_status how);

    // messages.cpp: sending
    bool has_room_to_send();
    bool send_frame(Peer& peer, Frame frame, Bytes payload);
    bool has_room_to_move(const Peer& peer, const Post& post);
    bool move(Peer& peer, Post& post, FrameKind kind);
    void take_back_slots();

    // messages.cpp: receiving
    void post_receive(std::size_t index);
    void post_idle();
    void take_arrived();
    bool is_good(const Frame& frame) const;
    bool take_frame(const Frame& frame, Bytes payload);
    void take_early_data(Peer& peer, const Frame& frame, Bytes payload);
    void take_part(Peer& peer, const Frame& frame, Bytes payload);
    void receive_part(Peer& peer, Post& post, Bytes payload);
    void keep_part(Peer& peer, Unexpected& message, Bytes payload);
    void receive_into(Peer& peer, LaneQueue& lane, Post& post, FrameContent& arrival);

    weft_mpi_channel mpi_;
    void* channel_ = nullptr;
    std::vector<int> indices_;  // of completed requests
    std::uint64_t polled_ticks_ = 0;

    // Buffers that the MPI still sends from stay in place until the process ends.
    struct Kept {
        Kept* next = nullptr;
        std::optional<message::SlotStore<Peer>> slots;
    };
    std::unique_ptr<Kept> kept_;

    std::vector<Slot*> sending_;  // with requests of the same index
    std::vector<std::byte> send_requests_;

    std::size_t receives_ = 0;
    std::vector<std::byte> receive_bytes_;
    std::vector<std::byte> receive_requests_;
    std::vector<bool> is_idle_;  // there was nothing to receive
    std::size_t idle_ = 0;
    std::vector<bool> arrived_;    // but not taken: an earlier frame of its sender is missing
    bool is_notice_left_ = false;  // or it is a failure notice, which waits for its receive
};

extern template class MessageTransport<MpiTransport, mpi::Peer>;

}  // namespace weft
