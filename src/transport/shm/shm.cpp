// The transport as a whole: making it, sleeping, losing peers, forgetting contexts.
#include "transport/shm/shm.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/cancellation.h"
#include "base/clock.h"

namespace weft {

using shm::Control;
using shm::Doorbells;
using shm::LaneQueue;
using shm::Lanes;
using shm::Post;
using shm::Record;
using shm::RecordKind;
using shm::RingReader;
using shm::RingWriter;
using shm::SlotId;

namespace {

constexpr Sleeper sleeper_kinds[] = {Sleeper::thread, Sleeper::waiter};
constexpr std::size_t part_bytes_max = 16 * 1024;
constexpr std::size_t queued_min = 16;  // there is always room to queue these for a peer
// A rank that starts an operation and waits for it at once looks asleep to its peers for at most
// this time. Looking again is cheaper than ringing its doorbell.
constexpr std::uint64_t on_its_way_ticks = 1'000;

Status watch(int epoll, int fd, std::uint64_t id) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return failure(WEFT_REFUSED_MEMORY, "cannot watch a descriptor: %s", strerror(errno));
    return ok;
}

}  // namespace

Result<std::unique_ptr<ShmTransport>> ShmTransport::create(Parts parts) {
    std::unique_ptr<ShmTransport> transport(new ShmTransport(std::move(parts)));
    if (Status status = transport->open_wait_fds(); !status.is_ok()) return status;
    return transport;
}

ShmTransport::ShmTransport(Parts parts)
    : peers_(parts.peers.size()),
      by_rank_(static_cast<std::size_t>(parts.ranks)),
      index_(parts.index),
      segment_(std::move(parts.segment)),
      doorbells_(std::move(parts.doorbells)),
      settings_(parts.settings) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        Peer& peer = peers_[i];
        peer.parts = std::move(parts.peers[i]);
        const std::size_t ring_bytes = peer.parts.segment->shape().ring_bytes;
        peer.in = RingReader(segment_->ring(peer.parts.index));
        peer.out = RingWriter(peer.parts.segment->ring(index_));
        peer.armed = &peer.parts.segment->header().armed;
        peer.eager_threshold = eager_threshold(*peer.parts.segment);
        peer.part_bytes = std::min(part_bytes_max, ring_bytes / 8);
        peer.window_bytes = ring_bytes / 2;
        peer.can_pull = peer.parts.pid != 0;
        by_rank_[static_cast<std::size_t>(peer.parts.rank)] = &peer;
    }
    by_index_.resize(segment_->shape().rings);
    std::vector<shm::Demands<std::atomic>::Board> boards(by_index_.size());
    auto board_of = [](const shm::Segment& segment) -> shm::Demands<std::atomic>::Board {
        return {&segment.header().armed, &segment.header().wait, segment.demands()};
    };
    boards[index_] = board_of(*segment_);
    for (Peer& peer : peers_) {
        by_index_[peer.parts.index] = &peer;
        boards[peer.parts.index] = board_of(*peer.parts.segment);
    }
    demands_ = {index_, std::move(boards)};
    for (Peer& peer : peers_) {
        peer.waiting.reserve(queued_min);
        peer.controls.reserve(queued_min);
    }
}

std::size_t ShmTransport::eager_threshold(const shm::Segment& receiver) const {
    return std::min(settings_.eager_threshold, receiver.shape().ring_bytes / 8 + 1);
}

Status ShmTransport::open_wait_fds() {
    lives_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    for (Fd& sleeper : sleepers_) sleeper = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (!lives_ || !sleepers_[0] || !sleepers_[1])
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for an epoll: %s", strerror(errno));
    for (std::size_t i = 0; i < peers_.size(); ++i)
        if (peers_[i].parts.life)
            WEFT_RETURN_IF_NOT_OK(watch(lives_.get(), peers_[i].parts.life.get(), i));
    for (Sleeper sleeper : sleeper_kinds) {
        WEFT_RETURN_IF_NOT_OK(watch(wait_fd(sleeper), doorbells_.fd(sleeper), 0));
        WEFT_RETURN_IF_NOT_OK(watch(wait_fd(sleeper), lives_.get(), 0));
    }
    return ok;
}

// Sent messages stay in the peers' rings.
ShmTransport::~ShmTransport() {
    segment_->header().left.store(1, std::memory_order_seq_cst);
    for (Peer& peer : peers_) put_off_waking_on_demand(peer);
    wake_peers();
}

Abilities ShmTransport::abilities() const {
    return {.can_sleep = true,
            .knows_demand = true,
            .eager_bytes = eager_threshold(*segment_),
            .buffer_bytes = segment_->shape().ring_bytes,
            .has_cancellation_points = false};
}

// Moves queued work for the peer, a bounded amount. False: nothing is queued, or all of it waits
// for the peer.
bool ShmTransport::work_on(Peer& peer) {
    const bool more_to_pull = !peer.pulls.empty() && pull_part(peer);
    const bool more_to_write = flush(peer);
    peer.has_work = !peer.controls.empty() || !peer.waiting.empty() || !peer.cleared.empty() ||
                    !peer.pulls.empty();
    return more_to_pull || more_to_write;
}

Usage ShmTransport::usage() const {
    const shm::SegmentShape shape = segment_->shape();
    Usage usage{.connections = peers_.size()};
    for (const Peer& peer : peers_)
        usage.bytes += sizeof peer + peer.receives.held_bytes() + peer.sends.held_bytes();
    usage.bytes += sizeof *this + shape.rings * shape.ring_bytes + sizeof(shm::SegmentHeader) +
                   posts_.held_bytes() + unexpected_.held_bytes();
    // Doorbells and memory of each rank; a pidfd for each other rank; lives_ and the epolls to
    // sleep on.
    usage.descriptors =
        (peers_.size() + 1) * (Doorbells::count + 1) + peers_.size() + 1 + sleepers_.size();
    return usage;
}

int ShmTransport::wait_fd(Sleeper sleeper) const {
    WEFT_ASSERT(sleeper != Sleeper::none);
    return sleepers_[sleeper == Sleeper::thread ? 0 : 1].get();
}

// A peer changes something, then reads `armed`; we set `armed`, then look for changes. All
// sequentially consistent: either we see the change, or the peer sees that we sleep.
bool ShmTransport::arm(Sleeper sleeper) {
    if (sleeper == Sleeper::none) {
        demands_.disarm();
        return true;
    }
    demands_.arm(static_cast<shm::Armed>(sleeper), ++sleeps_);
    // A waiter may need more than when it began to wait: another thread may have started something.
    if (uses_demands_ && (sleeper == Sleeper::waiter ? demands_.is_waiting() : is_demanded()))
        demand_what_is_lacking(true);
    return look_before_sleep(/*on_demand=*/false);
}

bool ShmTransport::arm_on_demand() {
    uses_demands_ = true;
    const bool all_wakes = demands_.arm_on_demand(
        ++sleeps_, [this](std::size_t index) { return written_to(index); },
        [this] { demand_what_is_lacking(true); });
    return look_before_sleep(!all_wakes);
}

// The last look before a sleep. True: no arrival for the sleeper; `on_demand`: none that wakes it
// without a demand.
bool ShmTransport::look_before_sleep(bool on_demand) {
    bool may_sleep = true;
    for (Peer& peer : peers_) {
        if (peer.in.offer_room()) put_off_waking(peer);
        if (!peer.lost && (peer.is_ending ||
                           peer.parts.segment->header().left.load(std::memory_order_seq_cst) != 0))
            look_for_lost_peers();
        const bool has_come = on_demand ? peer.in.any([](RecordKind kind, const Record& record) {
            return kind == RecordKind::eager && context_of(record.id) == 0;
        })
                                        : peer.in.peek(std::memory_order_seq_cst) != nullptr;
        if (has_come) may_sleep = false;
        if (!on_demand && peer.has_work && work_on(peer)) may_sleep = false;
    }
    wake_who_sleeps();
    return may_sleep && !reports_.has_kept();
}

std::uint64_t ShmTransport::written_to(std::size_t index) const {
    return by_index_[index]->out.position();
}

bool ShmTransport::is_demanded() {
    return demands_.is_demanded([this](std::size_t index) { return written_to(index); });
}

bool ShmTransport::demand(Demand how) {
    uses_demands_ = true;
    if (how == Demand::none) {
        if (demands_.is_waiting()) demands_.end_wait();
        return false;
    }
    demands_.begin_wait();
    return demand_what_is_lacking(how == Demand::wakes);
}

// True: a peer was woken.
bool ShmTransport::demand_what_is_lacking(bool wakes) {
    bool some = false;
    for (Peer& peer : peers_) {
        const std::size_t index = peer.parts.index;
        const std::uint64_t taken = peer.in.position();
        if (peer.lost || demands_.has_demanded(index, taken, wakes)) continue;
        if (!lacks_something_of(peer)) {
            demands_.withdraw(index);
        } else if (demands_.demand(index, taken, wakes)) {
            ++counters_.rung_on_demand;
            peer.parts.doorbells.ring(Sleeper::thread);
            some = woke_thread_ = true;
        }
    }
    return some;
}

// Failure notices, in context 0, are expected of everybody at all times.
bool ShmTransport::lacks_something_of(Peer& peer) const {
    return peer.sends_pending > 0 || peer.has_work || peer.expected > 0 ||
           peer.receives.any([](const LaneQueue& lane) {
               return !lane.posts.empty() && context_of(lane.stream) != 0;
           });
}

bool ShmTransport::has_work() const {
    return reports_.has_kept() || std::ranges::any_of(peers_, &Peer::has_work);
}

void ShmTransport::list_owed(std::vector<Rank>& peers) const {
    for (const Peer& peer : peers_)
        if (peer.has_work) peers.push_back(peer.parts.rank);
}

void ShmTransport::acknowledge(Sleeper sleeper) {
    doorbells_.silence(sleeper);
    look_for_lost_peers();
}

// Looks twice whether a peer sleeps, some time apart: it may be waking up.
void ShmTransport::count_polls_before_waking(std::uint32_t polls) {
    if (polls_until_waking_ <= polls) return wake_who_sleeps();
    polls_until_waking_ -= polls;
    if (polls_until_waking_ == polls_before_waking - polls_before_look) look_before_waking();
}

void ShmTransport::look_before_waking() {
    bool some = false;
    for (Peer& peer : peers_) {
        if (!peer.to_wake) continue;
        peer.armed_seen = peer.armed->load(std::memory_order_seq_cst);
        peer.to_wake = peer.armed_seen != 0;
        some |= peer.to_wake;
    }
    if (!some) polls_until_waking_ = 0;
}

bool ShmTransport::wake_peers() {
    wake_who_sleeps();
    return std::exchange(woke_thread_, false);
}

void ShmTransport::wake_who_sleeps() {
    if (polls_until_waking_ == 0) return;
    polls_until_waking_ = 0;
    for (Peer& peer : peers_)
        if (peer.to_wake) wake(peer);
}

// One ring per sleep: the rank that resets `armed` rings. A peer that has fallen asleep again since
// the first look has seen everything that was new then.
void ShmTransport::wake(Peer& peer) {
    peer.to_wake = false;
    const bool on_demand = std::exchange(peer.to_wake_on_demand, false);
    std::uint32_t armed = peer.armed->load(std::memory_order_seq_cst);
    auto sleeps = [&] {
        return armed != 0 && (on_demand || shm::armed_kind(armed) != shm::Armed::thread_on_demand);
    };
    if (!sleeps()) return;
    for (const std::uint64_t begin = ticks(); sleeps() && ticks() - begin < on_its_way_ticks;) {
        cpu_relax();
        armed = peer.armed->load(std::memory_order_seq_cst);
    }
    if (!sleeps() || (peer.armed_seen != 0 && armed != peer.armed_seen)) return;
    if (!peer.armed->compare_exchange_strong(armed, 0, std::memory_order_seq_cst)) return;
    ++counters_.doorbells_rung;
    const Sleeper sleeper = shm::sleeper_of(armed);
    woke_thread_ |= sleeper == Sleeper::thread;
    peer.parts.doorbells.ring(sleeper);
}

// A peer may have left because another one died. Deaths are looked for first, so that the error
// names the cause.
void ShmTransport::look_for_lost_peers() {
    for (Peer& peer : peers_)
        peer.has_left = peer.parts.segment->header().left.load(std::memory_order_acquire) != 0;
    const Uncancelled uncancelled;
    epoll_event events[16];
    int ready;
    do {
        ready = epoll_wait(lives_.get(), events, static_cast<int>(std::size(events)), 0);
        for (int i = 0; i < ready; ++i) {
            Peer& peer = peers_[events[i].data.u64];
            // The pidfd of an ended process stays readable, and must not wake anybody again.
            epoll_ctl(lives_.get(), EPOLL_CTL_DEL, peer.parts.life.get(), nullptr);
            if (peer.parts.segment->header().left.load(std::memory_order_acquire) == 0) {
                lose(peer);
            } else {
                peer.has_left = true;
            }
        }
    } while (ready == static_cast<int>(std::size(events)));
    for (Peer& peer : peers_) {
        if (peer.has_left || peer.is_ending) lose(peer);
    }
}

// The peer writes nothing more; its records still count. If it has finalized, posts that
// need it break, but the loss is not reported.
void ShmTransport::lose(Peer& peer) {
    if (peer.lost) return;
    peer.has_left = peer.parts.segment->header().left.load(std::memory_order_acquire) != 0;
    peer.is_ending = !take_the_rest(peer);
    if (peer.is_ending) return;
    demands_.forget(peer.parts.index);
    peer.lost = true;
    ++losses_;
    peer.has_work = false;
    peer.controls.clear();
    peer.waiting.clear();
    peer.cleared.clear();
    peer.pulls.clear();
    sends_.for_each([&](SlotId id, SendTransfer& transfer) {
        if (transfer.peer == &peer) end_send_transfer(id);
    });
    receives_.for_each([&](SlotId id, ReceiveTransfer& transfer) {
        if (transfer.peer == &peer) receives_.remove(id);
    });
    peer.pushed.post = nullptr;
    break_posts(peer, peer.receives);
    break_posts(peer, peer.sends);
    report_loss(peer);
}

void ShmTransport::break_posts(Peer& peer, Lanes& lanes) {
    lanes.for_each(
        [&](LaneQueue& lane) { lane.end_all({.code = WEFT_BROKEN_RANK}, reporter(peer)); });
}

void ShmTransport::report_loss(Peer& peer) {
    if (peer.loss_reported || peer.has_left) return;
    peer.loss_reported = true;
    reports_.add({.token = {}, .code = WEFT_BROKEN_RANK, .peer = peer.parts.rank}, 0);
}

// For a post that needs a lost peer.
Posted ShmTransport::refuse(Peer& peer, Lane lane, Token token) {
    posts_.reserve_reports(1);
    report_loss(peer);
    reports_.add({.token = token, .code = WEFT_BROKEN_RANK, .peer = lane.peer},
                 lane.stream.packed());
    return Posted::pending;
}

void ShmTransport::cancel_context(std::uint64_t context) {
    contexts_.remove(context);
    reports_.forget(context);
    for (Peer& peer : peers_) {
        cancel_sends(peer, context);
        cancel_receives(peer, context);
    }
    posts_.refill();
}

void ShmTransport::close_context(std::uint64_t context) {
    contexts_.remove(context);
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

void ShmTransport::buffer_unknown(bool keep) {
    contexts_.buffer_unknown(keep);
    for (Peer& peer : peers_) drop_unwanted_messages(peer);
}

}  // namespace weft
