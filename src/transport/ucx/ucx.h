// The transport over UCX: InfiniBand, RoCE, and whatever else UCX carries.
//
// A small message is an active message, sent from a buffer of the transport's; a credit bounds the receiver's
// unexpected messages. A large one moves by UCX's rendezvous between the users' buffers, once its receive is
// posted: a receiver that posts a large receive sends a grant at once, and for a message that finds no grant
// an RTS is sent. A grant is a hint: which message meets which receive follows from the order of frames alone.
//
// UCX cannot take back a rendezvous that has begun. abandon() waits for it, for WEFT_PEER_TIMEOUT at most: then
// the peer is given up, and its endpoint closed by force (docs/decisions/0015-ucx.md).
//
// Frames are numbered: UCX may deliver active messages in another order than they were sent in. Each
// frame says which job it belongs to; those of others are dropped.
//
// Thread safety: none; the progress engine's lock covers every call, and UCX is asked for no more. Only abandon()
// and the destructor block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/job_key.h"
#include "base/pool.h"
#include "transport/matching/contexts.h"
#include "transport/matching/post_store.h"
#include "transport/matching/reports.h"
#include "transport/matching/unexpected_store.h"
#include "transport/transport.h"
#include "transport/ucx/frame.h"
#include "transport/ucx/peer.h"
#include "transport/ucx/settings.h"
#include "transport/ucx/worker.h"

namespace weft {

class UcxTransport final : public Transport {
  public:
    struct Parts {
        Rank rank = 0;
        JobKey key{};
        std::unique_ptr<ucx::Worker> worker;
        std::vector<std::string> addresses;  // by rank; empty: not reached by UCX
        ucx::Settings settings;
    };

    static Result<std::unique_ptr<UcxTransport>> create(Parts parts);
    ~UcxTransport() override;

    // Closes all endpoints, as the end of the process would: for tests. Nothing else may be called afterwards.
    void hang_up();
    // Lets UCX move what it can; reports nothing. For tests whose ranks share a thread.
    void serve();
    std::uint64_t strangers() const { return strangers_; }

    const char* name() const override { return "ucx"; }
    Usage usage() const override;
    Abilities abilities() const override { return {.can_sleep = true}; }
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override;
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override;
    bool arm(Sleeper sleeper) override;
    void acknowledge(Sleeper) override { is_rung_ = true; }
    std::uint64_t pieces_moved() const override { return pieces_moved_; }
    bool has_work() const override { return owing_ > 0 || in_flight_ > 0 || reports_.has_kept(); }
    void list_owed(std::vector<Rank>& peers) const override;
    void abandon(std::uint64_t context) override;
    void admit(std::uint64_t context) override { posts_.admit(context); }
    void retire(std::uint64_t context) override;
    void keep_early(bool keep) override;

  private:
    using Peer = ucx::Peer;
    using Post = ucx::Post;

    // Bytes that UCX sends from: a frame and what is behind it.
    struct Slot {
        Slot* next = nullptr;
        std::unique_ptr<std::byte[]> bytes;
        bool is_large = false;
        Peer* peer = nullptr;
    };
    struct FreeSlots {
        Slot* first = nullptr;
        std::size_t count = 0;
    };
    static constexpr std::size_t small_bytes = 512;
    static constexpr std::uint32_t large_slots_max = 8;  // of each peer, at a time
    // Small slots for each peer that only failure notices and frames about messages may
    // take when there is no memory for more.
    static constexpr std::size_t spares_of_peer = 2;

    explicit UcxTransport(Parts parts);
    Status open();

    // ucx.cpp
    Peer& peer_of(Rank rank) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        WEFT_ASSERT(!peer.address.empty());
        return peer;
    }
    const ucx::Library& library() const { return worker_->library(); }
    bool progress();
    bool wait_until(const std::function<bool()>& done, std::int64_t deadline_ns);
    void lose_message(const Peer& peer, std::uint64_t stream) {
        posts_.lose_message(peer.rank, stream);
    }
    // Reports posts of the peer's lanes, and frees them.
    auto reporter(const Peer& peer) {
        return [this, &peer](Post* post, const Outcome& how) {
            reports_.add({post->token, how.code, peer.rank, how.sent_bytes, how.expected_bytes},
                         post->stream);
            free_post(post);
        };
    }
    void finish(Peer& peer, ucx::LaneQueue& lane, Post& post, const Outcome& how = {}) {
        lane.end(&post, how, reporter(peer));
    }
    Post* take_post(Peer& peer, std::uint64_t stream, const std::byte* data, std::uint64_t bytes,
                    Token token);
    void free_post(Post* post);
    Posted refuse(Peer& peer, ucx::LaneQueue& lane, Token token);

    // ends.cpp
    bool need(Peer& peer);
    static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);
    void lose(Peer& peer, weft_status how);
    void take_bye(Peer& peer);
    void close_endpoints();
    void close(Peer& peer, bool by_force);
    void give_up_transfers(Peer& peer);
    void give_up_left_over();
    void give_up_worker();
    void settle_forgotten();
    std::optional<std::uint64_t> context_left();
    void say_goodbye();
    void end_worker();
    void drop_descriptors();
    void drop_early(Peer& peer);
    void release_descriptor(void* descriptor);

    // outbound.cpp
    bool may_send_eagerly(const Peer& peer, const Post& post) const;
    Slot* take_slot(bool is_large);
    void give_back(Slot* slot);
    static void on_slot_sent(void* request, ucs_status_t status, void* slot);
    static void on_message_sent(void* request, ucs_status_t status, void* post);
    bool send_frame(Peer& peer, ucx::Frame frame, Bytes payload);
    bool has_slot(const Peer& peer, std::size_t payload, bool is_spare = false);
    bool reserve_slot(bool is_large, bool is_spare);
    bool reserve_rts(Peer& peer);
    bool say(Peer& peer, Post& post);
    bool move(Peer& peer, Post& post, ucx::FrameKind kind);
    bool has_room_to_move(const Peer& peer, const Post& post);
    ucx::Transfer& begin_transfer(Peer& peer, Post& post, bool sends);
    void end_transfer(ucx::Transfer* transfer, ucs_status_t status);
    void end_moving(Post& post, ucs_status_t status, bool sends);
    void go_on(Peer& peer);
    void note_owing(Peer& peer);
    void take_cts(Peer& peer, const ucx::Frame& frame);
    void take_grant(Peer& peer, const ucx::Frame& frame);
    void take_drop(Peer& peer, const ucx::Frame& frame);
    void abandon_sends(Peer& peer, std::uint64_t context);
    template <class Lane>
    void forget_posts(Lane& lane);

    // inbound.cpp
    static ucs_status_t on_message(void* transport, const void* header, std::size_t header_bytes,
                                   void* data, std::size_t bytes, const ucp_am_recv_param_t* param);
    static void on_received(void* request, ucs_status_t status, std::size_t bytes, void* post);
    // What has come with a frame: bytes, or UCX's descriptor of a rendezvous.
    struct Arrival {
        void* data = nullptr;
        std::size_t bytes = 0;
        bool is_rendezvous = false;
        bool is_kept = false;  // the descriptor is used, or will be
    };
    void put_aside(Peer& peer, const ucx::Frame& frame, Arrival& arrival);
    void take_early(Peer& peer);
    void take_frame(Peer& peer, const ucx::Frame& frame, Arrival& arrival);
    void take_eager(Peer& peer, const ucx::Frame& frame, const Arrival& arrival);
    void take_rts(Peer& peer, const ucx::Frame& frame);
    void take_data(Peer& peer, const ucx::Frame& frame, Arrival& arrival);
    void take_direct(Peer& peer, const ucx::Frame& frame, Arrival& arrival);
    bool keep(ucx::LaneQueue& lane, const ucx::Frame& frame, Arrival& arrival);
    void receive_into(Peer& peer, ucx::LaneQueue& lane, Post& post, Arrival& arrival);
    Posted receive_unexpected(Peer& peer, ucx::LaneQueue& lane, MutBytes data, Token token);
    void reserve_begin(Peer& peer);
    void begin(Peer& peer, ucx::LaneQueue& lane, Post& post, std::uint64_t bytes,
               std::uint64_t ticket);
    void pay_credit(Peer& peer, std::uint64_t credit);
    void drop(Peer& peer, std::uint64_t ticket);
    void release(Peer& peer, ucx::Unexpected* message);
    void abandon_receives(Peer& peer, std::uint64_t context);
    void drop_unwanted_messages(Peer& peer);

    Rank rank_;
    std::uint64_t job_;  // of our frames
    ucx::Settings settings_;
    std::unique_ptr<ucx::Worker> worker_;
    std::size_t large_bytes_;
    std::vector<Peer> peers_;  // by rank
    Reports reports_;
    Contexts contexts_;
    PostStore<Post> posts_{reports_, contexts_, peers_.size()};
    UnexpectedStore<ucx::Unexpected> unexpected_;
    UnexpectedStore<ucx::Early> early_;
    Pool<ucx::Transfer> transfers_;

    std::vector<std::unique_ptr<Slot>> slots_;  // all of them
    FreeSlots free_small_;
    FreeSlots free_large_;
    std::size_t in_flight_ = 0;  // slots that UCX has
    int owing_ = 0;              // peers that something is to be sent to
    std::uint64_t pieces_moved_ = 0;
    std::uint64_t frames_taken_ = 0;
    std::uint64_t strangers_ = 0;  // frames of other jobs
    bool has_endpoints_to_close_ = false;
    bool has_left_over_ = false;  // transfers with peers whose endpoints are closed
    int idle_rounds_ = 0;         // of UCX, in a row
    std::vector<void*> closing_;  // requests of endpoints that are being closed

    Fd waiter_sleep_;  // epoll: UCX's descriptor
    Fd thread_sleep_;  // epoll: the same, while the progress thread is to be woken
    bool thread_armed_ = false;
    bool is_rung_ = false;  // UCX's descriptor stays readable until it is armed again
    bool hung_up_ = false;
};

}  // namespace weft
