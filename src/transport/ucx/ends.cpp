// Ends: of endpoints, of peers, and of the transport.
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/clock.h"
#include "transport/ucx/ucx.h"

namespace weft {

namespace {

// Of UCX, which may hold messages of a peer that has ended.
constexpr int rounds_to_drain = 1000;

weft_status loss_of(ucs_status_t status) {
    // (UCX does not tell a process that ended from a host that does not answer.)
    return status == UCS_ERR_NO_MEMORY ? WEFT_BROKEN_MEMORY : WEFT_BROKEN_RANK;
}

// (A process closes UCX's connections some time before others can see that it has ended.)
bool ends_soon(const ucx::Peer& peer) {
    constexpr int patience_ms = 100;
    pollfd entry{peer.life.get(), POLLIN, 0};
    return peer.has_ended || (peer.life && ::poll(&entry, 1, patience_ms) == 1);
}

}  // namespace

// There is something to send to the peer or to receive from it. False: it is lost.
bool UcxTransport::need(Peer& peer) {
    if (peer.lost || has_ended()) return false;
    if (peer.is_met()) return true;
    WEFT_ASSERT(!peer.addresses.empty());
    peer.endpoints.reserve(peer.links);
    for (std::uint32_t link = 0; link < peer.links; ++link) {
        const std::string& address = peer.addresses[link % peer.addresses.size()];
        ucp_ep_params_t params{};
        params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.address = reinterpret_cast<const ucp_address_t*>(address.data());
        params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb = on_error;
        params.err_handler.arg = &peer;
        ucp_ep_h endpoint = nullptr;
        const ucs_status_t status =
            library().ucp_ep_create(ears_[link % ears_.size()].worker, &params, &endpoint);
        if (status != UCS_OK) {
            // No device reaches it, or it has ended.
            const bool is_unreachable = status == UCS_ERR_UNREACHABLE && !ends_soon(peer);
            lose(peer, is_unreachable ? WEFT_BROKEN_TRANSPORT : loss_of(status));
            return false;
        }
        peer.endpoints.push_back(endpoint);
    }
    return true;
}

// UCX connects when it has something to send: over each link a frame that says nothing.
Status UcxTransport::open_all(std::int64_t deadline_ns) {
    for (Peer& peer : peers_) {
        if (peer.addresses.empty()) continue;
        for (std::uint32_t link = 0; link < peer.links; ++link) {
            if (!has_slot(peer, 0)) throw std::bad_alloc();
            const StreamId of_link(1, link);
            if (!send_frame(peer, {.kind = FrameKind::credit, .stream = of_link.packed()}, {}))
                break;
        }
    }
    // (A peer that was reached may have ended since.)
    const auto is_missing = [this](const Peer& peer) {
        return !peer.addresses.empty() && (peer.next_taken - limits_.first_sequence < peer.links ||
                                           (!peer.lost && peer.slots > 0));
    };
    const auto is_lost = [&](const Peer& peer) { return is_missing(peer) && peer.lost; };
    (void)wait_until(
        [&] {
            return std::ranges::none_of(peers_, is_missing) || std::ranges::any_of(peers_, is_lost);
        },
        deadline_ns);
    auto missing = std::ranges::find_if(peers_, is_lost);
    if (missing != peers_.end())
        return failure_of_rank(WEFT_REFUSED_STATE, missing->rank,
                               "rank %d ended before it was reached", missing->rank);
    missing = std::ranges::find_if(peers_, is_missing);
    if (missing == peers_.end()) return ok;
    return failure_of_rank(WEFT_REFUSED_STATE, missing->rank,
                           "no connection with rank %d has come about in time", missing->rank);
}

void UcxTransport::watch(Peer& peer, pid_t process) {
    // (Without a descriptor UCX's keepalive alone tells, if it is on.)
    peer.life = Fd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (peer.life) return;
    peer.has_ended = errno == ESRCH;
    if (!peer.has_ended) watch_error_ = errno;
}

// UCX 1.13 may miss the end of a peer that has not answered its first message. A peer that has
// ended is lost at the next look: its messages have arrived by then.
void UcxTransport::look_for_ended_peers() {
    const auto is_met = [](const Peer& peer) { return peer.is_met() && !peer.lost; };
    if (std::ranges::any_of(peers_,
                            [&](const Peer& peer) { return is_met(peer) && peer.has_ended; })) {
        for (int i = 0; i < rounds_to_drain && progress(); ++i) continue;
    }
    for (Peer& peer : peers_) {
        if (!is_met(peer)) continue;
        if (peer.has_ended) {
            peer.is_gone = true;
            lose(peer, WEFT_BROKEN_RANK);
        } else if (peer.life) {
            pollfd entry{peer.life.get(), POLLIN, 0};
            peer.has_ended = ::poll(&entry, 1, 0) == 1;
        }
    }
}

// UCX has given the endpoint up. It completes the rest when the endpoint is closed. Other links
// to the peer are given up, too.
void UcxTransport::on_error(void* given, ucp_ep_h /*endpoint*/, ucs_status_t status) {
    Peer& peer = *static_cast<Peer*>(given);
    UcxTransport& self = *peer.owner;
    peer.is_gone = true;
    peer.is_to_be_closed = true;
    self.has_endpoints_to_close_ = true;
    self.lose(peer, loss_of(status));
}

// Posts whose buffers UCX has end when it gives them back.
void UcxTransport::lose(Peer& peer, weft_status how) {
    if (peer.lost) return;
    peer.lost = true;
    peer.loss = peer.has_left ? WEFT_BROKEN_RANK : how;
    peer.is_to_be_closed = true;
    has_endpoints_to_close_ = true;
    give_up_coming(peer);
    break_posts(peer);
    if (!peer.has_left) reports_.add({.token = {}, .code = peer.loss, .peer = peer.rank}, 0);
}

// The peer sends nothing more, and has received all its messages.
void UcxTransport::take_bye(Peer& peer) {
    peer.has_left = true;
    if (has_slot(peer, 0, /*is_spare=*/true)) send_frame(peer, {.kind = FrameKind::thanks}, {});
    lose(peer, WEFT_BROKEN_RANK);
}

// Outside of UCX's calls.
void UcxTransport::close_endpoints() {
    if (has_endpoints_to_close_) {
        has_endpoints_to_close_ = false;
        for (Peer& peer : peers_) {
            if (!peer.is_to_be_closed) continue;
            // A peer that has left still gets our thanks, and its messages may still arrive: on
            // lanes of UCX's that its bye has not followed.
            const bool still_arrives = peer.transfers != nullptr && !peer.is_gone;
            if (peer.has_left && still_arrives) continue;  // end_transfer() asks again
            close(peer, !peer.has_left || peer.transfers != nullptr);
        }
    }
    std::erase_if(closing_, [this](void* request) {
        if (library().ucp_request_check_status(request) == UCS_INPROGRESS) return false;
        library().ucp_request_free(request);
        return true;
    });
}

void UcxTransport::close(Peer& peer, bool by_force) {
    peer.is_to_be_closed = false;
    if (!peer.is_met()) return;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = by_force ? std::uint32_t{UCP_EP_CLOSE_FLAG_FORCE} : 0;
    if (peer.transfers != nullptr) {
        has_left_over_ = true;
        idle_rounds_ = 0;
    }
    for (; peer.is_met(); peer.endpoints.pop_back()) {
        const ucs_status_ptr_t request = library().ucp_ep_close_nbx(peer.endpoints.back(), &param);
        // (There is room for one of each.)
        if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
    }
}

// The transfers' buffers are the users' again, although UCX has not given them back.
void UcxTransport::give_up_transfers(Peer& peer) {
    while (peer.transfers != nullptr) {
        ucx::Transfer* const transfer = peer.transfers;
        peer.transfers = transfer->next;
        if (peer.transfers != nullptr) peer.transfers->previous = nullptr;
        // (It stays with UCX.)
        Post& post = *std::exchange(transfer->post, nullptr);
        post.has_failed = true;
        end_piece(post, transfer->sends);
    }
}

// Pieces that have not come do not come any more.
void UcxTransport::give_up_coming(Peer& peer) {
    Post* const post = std::exchange(peer.coming, {}).post;
    if (post == nullptr) return;
    post->left = 0;
    post->has_failed = true;
    ++post->moving;
    end_piece(*post, /*sends=*/false);
}

// Nothing can arrive any more from peers that are gone, once UCX has taken the rest: in shared
// memory it keeps receives from a dead peer forever.
void UcxTransport::give_up_left_over() {
    has_left_over_ = false;
    for (Peer& peer : peers_) {
        if (peer.is_met() || peer.transfers == nullptr) continue;
        if (peer.is_gone)
            give_up_transfers(peer);
        else
            has_left_over_ = true;
    }
}

// The last resort: without its worker UCX touches nothing.
void UcxTransport::give_up_worker() {
    for (Peer& peer : peers_) {
        if (peer.rank == rank_ || peer.addresses.empty()) continue;
        lose(peer, WEFT_BROKEN_TRANSPORT);
        close(peer, /*by_force=*/true);
    }
    drop_descriptors();
    end_worker();
    in_flight_ = 0;
    for (Peer& peer : peers_) {
        peer.slots = peer.large_slots = 0;
        give_up_transfers(peer);
    }
}

// Until UCX has given back the buffers of all posts that were forgotten.
void UcxTransport::settle_forgotten() {
    const auto has_forgotten = [](const Peer& peer) { return peer.forgotten > 0; };
    const auto is_settled = [&] { return std::ranges::none_of(peers_, has_forgotten); };
    if (is_settled() || wait_until(is_settled, now_ns() + settings_.peer_timeout_ns)) return;
    for (Peer& peer : peers_) {
        if (has_forgotten(peer)) lose(peer, WEFT_BROKEN_TRANSPORT);
    }
    if (!wait_until(is_settled, now_ns() + settings_.peer_timeout_ns)) give_up_worker();
}

// The poster has ended: one that has posts.
std::optional<std::uint64_t> UcxTransport::context_left() {
    std::optional<std::uint64_t> found;
    const auto note = [&](const LaneQueue& lane) {
        if (!lane.posts.empty()) found = context_of(lane.stream);
    };
    for (Peer& peer : peers_) {
        peer.sends.for_each(note);
        peer.receives.for_each(note);
    }
    return found;
}

// Of a kept message: its data in UCX's memory.
void UcxTransport::release_descriptor(void* descriptor) {
    for (auto* piece = static_cast<ucx::Rendezvous*>(descriptor); piece != nullptr;) {
        if (piece->peer->coming.first == piece) piece->peer->coming.first = nullptr;
        release(*piece);
        rendezvous_.give_back(std::exchange(piece, piece->next));
    }
}

void UcxTransport::release(ucx::Rendezvous& arrival) {
    void* const descriptor = std::exchange(arrival.descriptor, nullptr);
    if (descriptor != nullptr && !has_ended())
        library().ucp_am_data_release(arrival.worker, descriptor);
}

void UcxTransport::drop_aside(Peer& peer) {
    while (!peer.aside.empty()) {
        ucx::FrameAside* const one = peer.aside.take_first();
        release(one->rendezvous);
        aside_.release(one);
    }
}

// Data that UCX has kept will not be received.
void UcxTransport::drop_descriptors() {
    for (Peer& peer : peers_) {
        drop_aside(peer);
        peer.receives.for_each([&](LaneQueue& lane) {
            for (Unexpected* one = lane.unexpected.first; one != nullptr; one = one->next) {
                if (one->descriptor == nullptr) continue;
                release_descriptor(one->descriptor);
                one->descriptor = nullptr;
                one->is_rts = true;  // its bytes are not here, and do not come
            }
        });
    }
}

// Everything that was sent has been taken, or its receiver has been given time for it.
void UcxTransport::say_goodbye() {
    const auto is_met = [](const Peer& peer) { return peer.is_met() && !peer.lost; };
    for (Peer& peer : peers_) {
        if (is_met(peer) && has_slot(peer, 0, /*is_spare=*/true))
            send_frame(peer, {.kind = FrameKind::bye}, {});
    }
    const std::int64_t deadline_ns =
        now_ns() + std::min(settings_.peer_timeout_ns, settings_.goodbye_ns);
    wait_until(
        [&] {
            return in_flight_ == 0 && std::ranges::none_of(peers_, [&](const Peer& peer) {
                       return is_met(peer) && !peer.has_thanked;
                   });
        },
        deadline_ns);
    for (Peer& peer : peers_) close(peer, /*by_force=*/false);
    wait_until([this] { return closing_.empty(); }, deadline_ns);
}

}  // namespace weft
