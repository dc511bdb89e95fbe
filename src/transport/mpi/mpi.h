// The transport over the program's MPI: it works wherever that does.
//
// All lanes to a peer share the MPI's order between two processes. A small message is sent eagerly;
// a credit bounds the receiver's unexpected messages. A larger one needs a CTS and moves in parts.
// The MPI gets only buffers of this transport, never a user's: a send or receive of an MPI cannot
// be taken back, and an abandoned message must not touch its buffer. The price is one copy on
// either side (docs/decisions/0005-mpi.md).
//
// It can only be polled; if the MPI allows one thread only, only by the program's.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/pool.h"
#include "transport/matching/contexts.h"
#include "transport/matching/post_store.h"
#include "transport/matching/reports.h"
#include "transport/matching/unexpected_store.h"
#include "transport/mpi/frame.h"
#include "transport/mpi/peer.h"
#include "transport/mpi/settings.h"
#include "transport/transport.h"
#include "weft/oob.h"

namespace weft {

class MpiTransport final : public Transport {
  public:
    // Collective over the ranks of `oob`, which are those of the job.
    static Result<std::unique_ptr<MpiTransport>> create(const weft_oob& oob,
                                                        mpi::Settings settings);
    ~MpiTransport() override;

    const char* name() const override { return "mpi"; }
    Usage usage() const override;
    Abilities abilities() const override { return {.any_thread = mpi_.any_thread != 0}; }
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    std::uint64_t pieces_moved() const override { return pieces_moved_; }
    bool has_work() const override {
        return !sending_.empty() || owing_ > 0 || reports_.has_kept();
    }
    void list_owed(std::vector<Rank>& peers) const override;
    void abandon(std::uint64_t context) override;
    void admit(std::uint64_t context) override { posts_.admit(context); }
    void retire(std::uint64_t context) override;
    void keep_early(bool keep) override;

  private:
    using Peer = mpi::Peer;
    using Post = mpi::Post;

    // Bytes that the MPI sends from: a frame and what is behind it.
    struct Slot {
        std::unique_ptr<std::byte[]> bytes;
        bool is_large = false;
        Peer* peer = nullptr;
    };
    static constexpr std::size_t small_bytes = 512;
    static constexpr std::size_t large_bytes = sizeof(mpi::Frame) + mpi::payload_max;
    static constexpr std::uint32_t large_slots_max = 4;  // of each peer, at a time
    // Small slots for each peer that only failure notices and frames about messages may
    // take when there is no memory for more.
    static constexpr std::size_t spares_of_peer = 2;

    MpiTransport(const weft_oob& oob, mpi::Settings settings);
    Status open(void* context);

    // mpi.cpp
    Peer& peer_of(Rank rank) { return peers_[static_cast<std::size_t>(rank)]; }
    void* request(std::vector<std::byte>& requests, std::size_t index) const {
        return requests.data() + index * mpi_.request_bytes;
    }
    void lose_message(const Peer& peer, std::uint64_t stream) {
        posts_.lose_message(peer.rank, stream);
    }
    // Reports posts of the peer's lanes, and frees them.
    auto reporter(const Peer& peer) {
        return [this, &peer](Post* post, const Outcome& how) {
            reports_.add({post->token, how.code, peer.rank, how.sent_bytes, how.expected_bytes},
                         post->stream);
            posts_.give_back(post);
        };
    }
    void finish(Peer& peer, mpi::LaneQueue& lane, Post& post, const Outcome& how = {}) {
        lane.end(&post, how, reporter(peer));
    }
    void fail_all();
    void lose(Peer& peer);
    Posted refuse(Peer& peer, std::uint64_t stream, Token token);

    // outbound.cpp
    bool may_send_eagerly(const Peer& peer, const Post& post) const;
    bool send_frame(Peer& peer, mpi::Frame frame, Bytes payload);
    bool has_slot(const Peer& peer, std::size_t payload, bool is_spare = false);
    bool reserve_slot(bool is_large, bool is_spare);
    bool reserve_rts(Peer& peer);
    bool say(Peer& peer, Post& post);
    void go_on(Peer& peer);
    void note_owing(Peer& peer, bool owed_before);
    void take_back_slots();
    void take_cts(Peer& peer, const mpi::Frame& frame);
    void take_drop(Peer& peer, const mpi::Frame& frame);
    void abandon_sends(Peer& peer, std::uint64_t context);

    // inbound.cpp
    void post_receive(std::size_t index);
    void take_arrived();
    bool is_good(const mpi::Frame& frame) const;
    bool take_frame(const mpi::Frame& frame, Bytes payload);
    bool take_eager(Peer& peer, const mpi::Frame& frame, Bytes payload);
    void take_rts(Peer& peer, const mpi::Frame& frame);
    void take_part(Peer& peer, const mpi::Frame& frame, Bytes payload);
    Posted receive_unexpected(Peer& peer, mpi::LaneQueue& lane, MutBytes data, Token token);
    void reserve_begin(Peer& peer);
    void begin(Peer& peer, mpi::LaneQueue& lane, Post& post, std::uint64_t bytes,
               std::uint64_t ticket);
    void pay_credit(Peer& peer, std::uint64_t credit);
    void drop(Peer& peer, std::uint64_t ticket);
    void release(Peer& peer, mpi::Unexpected* message);
    void abandon_receives(Peer& peer, std::uint64_t context);
    void drop_unwanted_messages(Peer& peer);

    weft_mpi_channel mpi_;
    Rank rank_;
    mpi::Settings settings_;
    void* channel_ = nullptr;
    std::vector<Peer> peers_;
    Reports reports_;
    Contexts contexts_;
    PostStore<Post> posts_{reports_, contexts_, peers_.size()};
    std::vector<int> indices_;  // of completed requests

    std::vector<Slot> sending_;  // with requests of the same index
    std::vector<std::byte> send_requests_;
    std::vector<Slot> free_small_;
    std::vector<Slot> free_large_;
    std::size_t slots_ = 0;  // all of them

    std::size_t receives_ = 0;
    std::vector<std::byte> receive_bytes_;
    std::vector<std::byte> receive_requests_;
    std::vector<bool> arrived_;    // but not taken: an earlier frame of its sender is missing
    bool is_notice_left_ = false;  // or it is a failure notice, which waits for its receive

    int owing_ = 0;  // peers that something is to be sent to
    std::uint64_t pieces_moved_ = 0;
    UnexpectedStore<mpi::Unexpected> unexpected_;
};

}  // namespace weft
