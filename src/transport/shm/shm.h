// The transport between ranks of one node: rings in shared memory.
//
// Eager messages and rendezvous: matching/rendezvous.h. An eager message is copied into the
// receiver's ring, and with that it is sent. Where ranks share cores with each other or their
// threads, so are medium messages, in parts (pushed). Larger messages, and all to a receiver that
// is far behind, move by rendezvous: in parts through the ring. Or, instead of a CTS, the receiver
// fetches the bytes with process_vm_readv, if the settings say so.
//
// Thread safety: none; the progress engine's lock covers every call. Nothing here blocks. A steady
// state allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/pool.h"
#include "transport/matching/contexts.h"
#include "transport/matching/matching_queue.h"
#include "transport/matching/post_store.h"
#include "transport/matching/rendezvous.h"
#include "transport/matching/reports.h"
#include "transport/shm/demand.h"
#include "transport/shm/peer.h"
#include "transport/shm/settings.h"
#include "transport/transport.h"

namespace weft {

class ShmTransport final : public Transport, public Combining {
  public:
    // The parts of the transport; ShmNode (connect.h) provides them.
    struct Parts {
        Rank ranks = 0;         // of the job
        std::size_t index = 0;  // this rank's number among the ranks of the node
        std::shared_ptr<shm::Segment> segment;
        shm::Doorbells doorbells;
        std::vector<shm::PeerParts> peers;
        shm::Settings settings;
    };

    // Large messages by their way, and refusals.
    struct Counters {
        std::uint64_t large_by_ring = 0;
        std::uint64_t large_by_vm_readv = 0;
        std::uint64_t large_pushed = 0;
        std::uint64_t combined = 0;           // receives with a combination
        std::uint64_t vm_readv_refusals = 0;  // peers whose memory turned out not to be readable
        std::uint64_t doorbells_rung = 0;     // for new records
        std::uint64_t rung_on_demand = 0;
        std::uint64_t parts_moved = 0;
        std::uint64_t unexpected_bytes_max = 0;  // of one peer
    };

    static Result<std::unique_ptr<ShmTransport>> create(Parts parts);
    ~ShmTransport() override;

    bool reachable(Rank peer) const { return by_rank_[static_cast<std::size_t>(peer)] != nullptr; }
    const Counters& counters() const { return counters_; }

    // From now on, medium messages are pushed even where no rank demands: waiting for a receiver's
    // CTS is waiting until it gets the core.
    void push_medium() { pushes_medium_ = true; }

    const char* name() const override { return "shm"; }
    Usage usage() const override;
    std::uint64_t unexpected_messages() const override { return unexpected_.taken(); }
    Abilities abilities() const override;
    Posted post_send(const Lane& lane, Bytes data, Token token) override;
    Posted post_recv(const Lane& lane, MutBytes data, Token token) override;
    Posted post_recv_combined(const Lane& lane, MutBytes data, const Combination& combination,
                              Token token) override;
    Combining* combining() override { return this; }
    NextMessage next_on(const Lane& lane) override;
    std::uint64_t next_changes() const override { return unexpected_.taken() + losses_; }
    void expect_from(Rank peer, int change) override { peer_of(peer).expected += change; }
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override;
    bool arm(Sleeper sleeper) override;
    void acknowledge(Sleeper sleeper) override;
    bool arm_on_demand() override;
    bool demand(Demand how) override;
    bool is_demanded() override;
    bool wake_peers() override;
    bool has_work() const override;
    void list_owed(std::vector<Rank>& peers) const override;
    std::uint64_t pieces_moved() const override { return counters_.parts_moved; }
    void cancel_context(std::uint64_t context) override;
    void open_context(std::uint64_t context) override { posts_.open_context(context); }
    void close_context(std::uint64_t context) override;
    void buffer_unknown(bool keep) override;

  private:
    using Peer = shm::Peer;

    struct SendTransfer {
        Peer* peer = nullptr;
        shm::Post* post = nullptr;
        shm::SlotId receiver{};  // its transfer, once it is ready
        std::size_t offset = 0;
    };
    struct ReceiveTransfer {
        Peer* peer = nullptr;
        shm::Post* post = nullptr;
        shm::Rts from{};
        std::size_t offset = 0;
    };
    // A peer that waits right after a start polls again within about this many polls of ours.
    static constexpr std::uint32_t polls_before_waking = 48;
    static constexpr std::uint32_t polls_before_look = 8;
    // Larger messages wait for their receive. Pushing one costs a copy more if that is late, which
    // is less than waking a thread.
    static constexpr std::size_t pushed_bytes_max = 128 * 1024;

    // From this size on the fastest way to copy is worth finding out.
    static constexpr std::size_t timed_bytes_min = 4 * 1024;

    explicit ShmTransport(Parts parts);
    Status open_wait_fds();

    // shm.cpp
    Peer& peer_of(Rank rank) const {
        Peer* peer = by_rank_[static_cast<std::size_t>(rank)];
        WEFT_ASSERT(peer != nullptr);
        return *peer;
    }
    void reserve_controls(Peer& peer);
    bool has_room_for_controls(Peer& peer);
    bool send_drop(Peer& peer, const shm::Rts& from);
    void lose_message(const Peer& peer, std::uint64_t stream) {
        posts_.lose_message(peer.parts.rank, stream);
    }
    // Reports posts of the peer's lanes, and frees them.
    auto reporter(const Peer& peer) {
        return [this, &peer](shm::Post* post, const Outcome& how) {
            reports_.add(
                {post->token, how.code, peer.parts.rank, how.sent_bytes, how.expected_bytes},
                post->stream);
            posts_.give_back(post);
        };
    }
    // Ends a post; returns how many posts of the lane this reported.
    std::size_t settle(Peer& peer, shm::LaneQueue& lane, shm::Post* post, const Outcome& how) {
        return lane.end(post, how, reporter(peer));
    }
    // Something is new for the peer: wake_peers() will look whether it sleeps.
    void put_off_waking(Peer& peer) {
        peer.to_wake = true;
        peer.armed_seen = 0;
        if (polls_until_waking_ == 0) polls_until_waking_ = polls_before_waking;
    }
    // ... and is to be woken even without a demand.
    void put_off_waking_on_demand(Peer& peer) {
        put_off_waking(peer);
        peer.to_wake_on_demand = true;
    }
    void count_polls_before_waking(std::uint32_t polls);
    void look_before_waking();
    void wake_who_sleeps();
    void wake(Peer& peer);
    bool look_before_sleep(bool on_demand);
    std::uint64_t written_to(std::size_t index) const;
    bool lacks_something_of(Peer& peer) const;
    bool demand_what_is_lacking(bool wakes);
    bool work_on(Peer& peer);
    void look_for_lost_peers();
    void lose(Peer& peer);
    void break_posts(Peer& peer, shm::Lanes& lanes);
    void report_loss(Peer& peer);
    Posted refuse(Peer& peer, Lane lane, Token token);

    // outbound.cpp
    Posted post_send_slowly(Peer& peer, Lane lane, Bytes data, Token token);
    std::size_t eager_threshold(const shm::Segment& receiver) const;
    bool write_eager(Peer& peer, std::uint64_t stream, Bytes data);
    bool push(Peer& peer, std::uint64_t stream, Bytes data);
    bool write_post(Peer& peer, shm::Post* post);
    bool write_control(Peer& peer, const shm::Control& control);
    bool write_part(Peer& peer);
    static void copy_part(shm::CopyChoices& choices, std::byte* to, Bytes part);
    void send_control(Peer& peer, const shm::Control& control);
    bool flush(Peer& peer);
    void finish_send(SendTransfer transfer, shm::SlotId id);
    void end_send_transfer(shm::SlotId id);
    bool take_cts(Peer& peer, shm::Record* record);
    void cancel_sends(Peer& peer, std::uint64_t context);

    // inbound.cpp
    shm::Post* new_receive(const shm::LaneQueue& queue, MutBytes data,
                           const Combination& combination, Token token);
    Posted post_recv_late(Peer& peer, Lane lane, MutBytes data, const Combination& combination,
                          Token token);
    void take_some(Peer& peer);
    bool take_the_rest(Peer& peer);
    bool take(Peer& peer, shm::Record* record);
    bool take_eager(Peer& peer, shm::Record* record);
    void take_pushed(Peer& peer, shm::Record* record);
    void take_pushed_part(Peer& peer, shm::Record* record);
    bool take_rts(Peer& peer, shm::Record* record);
    void take_data(Peer& peer, shm::Record* record);
    static void take_payload(Peer& peer, const shm::Post& post, std::size_t offset,
                             shm::Record* record);
    void reserve_transfer(Peer& peer);
    void answer_rts(Peer& peer, shm::LaneQueue& lane, shm::Post* post, const shm::Rts& from);
    void finish_receive(shm::SlotId id, const Outcome& how);
    bool pull_part(Peer& peer);
    void send_cts(shm::SlotId id, ReceiveTransfer& transfer);
    bool still_readable(const ReceiveTransfer& transfer) const;
    bool is_wanted(std::uint64_t stream) const;
    shm::Unexpected* keep_unexpected(Peer& peer, shm::LaneQueue* lane, std::size_t bytes);
    void keep_rts(Peer& peer, shm::LaneQueue* lane, const shm::Rts& from);
    void release(Peer& peer, shm::Unexpected* message);
    void cancel_receives(Peer& peer, std::uint64_t context);
    void drop_unwanted_messages(Peer& peer);

    std::vector<Peer> peers_;
    std::size_t first_peer_ = 0;  // where the next poll begins
    Reports reports_;
    Contexts contexts_;
    PostStore<shm::Post> posts_{reports_, contexts_, peers_.size()};
    std::uint32_t quiet_polls_ = 0;
    std::uint32_t polls_until_waking_ = 0;  // 0: no peer is to be woken
    bool woke_thread_ = false;              // of a peer, since wake_peers() was last called
    std::uint32_t sleeps_ = 0;              // of this rank

    std::vector<Peer*> by_rank_;
    std::vector<Peer*> by_index_;  // among the ranks of the node
    shm::Demands<std::atomic> demands_;
    bool uses_demands_ = false;   // the ranks of this job demand
    bool pushes_medium_ = false;  // also without demands
    UnexpectedStore<shm::Unexpected> unexpected_;
    std::size_t rts_kept_ = 0;  // unexpected messages of which only the RTS is here
    std::uint64_t losses_ = 0;  // of peers
    shm::Slots<SendTransfer> sends_;
    shm::Slots<ReceiveTransfer> receives_;

    std::size_t index_;
    std::shared_ptr<shm::Segment> segment_;
    shm::Doorbells doorbells_;
    shm::Settings settings_;
    Fd lives_;                                        // epoll: the peers' processes
    std::array<Fd, shm::Doorbells::count> sleepers_;  // epoll: a doorbell, and lives_
    Counters counters_;
};

}  // namespace weft
