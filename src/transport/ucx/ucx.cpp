// The transport as a whole: making it, polling, sleeping, its contexts.
#include "transport/ucx/ucx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"

namespace weft {

namespace {

constexpr std::uint32_t large_slots_max = 8;
constexpr std::size_t payload_min = 512;  // that a large slot has room for
constexpr int tries_to_arm = 16;
constexpr int rounds_of_poll = 4;
// After this many, no message of a dead peer is left.
constexpr int idle_rounds_enough = 3;

// Says which job a frame belongs to, and does not give the key away.
std::uint64_t mark_of(const JobKey& key) {
    Hash hash;
    for (const std::byte byte : key) hash.add(std::to_integer<std::uint64_t>(byte));
    return hash.value();
}

}  // namespace

Result<std::unique_ptr<UcxTransport>> UcxTransport::create(Parts parts) {
    std::unique_ptr<UcxTransport> transport(new UcxTransport(std::move(parts)));
    if (Status status = transport->open(); !status.is_ok()) {
        transport->hang_up();
        return status;
    }
    return transport;
}

UcxTransport::UcxTransport(Parts parts)
    : MessageTransport(parts.rank, parts.others.size(),
                       {.eager_threshold = parts.settings.eager_threshold,
                        .payload_max = std::max(parts.settings.eager_threshold, payload_min),
                        .large_slots_max = large_slots_max,
                        .first_sequence = parts.settings.first_sequence}),
      job_(mark_of(parts.key)),
      settings_(std::move(parts.settings)),
      keeps_alive_(parts.keeps_alive),
      workers_(std::move(parts.workers)),
      library_(workers_.front()->library()) {
    for (const auto& worker : workers_) {
        ears_.push_back({this, worker->get()});
        descriptors_.push_back(worker->descriptor());
    }
    std::size_t endpoints = 0;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        Peer& peer = peers_[rank];
        Other& other = parts.others[rank];
        peer.owner = this;
        if (other.process != 0) watch(peer, other.process);
        deal(peer, other, parts.others);
        peer.addresses = std::move(other.addresses);
        endpoints += peer.links;
    }
    closing_.reserve(endpoints);
    // (The first frames that come too early need no memory.)
    if (ucx::FrameAside* const one = aside_.take_without_room(0)) aside_.release(one);
}

// Both ends say the same.
void UcxTransport::deal(Peer& peer, const Other& other, std::span<const Other> all) {
    const std::size_t links = std::max(workers_.size(), other.addresses.size());
    peer.links = other.shares_memory ? 1 : static_cast<std::uint32_t>(links);
    peer.interfaces = peer.connections = peer.links;
    peer.ranks = static_cast<std::uint32_t>(all.size());
    const PlaceInJob& here = all[static_cast<std::size_t>(rank_)].place;
    const auto node_of = [](const Other& one) { return one.place.node; };
    peer.turn = turn_of_pair(here, other.place, std::ranges::max(all, {}, node_of).place.node + 1);
    peer.whole_bytes_max = std::max(limits_.payload_max, settings_.cut_bytes_min - 1);
    const bool has_fabric = std::ranges::any_of(workers_, [](const auto& worker) {
        return std::ranges::any_of(worker->devices(), &ucx::Device::is_fabric);
    });
    peer.avoids_rendezvous = !has_fabric && !other.shares_memory && peer.links == 1;
}

Status UcxTransport::open() {
    for (const Peer& peer : peers_) {
        const bool is_watched = peer.addresses.empty() || peer.life || peer.has_ended;
        if (!keeps_alive_ && !is_watched)
            return failure_of_rank(WEFT_REFUSED_MEMORY, peer.rank,
                                   "cannot watch the process of rank %d (pidfd): %s", peer.rank,
                                   strerror(watch_error_));
    }
    const auto uses_tcp = [](const auto& worker) {
        return std::ranges::count(worker->devices(), "tcp", &ucx::Device::transport) > 0;
    };
    if (std::ranges::any_of(workers_, uses_tcp)) {
        // (UCX follows its own settings.)
        const bool keeps_alive = getenv("UCX_TCP_KEEPIDLE") == nullptr;
        connections_.emplace(settings_.peer_timeout_ns, keeps_alive);
    }
    timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timer_)
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for a timer: %s", strerror(errno));
    for (Fd* epoll : {&waiter_sleep_, &thread_sleep_}) {
        *epoll = Fd(epoll_create1(EPOLL_CLOEXEC));
        epoll_event event{};
        event.events = epoll == &waiter_sleep_ ? std::uint32_t{EPOLLIN} : 0;
        bool is_made = *epoll && epoll_ctl(epoll->get(), EPOLL_CTL_ADD, timer_.get(), &event) == 0;
        for (const int descriptor : descriptors_)
            is_made = is_made && epoll_ctl(epoll->get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
        if (!is_made)
            return failure(WEFT_REFUSED_MEMORY, "no descriptor for an epoll: %s", strerror(errno));
    }
    for (Ear& ear : ears_) {
        ucp_am_handler_param_t param{};
        param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                           UCP_AM_HANDLER_PARAM_FIELD_ARG;
        param.id = message_id;
        param.cb = on_message;
        param.arg = &ear;
        const ucs_status_t status = library().ucp_worker_set_am_recv_handler(ear.worker, &param);
        if (status != UCS_OK)
            return failure(WEFT_REFUSED_UNSUPPORTED, "UCX takes no handler of active messages: %s",
                           library().ucs_status_string(status));
    }
    return ok;
}

UcxTransport::~UcxTransport() {
    if (hung_up_) return;
    while (const std::optional<std::uint64_t> context = context_left()) cancel_context(*context);
    drop_descriptors();
    say_goodbye();
    end_worker();
}

// Now, because its last callbacks need the rest of this.
void UcxTransport::end_worker() {
    // (UCX insists on getting back the requests of endpoints that it is still closing.)
    for (void* request : closing_) library().ucp_request_free(request);
    closing_.clear();
    for (const auto& worker : workers_) worker->end();
}

void UcxTransport::hang_up() {
    hung_up_ = true;
    drop_descriptors();
    for (Peer& peer : peers_) close(peer, /*by_force=*/true);
    end_worker();
}

void UcxTransport::serve() { (void)progress(); }

// True: something has moved.
bool UcxTransport::progress() {
    if (has_ended()) return false;
    is_progressing_ = true;
    if (std::exchange(has_held_back_, false)) go_on_with_all();
    bool moved = false;
    for (const Ear& ear : ears_) moved |= library().ucp_worker_progress(ear.worker) > 0;
    is_progressing_ = false;
    if (std::exchange(has_unmet_, false)) [[unlikely]]
        take_aside_of_unmet();
    if (has_endpoints_to_close_ || !closing_.empty()) close_endpoints();
    if (has_left_over_) [[unlikely]] {
        idle_rounds_ = moved || !closing_.empty() ? 0 : idle_rounds_ + 1;
        if (idle_rounds_ >= idle_rounds_enough) give_up_left_over();
    }
    return moved;
}

// Something is expected of a peer.
void UcxTransport::begin_to_look() {
    if (look_at_ns_ != 0) return;
    if (connections_) connections_->begin();
    set_timer(now_ns() + settings_.peer_timeout_ns / 4);
}

// 0: it is off.
void UcxTransport::set_timer(std::int64_t at_ns) {
    look_at_ns_ = at_ns;
    itimerspec at{};
    at.it_value = {at_ns / 1'000'000'000, at_ns % 1'000'000'000};
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

void UcxTransport::look_for_silent_peers(std::int64_t now) {
    const bool expects = expected_ > 0 || in_flight_ > 0;
    set_timer(expects ? now + settings_.peer_timeout_ns / 4 : 0);
    if (!expects) return;
    if (connections_) connections_->end_silent(descriptors_, now);
    look_for_ended_peers();
}

// Lets UCX work until `done`. False: the deadline has passed before.
bool UcxTransport::wait_until(const std::function<bool()>& done, std::int64_t deadline_ns) {
    for (long pause_ns = 1'000; !done(); pause_ns = std::min(2 * pause_ns, 1'000'000l)) {
        if (progress()) pause_ns = 1'000;
        if (done()) break;
        if (now_ns() > deadline_ns) return false;
        if (settings_.while_waiting) {
            settings_.while_waiting();
            continue;
        }
        const timespec pause{0, pause_ns};
        nanosleep(&pause, nullptr);
    }
    return true;
}

// Throws if there is no memory for it.
ucx::Post* UcxTransport::take_post(Peer& peer, std::uint64_t stream, const std::byte* data,
                                   std::uint64_t bytes, Token token) {
    Post* post = MessageTransport::take_post(peer, stream, data, bytes, token);
    post->peer = &peer;
    if (context_of(stream) != 0) {
        ++expected_;
        begin_to_look();
    }
    if (bytes > limits_.payload_max) {
        post->left = bytes;
        for (std::uint32_t i = peer.pieces_of(stream, bytes); i > 0; --i) {
            ucx::Transfer* const transfer = transfers_.try_take();
            if (transfer == nullptr) {
                free_post(post);
                throw std::bad_alloc();
            }
            transfer->next = std::exchange(post->transfers, transfer);
        }
    }
    return post;
}

void UcxTransport::expect_from(Rank rank, int change) {
    if (change > 0) {
        (void)need(peer_of(rank));
        begin_to_look();
    }
    expected_ += static_cast<std::size_t>(change);
}

void UcxTransport::free_post(Post* post) {
    if (context_of(post->stream) != 0) --expected_;
    if (post->slot != nullptr) post->slot->post = nullptr;
    while (post->transfers != nullptr)
        transfers_.give_back(std::exchange(post->transfers, post->transfers->next));
    posts_.give_back(post);
}

Usage UcxTransport::usage() const {
    Usage usage;
    usage.descriptors = own_descriptors;  // and UCX's, which it does not tell
    usage.bytes = held_bytes() + aside_.held_bytes();
    for (const Peer& peer : peers_) {
        usage.descriptors += peer.life ? 1 : 0;
        usage.connections += peer.endpoints.size();
    }
    usage.turned_away.emplace_back("of another job", strangers_);
    return usage;
}

std::size_t UcxTransport::poll(std::span<Completion> done) {
    reports_.begin(done);
    if (!reports_.has_kept() && !has_ended()) {
        if (look_at_ns_ != 0) {
            const std::int64_t now = now_ns();
            if (now >= look_at_ns_) look_for_silent_peers(now);
        }
        // (UCX over TCP makes a system call in each round: one less before arrivals are
        // reported.)
        for (int i = 0; i < rounds_of_poll && progress() && reports_.count() == 0; ++i) continue;
        // Slots may have been with other peers when there was no memory for more.
        if (owing_ > 0 && in_flight_ == 0) [[unlikely]]
            go_on_with_all();
        for (int i = 0; is_rung_ && i < tries_to_arm; ++i) {
            is_rung_ = !arm_workers();
            if (is_rung_) (void)progress();
        }
    }
    return reports_.end();
}

int UcxTransport::wait_fd(Sleeper sleeper) const {
    return sleeper == Sleeper::thread ? thread_sleep_.get() : waiter_sleep_.get();
}

// False: UCX has something to do before.
bool UcxTransport::arm_workers() {
    return std::ranges::all_of(
        ears_, [&](const Ear& ear) { return library().ucp_worker_arm(ear.worker) == UCS_OK; });
}

// UCX's descriptor is readable for every sleeper; the progress thread must not be woken while the
// program drives.
bool UcxTransport::arm(Sleeper sleeper) {
    const bool thread = sleeper == Sleeper::thread;
    if (thread != thread_armed_) {
        thread_armed_ = thread;
        epoll_event event{};
        event.events = thread ? std::uint32_t{EPOLLIN} : 0;
        for (const int descriptor : descriptors_)
            (void)epoll_ctl(thread_sleep_.get(), EPOLL_CTL_MOD, descriptor, &event);
        (void)epoll_ctl(thread_sleep_.get(), EPOLL_CTL_MOD, timer_.get(), &event);
    }
    if (sleeper == Sleeper::none) return true;
    // These wake no sleeper.
    if (has_left_over_ || has_endpoints_to_close_ || has_held_back_) return false;
    if (has_ended()) return !reports_.has_kept();
    // (UCX refuses while it has something to do, which need not be messages.)
    const std::uint64_t before = frames_taken_;
    for (int i = 0; i < tries_to_arm && frames_taken_ == before && !reports_.has_kept(); ++i) {
        if (arm_workers()) {
            is_rung_ = false;
            return true;
        }
        (void)progress();
    }
    return false;
}

void UcxTransport::list_owed(std::vector<Rank>& peers) const {
    for (const Peer& peer : peers_) {
        if (peer.owes() || peer.slots > 0 || peer.transfers != nullptr) peers.push_back(peer.rank);
    }
}

void UcxTransport::cancel_context(std::uint64_t context) {
    MessageTransport::cancel_context(context);
    settle_forgotten();
    reports_.forget(context);  // (A message may have been lost in settle_forgotten().)
    posts_.refill();
}

}  // namespace weft
