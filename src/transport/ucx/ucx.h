// The transport over UCX: InfiniBand, RoCE, and whatever else UCX carries.
//
// Eager messages and rendezvous: matching/rendezvous.h. Every frame is the header of an active
// message. A large message that is cleared moves by UCX's own rendezvous between the users'
// buffers; over one link of TCP without, because UCX would delay the message of the other
// direction.
//
// UCX cannot cancel a rendezvous that has begun. cancel_context() waits for it, for
// WEFT_PEER_TIMEOUT at most: then the peer is given up, and its endpoint closed by force
// (docs/decisions/0015-ucx.md).
//
// Frames are numbered: UCX may deliver active messages in another order than they were sent in.
// Each frame says which job it belongs to; those of others are dropped.
//
// Over several links there is a worker for each, and an endpoint for each with every peer. Pairs of
// ranks are striped across them (common/dealing.h); a large message is cut into a piece for each.
// Its pieces are frames with successive numbers: so the receiver takes them one after the other,
// and knows where each belongs.
//
// Thread safety: none; the progress engine's lock covers every call, and UCX is asked for no more.
// Only open_all(), cancel_context() and the destructor block.
#pragma once

#include <sys/types.h>

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
#include "transport/matching/matching_queue.h"
#include "transport/matching/message_transport.h"
#include "transport/transport.h"
#include "transport/ucx/connections.h"
#include "transport/ucx/settings.h"
#include "transport/ucx/worker.h"

namespace weft {

class UcxTransport final : public MessageTransport<UcxTransport, ucx::Peer> {
  public:
    struct Other {
        std::vector<std::string> addresses;  // of its workers; none: it is not reached by UCX
        pid_t process = 0;                   // 0: not seen from here
        PlaceInJob place{};
        bool shares_memory = false;  // UCX reaches it through memory: there are no links between us
    };
    struct Parts {
        Rank rank = 0;
        JobKey key{};
        std::vector<std::unique_ptr<ucx::Worker>> workers;  // by link
        std::vector<Other> others;                          // by rank
        ucx::Settings settings;
        bool keeps_alive = true;  // false: UCX does not, and all others are processes to be watched
    };
    // Besides UCX's, and one for each process that it watches.
    static constexpr std::size_t own_descriptors = 3;

    static Result<std::unique_ptr<UcxTransport>> create(Parts parts);
    ~UcxTransport() override;

    // Connects to every peer now. Collective over all, and blocking.
    Status open_all(std::int64_t deadline_ns);
    // Closes all endpoints, as the end of the process would: for tests. Nothing else may be called
    // afterwards.
    void hang_up();
    // Lets UCX make progress; reports nothing. For tests whose ranks share a thread.
    void serve();
    std::uint64_t strangers() const { return strangers_; }

    const char* name() const override { return "ucx"; }
    Usage usage() const override;
    std::uint64_t unexpected_messages() const override { return unexpected_.taken(); }
    Abilities abilities() const override {
        return {.can_sleep = true, .eager_bytes = limits_.eager_threshold};
    }
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override;
    bool arm(Sleeper sleeper) override;
    void acknowledge(Sleeper) override { is_rung_ = true; }
    void list_owed(std::vector<Rank>& peers) const override;
    void expect_from(Rank rank, int change) override;
    void cancel_context(std::uint64_t context) override;

  private:
    friend MessageTransport;
    using Peer = ucx::Peer;

    // UCX's number of the only kind of active message.
    static constexpr unsigned message_id = 0;

    explicit UcxTransport(Parts parts);
    void deal(Peer& peer, const Other& other, std::span<const Other> all);
    Status open();

    // ucx.cpp
    const ucx::Library& library() const { return library_; }
    bool has_ended() const { return workers_.front()->get() == nullptr; }
    bool progress();
    bool arm_workers();
    void begin_to_look();
    void set_timer(std::int64_t at_ns);
    void look_for_silent_peers(std::int64_t now);
    bool wait_until(const std::function<bool()>& done, std::int64_t deadline_ns);
    Post* take_post(Peer& peer, std::uint64_t stream, const std::byte* data, std::uint64_t bytes,
                    Token token);
    void free_post(Post* post);
    bool is_sent() const { return unsent_ == nullptr; }

    // ends.cpp
    bool need(Peer& peer);
    static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status);
    void watch(Peer& peer, pid_t process);
    void look_for_ended_peers();
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
    void drop_aside(Peer& peer);
    void give_up_coming(Peer& peer);
    void release_descriptor(void* descriptor);
    void release(ucx::Rendezvous& arrival);

    // outbound.cpp
    static void on_slot_sent(void* request, ucs_status_t status, void* slot);
    static void on_message_sent(void* request, ucs_status_t status, void* post);
    ucs_status_ptr_t send(ucp_ep_h endpoint, const void* header, const std::byte* data,
                          std::size_t bytes, std::uint32_t flags, ucp_send_nbx_callback_t done,
                          void* given);
    bool send_frame(Peer& peer, Frame frame, Bytes payload);
    void finish_sent(Peer& peer, Post& post);
    bool has_room_to_move(const Peer& peer, const Post& post);
    bool move(Peer& peer, Post& post, FrameKind kind);
    bool move_piece(Peer& peer, Post& post, std::uint32_t piece, std::uint64_t bytes, Frame header);
    ucx::Transfer& begin_transfer(Peer& peer, Post& post, std::uint64_t bytes, bool sends);
    void end_transfer(ucx::Transfer* transfer, ucs_status_t status);
    void end_piece(Post& post, bool sends);

    // inbound.cpp
    static ucs_status_t on_message(void* ear, const void* header, std::size_t header_bytes,
                                   void* data, std::size_t bytes, const ucp_am_recv_param_t* param);
    static void on_received(void* request, ucs_status_t status, std::size_t bytes, void* post);
    void put_aside(Peer& peer, const Frame& frame, FrameContent& arrival);
    void take_aside(Peer& peer);
    void take_aside_of_unmet();
    void take_frame(Peer& peer, const Frame& frame, FrameContent& arrival);
    void take(Peer& peer, const Frame& frame, FrameContent& arrival);
    void take_data(Peer& peer, const Frame& frame, FrameContent& arrival);
    void take_early_data(Peer& peer, const Frame& frame, FrameContent& arrival);
    void lose_frame(Peer& peer, const Frame& frame);
    void take_piece(Peer& peer, FrameContent& arrival);
    ucx::Rendezvous* keep(ucx::Rendezvous& arrival);
    bool keep(Unexpected* message, FrameContent& arrival);
    void receive_piece(Peer& peer, Post& post, ucx::Rendezvous& arrival);
    void receive_into(Peer& peer, LaneQueue& lane, Post& post, FrameContent& arrival);

    // UCX passes this with each message of a worker.
    struct Ear {
        UcxTransport* owner;
        ucp_worker_h worker;
    };

    std::uint64_t job_;  // of our frames
    ucx::Settings settings_;
    bool keeps_alive_;                                   // else by watching their processes alone
    int watch_error_ = 0;                                // why one is not watched
    std::vector<std::unique_ptr<ucx::Worker>> workers_;  // by link
    const ucx::Library& library_;
    std::vector<Ear> ears_;         // of the workers,
    std::vector<int> descriptors_;  // and theirs
    UnexpectedStore<ucx::FrameAside> aside_;
    Pool<ucx::Transfer> transfers_;
    Pool<ucx::Rendezvous> rendezvous_;  // that are kept

    std::uint64_t frames_taken_ = 0;
    std::uint64_t strangers_ = 0;  // frames of other jobs
    Slot* unsent_ = nullptr;       // the last frame's, if UCX has not sent it yet
    bool is_progressing_ = false;
    bool has_held_back_ = false;  // a large message waits for the next progress()
    bool has_unmet_ = false;      // a frame has arrived from a peer that has no endpoint
    bool has_endpoints_to_close_ = false;
    bool has_left_over_ = false;  // transfers with peers whose endpoints are closed
    int idle_rounds_ = 0;         // of UCX, in a row
    std::vector<void*> closing_;  // requests of endpoints that are being closed

    // While something is expected, a timer looks for peers that are out of reach, or have ended.
    std::optional<ucx::Connections> connections_;  // of TCP; none: UCX notices it by itself
    std::size_t expected_ = 0;                     // posts, but those for failure notices
    std::int64_t look_at_ns_ = 0;                  // 0: nothing has been expected for a while
    Fd timer_;

    Fd waiter_sleep_;  // epoll: UCX's descriptors, the timer
    Fd thread_sleep_;  // epoll: the same, while the progress thread is to be woken
    bool thread_armed_ = false;
    bool is_rung_ = false;  // UCX's descriptors stay readable until they are armed again
    bool hung_up_ = false;
};

extern template class MessageTransport<UcxTransport, ucx::Peer>;

}  // namespace weft
